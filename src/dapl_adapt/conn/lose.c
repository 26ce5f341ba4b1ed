/*
 * Loss of a connection, for good.
 */
#include "dapl_adapt/conn/lose.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/proc.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/peer.h"
#include "util/err.h"
#include "util/list.h"

void dm_conn_lose(struct dm_conn *conn, const char *text)
{
    struct dm_adapt *adapt = conn->adapt;
    const struct dm_proc *foreign = conn->who.foreign;
    struct dm_tx *tx = &conn->tx;

    if (dm_conn_is_lost(conn))
        return;
    dm_conn_set_state(conn, DM_CONN_DYING);
    tx->n_redo = 0;
    tx->n_avail = 0;
    tx->direct.is_pending = false;
    while (tx->direct.n_refs > 0)
        dm_adapt_unreg(adapt, tx->direct.refs[--tx->direct.n_refs]);
    conn->loss.is_silent =
        adapt->is_quiet || conn->parting.is_over || (foreign != NULL && foreign->n_refs == 0);
    if (conn->loss.err == DM_OK)
        conn->loss.err = DM_EPEER;
    if (conn->parting.is_over)
        dm_conn_set_why(conn, "%s has closed the connection", dm_who(adapt, conn->proc).text);
    else if (conn->loss.err == DM_EPEER && !adapt->is_quiet && text != NULL)
        dm_conn_set_why(conn, "%s: connection lost (%s)", dm_who(adapt, conn->proc).text, text);
    pthread_mutex_lock(&adapt->shared.lock);
    if (!dm_conn_has_links(conn))
        dm_conn_lose_links(conn);
    for (int k = 0; k < DM_LINK_N && dm_conn_has_links(conn); k++) {
        if (conn->links->at[k].state == DM_LINK_UP)
            dm_conn_cut(&conn->links->at[k]);
        conn->links->at[k].state = DM_LINK_LOST;
        dm_conn_turn_away(&conn->links->at[k]);
        dm_list_del(&conn->links->at[k].wait);
    }
    pthread_mutex_unlock(&adapt->shared.lock);
    if (foreign != NULL && foreign->n_refs == 0)
        conn->adapt->ops->part_begin(conn);
}

const char *dm_adapt_lost_why(const struct dm_conn *conn)
{
    return dm_conn_is_lost(conn) ? dm_conn_why(conn) : "";
}
