/*
 * Requests of peers, by whichever thread has them: whose they are, which of two that cross counts,
 * accepting. A pipe in a later epoch is left to the main thread.
 */
#include "dapl_adapt/conn/passive.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/prepare.h"
#include "dapl_adapt/conn/ring.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/err.h"
#include "util/log.h"

/*
 * The rule that both ends apply alone and that never leaves them without a connection:
 * of two attempts that cross, the one of the higher rank counts. The lower accepts it
 * and drops its own; the higher refuses the lower's as crossed, which the lower knows
 * to be harmless.
 */
enum dm_reject dm_conn_cross(const struct dm_link *link, int my_rank)
{
    switch (link->state) {
    case DM_LINK_IDLE:
        return DM_REJECT_NONE;
    case DM_LINK_CONNECTING:
        if (link->ep == DAT_HANDLE_NULL) /* ours has failed: perhaps only this way there is one */
            return DM_REJECT_NONE;
        return link->conn->proc > my_rank ? DM_REJECT_NONE : DM_REJECT_CROSSED;
    case DM_LINK_CLOSING:
        return DM_REJECT_AGAIN;
    case DM_LINK_ACCEPTING: /* an earlier attempt of the peer, not yet known to have failed */
        return DM_REJECT_AGAIN;
    case DM_LINK_UP:
        return link->is_active ? DM_REJECT_CROSSED : DM_REJECT_AGAIN;
    default:
        return DM_REJECT_LOST;
    }
}

/*
 * The peer has seen a break that we have not, or the other way round; both come to the later one.
 */
static enum dm_reject passive_other_epoch(struct dm_link *link, struct dm_ia *ia,
                                          const struct dm_conn_private *priv)
{
    struct dm_conn *conn = link->conn;

    if ((int16_t)(priv->epoch - conn->epoch) > 0 && link->kind == DM_LINK_PIPE) {
        conn->failover.wanted = priv->epoch;
        conn->failover.wanted_ia = ia;
        dm_conn_note(link, DM_NOTE_BROKEN);
    }
    return DM_REJECT_AGAIN;
}

/* Is it too early for this link? */
static bool passive_is_early(const struct dm_link *link, const struct dm_ia *ia)
{
    const struct dm_conn *conn = link->conn;

    if (link->dropped != DAT_HANDLE_NULL)
        return true;
    if (link->kind == DM_LINK_RDMA && conn->ia != ia)
        return true;
    return link->kind != DM_LINK_PIPE && conn->link[DM_LINK_PIPE].state < DM_LINK_ACCEPTING;
}

/* Whose request is it? Sets *link_p, or says why not. */
static enum dm_reject passive_identify(struct dm_adapt *adapt, struct dm_ia *ia,
                                       const struct dm_conn_private *priv, struct dm_link **link_p)
{
    struct dm_conn *conn;

    if (priv->magic != DM_PRIVATE_MAGIC || priv->job != adapt->job_hash ||
        priv->kind != DM_PRIVATE_CONNECT || priv->rank >= (uint32_t)adapt->job.size ||
        priv->rank == (uint32_t)adapt->job.rank || priv->link >= DM_LINK_N)
        return DM_REJECT_UNKNOWN;
    if (priv->version != DM_PRIVATE_VERSION ||
        !dm_ring_is_sane(adapt, priv->n_slots, priv->slot_size))
        return DM_REJECT_MISMATCH;
    conn = dm_conn_make(adapt, (int)priv->rank);
    if (conn == NULL)
        return DM_REJECT_NOMEM;
    *link_p = &conn->link[priv->link];
    if ((*link_p)->state == DM_LINK_LOST)
        return DM_REJECT_LOST;
    if (priv->epoch != conn->epoch)
        return passive_other_epoch(*link_p, ia, priv);
    if (priv->link >= DM_LINK_EXTRA && (*link_p)->state == DM_LINK_UP && !(*link_p)->is_active)
        dm_conn_note(*link_p, DM_NOTE_LOST); /* the peer has given up what it had made */
    return passive_is_early(*link_p, ia) ? DM_REJECT_AGAIN
                                         : dm_conn_cross(*link_p, adapt->job.rank);
}

/* Receives that must be there before the peer can send. */
static int passive_post_first(struct dm_conn *conn, struct dm_link *link)
{
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    if (link->kind == DM_LINK_PIPE && conn->epoch == 0)
        return conn->adapt->ops->pipe_prepare(conn, link->ep);
    dm_link_first(link, &lmr);
    dm_serial_lock();
    rc = DAT_EP_POST_RECV(link->ep, 1, &lmr, dm_cookie(DM_COOKIE_FIRST, link, link->kind << 16),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_ep_post_recv: %s", conn->ia->name, dm_dat_text(rc));
    return link->kind == DM_LINK_PIPE ? conn->adapt->ops->pipe_prepare(conn, link->ep) : DM_OK;
}

static int passive_accept(struct dm_ia *ia, DAT_CR_HANDLE cr, const struct dm_conn_private *priv,
                          struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    struct dm_conn_private reply;
    DAT_RETURN rc;
    int err;

    link->dropped = link->ep; /* an own attempt under way */
    link->ep = DAT_HANDLE_NULL;
    link->answer = *priv;
    err = dm_conn_prepare(conn, link, ia);
    if (err != DM_OK)
        return err;
    if (link->kind == DM_LINK_PIPE)
        dm_ring_agree(conn, priv->n_slots, priv->slot_size);
    if (link->kind == DM_LINK_PIPE)
        conn->is_sendrecv =
            conn->adapt->rings.wants_sendrecv || ia->caps.needs_sendrecv || priv->sendrecv;
    err = passive_post_first(conn, link);
    if (err != DM_OK)
        return err;
    dm_conn_private_fill(conn, link->kind, DM_PRIVATE_ACCEPT, &reply);
    link->state = DM_LINK_ACCEPTING;
    link->is_active = false;
    dm_serial_lock();
    rc = dat_cr_accept(cr, link->ep, sizeof(reply), &reply);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS) { /* the connector is gone or will try again */
        DM_TRACE(CONN, "accept rank %d: %s", conn->proc, dm_dat_text(rc));
        dm_conn_free_ep(&link->ep);
        link->state = DM_LINK_IDLE;
    }
    return DM_OK;
}

void dm_conn_answer(struct dm_link *link)
{
    struct dm_adapt *adapt = link->conn->adapt;
    DAT_CR_HANDLE cr = link->cr;
    enum dm_reject reason;

    if (cr == DAT_HANDLE_NULL)
        return;
    link->cr = DAT_HANDLE_NULL;
    if (link->asked.epoch != link->conn->epoch || passive_is_early(link, link->cr_ia))
        reason = DM_REJECT_AGAIN;
    else
        reason = dm_conn_cross(link, adapt->job.rank);
    if (reason == DM_REJECT_NONE) {
        link->conn->rails.current = dm_conn_rail_of(link->conn, link->cr_ia);
        if (passive_accept(link->cr_ia, cr, &link->asked, link) != DM_OK)
            reason = DM_REJECT_AGAIN;
    }
    if (reason != DM_REJECT_NONE)
        dm_conn_reject(adapt, cr, reason);
}

/* A pipe that moves: what has arrived is the main thread's to count. */
static void passive_defer(struct dm_link *link, struct dm_ia *ia, DAT_CR_HANDLE cr,
                          const struct dm_conn_private *priv)
{
    dm_conn_turn_away(link); /* an older one, which its sender does not wait for any more */
    link->cr = cr;
    link->cr_ia = ia;
    link->asked = *priv;
    dm_conn_note(link, DM_NOTE_ASKED);
}

void dm_conn_on_request(struct dm_ia *ia, DAT_CR_HANDLE cr)
{
    struct dm_adapt *adapt = ia->adapt;
    enum dm_reject reason = DM_REJECT_UNKNOWN;
    struct dm_link *link = NULL;
    struct dm_conn_private priv;
    DAT_CR_PARAM param;
    DAT_RETURN rc;

    memset(&param, 0, sizeof(param));
    memset(&priv, 0, sizeof(priv));
    dm_serial_lock();
    rc = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
    dm_serial_unlock();
    if (rc == DAT_SUCCESS && param.private_data != NULL &&
        param.private_data_size >= (DAT_COUNT)sizeof(priv)) {
        memcpy(&priv, param.private_data, sizeof(priv));
        reason = passive_identify(adapt, ia, &priv, &link);
    }
    if (reason == DM_REJECT_NONE && link->kind == DM_LINK_PIPE && link->conn->epoch > 0) {
        passive_defer(link, ia, cr, &priv);
        return;
    }
    if (reason == DM_REJECT_NONE && passive_accept(ia, cr, &priv, link) != DM_OK) {
        dm_log_error("cannot accept the connection of rank %u: %s", priv.rank, dm_err_detail());
        reason = DM_REJECT_NOMEM;
    }
    if (reason != DM_REJECT_NONE)
        dm_conn_reject(adapt, cr, reason);
}
