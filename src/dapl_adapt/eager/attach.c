/*
 * What connections ask of the pipe.
 */
#include "dapl_adapt/eager/attach.h"

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/eager/credit.h"
#include "dapl_adapt/eager/datagram.h"
#include "dapl_adapt/eager/lend.h"
#include "dapl_adapt/eager/replay.h"
#include "dapl_adapt/eager/setup.h"
#include "dapl_adapt/eager/sr.h"
#include "dapl_adapt/eager/srq.h"
#include "dapl_adapt/provider/dat.h"
#include "util/err.h"

int dm_eager_prepare(struct dm_conn *conn, DAT_EP_HANDLE ep)
{
    int err = dm_eager_setup_descs(conn);

    if (err != DM_OK)
        return err;
    if (conn->epoch > 0)
        return dm_eager_rx_resume(conn, ep);
    dm_eager_setup_rx(conn);
    if (conn->ring.has_srq)
        return dm_eager_srq_setup(conn);
    return conn->is_sendrecv ? dm_eager_sr_setup(conn, ep) : DM_OK;
}

int dm_eager_up(struct dm_conn *conn)
{
    struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    int err;

    if (conn->epoch > 0)
        return dm_eager_resume(conn);
    err = dm_eager_setup_shadow(conn);
    if (err != DM_OK)
        return err;
    dm_eager_setup(conn, link->answer.addr, link->answer.ctx);
    if (conn->ring.has_srq && conn->ring.peer_has_srq)
        err = dm_eager_lend_begin(conn);
    if (err != DM_OK || !link->is_active)
        return err;
    link->may_post = true;
    dm_eager_datagrams_count(conn);
    dm_eager_refill(conn);
    err = dm_eager_send_empty(conn, 0);
    dm_eager_refill(conn);
    return err;
}
