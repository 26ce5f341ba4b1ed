/*
 * Requests of peers, by whichever thread has them: whose they are, which of two that cross counts,
 * accepting. Some are left to the main thread.
 */
#include "dapl_adapt/conn/passive.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/port.h"
#include "dapl_adapt/conn/prepare.h"
#include "dapl_adapt/conn/proc.h"
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
 * of two attempts that cross, the one of the higher process counts (dm_proc_id_compare). The lower
 * accepts it and drops its own; the higher refuses the lower's as crossed, which the lower knows to
 * be harmless.
 */
enum dm_reject dm_conn_cross(const struct dm_link *link)
{
    switch (link->state) {
    case DM_LINK_IDLE:
        return DM_REJECT_NONE;
    case DM_LINK_CONNECTING:
        if (link->ep == DAT_HANDLE_NULL) /* ours has failed: perhaps only this way there is one */
            return DM_REJECT_NONE;
        return link->conn->who.is_higher ? DM_REJECT_NONE : DM_REJECT_CROSSED;
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
    return link->kind != DM_LINK_PIPE && conn->links->at[DM_LINK_PIPE].state < DM_LINK_ACCEPTING;
}

/* That instance of the connection to a process. Lock held. */
static struct dm_conn *passive_find_instance(struct dm_adapt *adapt, struct dm_proc_id id,
                                             unsigned mine)
{
    struct dm_conn *conn;

    dm_conn_for_each (conn, adapt) {
        if (conn->who.mine == mine && dm_proc_id_compare(conn->who.id, id) == 0)
            return conn;
    }
    return NULL;
}

/* A process that nobody here has heard of: it may know a port. */
static enum dm_reject passive_guest(struct dm_adapt *adapt, struct dm_proc_id id,
                                    const uint64_t *token, struct dm_conn **conn_p)
{
    struct dm_proc *proc;

    if (token == NULL)
        return DM_REJECT_NOT_KNOWN;
    if (!dm_port_is_open(adapt, *token))
        return DM_REJECT_PORT;
    proc = dm_procs_add(adapt, id, DM_PROC_GUEST);
    if (proc == NULL)
        return DM_REJECT_NOMEM;
    proc->token = *token;
    *conn_p = dm_conn_make(adapt, proc->number);
    if (*conn_p != NULL)
        return DM_REJECT_NONE;
    dm_procs_free(adapt, proc);
    return DM_REJECT_NOMEM;
}

/* Which connection does a process of another job mean? */
static enum dm_reject passive_foreign(struct dm_adapt *adapt, const struct dm_conn_private *priv,
                                      const uint64_t *token, struct dm_conn **conn_p)
{
    struct dm_proc_id id = {priv->job, priv->rank, 0};
    struct dm_proc *proc;
    struct dm_conn *conn;

    if (priv->theirs != 0) {
        *conn_p = passive_find_instance(adapt, id, priv->theirs);
        return *conn_p != NULL ? DM_REJECT_NONE : DM_REJECT_CLOSED;
    }
    proc = dm_procs_find(adapt, id);
    if (proc == NULL)
        return passive_guest(adapt, id, token, conn_p);
    conn = dm_conn_find(adapt, proc->number);
    if (conn != NULL && conn->who.theirs != 0 && conn->who.theirs != priv->mine) {
        /* it comes anew, so it has closed what was before */
        dm_conn_note(&conn->links->at[DM_LINK_PIPE], DM_NOTE_GONE);
        return conn->links->at[DM_LINK_PIPE].state == DM_LINK_LOST && !conn->parting.is_over &&
                       proc->state == DM_PROC_KNOWN
                   ? DM_REJECT_LOST
                   : DM_REJECT_AGAIN;
    }
    if (conn == NULL && proc->state == DM_PROC_LEAVING) /* the number is about to be freed */
        return DM_REJECT_AGAIN;
    *conn_p = dm_conn_make(adapt, proc->number);
    return *conn_p != NULL ? DM_REJECT_NONE : DM_REJECT_NOMEM;
}

/* Whose request is it? */
static enum dm_reject passive_find(struct dm_adapt *adapt, const struct dm_conn_private *priv,
                                   const uint64_t *token, struct dm_conn **conn_p)
{
    struct dm_proc_id id = {priv->job, priv->rank, 0};

    if (priv->magic != DM_PRIVATE_MAGIC || priv->kind != DM_PRIVATE_CONNECT ||
        priv->link >= DM_LINK_N || dm_proc_id_compare(id, adapt->self) == 0)
        return DM_REJECT_UNKNOWN;
    if (priv->version != DM_PRIVATE_VERSION ||
        !dm_ring_is_sane(adapt, priv->n_slots, priv->slot_size))
        return DM_REJECT_MISMATCH;
    if (id.job != adapt->self.job)
        return passive_foreign(adapt, priv, token, conn_p);
    if (id.rank >= (uint32_t)adapt->job.size)
        return DM_REJECT_UNKNOWN;
    *conn_p = dm_conn_make(adapt, (int)id.rank);
    return *conn_p != NULL ? DM_REJECT_NONE : DM_REJECT_NOMEM;
}

/* The link that it is for, or why it is refused. */
static enum dm_reject passive_identify(struct dm_adapt *adapt, struct dm_ia *ia,
                                       const struct dm_conn_private *priv, const uint64_t *token,
                                       struct dm_link **link_p)
{
    struct dm_conn *conn = NULL;
    enum dm_reject reason = passive_find(adapt, priv, token, &conn);

    if (reason == DM_REJECT_NONE && dm_conn_make_links(conn) != DM_OK)
        reason = DM_REJECT_NOMEM;
    if (reason != DM_REJECT_NONE)
        return reason;
    *link_p = &conn->links->at[priv->link];
    if ((*link_p)->state == DM_LINK_LOST)
        return conn->parting.is_over ? DM_REJECT_CLOSED : DM_REJECT_LOST;
    if (priv->epoch != conn->epoch)
        return passive_other_epoch(*link_p, ia, priv);
    if (priv->link >= DM_LINK_EXTRA && (*link_p)->state == DM_LINK_UP && !(*link_p)->is_active)
        dm_conn_note(*link_p, DM_NOTE_LOST); /* the peer has given up what it had made */
    return passive_is_early(*link_p, ia) ? DM_REJECT_AGAIN : dm_conn_cross(*link_p);
}

/* Receives that must be there before the peer can send. */
static int passive_post_first(struct dm_conn *conn, struct dm_link *link)
{
    DAT_RETURN rc;

    if (link->kind == DM_LINK_PIPE && conn->epoch == 0)
        return conn->adapt->ops->pipe_prepare(conn, link->ep);
    dm_link_first(link, &link->first);
    dm_serial_lock();
    rc = DAT_EP_POST_RECV(link->ep, 1, &link->first,
                          dm_cookie(DM_COOKIE_FIRST, link, link->kind << 16),
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
    if (link->kind == DM_LINK_PIPE) {
        conn->who.theirs = priv->mine;
        dm_ring_agree(conn, priv->n_slots, priv->slot_size);
        conn->ring.peer_has_srq = priv->srq;
        conn->is_sendrecv = conn->adapt->rings.wants_sendrecv || ia->caps.needs_sendrecv ||
                            priv->sendrecv || conn->ring.has_srq;
    }
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
        dm_conn_free_ep(link->conn->adapt, &link->ep);
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
        reason = dm_conn_cross(link);
    if (dm_conn_rail_of(link->conn, link->cr_ia) < 0) /* that it has there we shall hear */
        reason = DM_REJECT_AGAIN;
    if (reason == DM_REJECT_NONE) {
        link->conn->rails.current = dm_conn_rail_of(link->conn, link->cr_ia);
        if (passive_accept(link->cr_ia, cr, &link->asked, link) != DM_OK)
            reason = DM_REJECT_AGAIN;
    }
    if (reason != DM_REJECT_NONE)
        dm_conn_reject(adapt, cr, reason);
}

/*
 * A pipe that moves: what has arrived is the main thread's to count. And one inside the host whose rings would be
 * small for good, while that thread can make space for their events. Who asks again has waited for it long enough.
 */
static bool passive_is_for_main(const struct dm_link *link, const struct dm_ia *ia)
{
    const struct dm_conn *conn = link->conn;

    if (link->kind != DM_LINK_PIPE)
        return false;
    return conn->epoch > 0 || (link->cr == DAT_HANDLE_NULL && ia->caps.is_local &&
                               conn->who.foreign == NULL && dm_ring_has_to_wait(ia));
}

/* Until the main thread comes; in the place of an older one. */
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
    uint64_t token;
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
        token = priv.token;
        if (priv.has_token) /* in the place of counts that are 0 */
            priv.token = 0;
        reason = passive_identify(adapt, ia, &priv, priv.has_token ? &token : NULL, &link);
    }
    if (reason == DM_REJECT_NONE && passive_is_for_main(link, ia)) {
        passive_defer(link, ia, cr, &priv);
        return;
    }
    if (reason == DM_REJECT_NONE)
        dm_conn_turn_away(link);
    if (reason == DM_REJECT_NONE && passive_accept(ia, cr, &priv, link) != DM_OK) {
        dm_log_error("cannot accept the connection of %s: %s", dm_who(adapt, link->conn->proc).text,
                     dm_err_detail());
        reason = DM_REJECT_NOMEM;
    }
    if (reason != DM_REJECT_NONE)
        dm_conn_reject(adapt, cr, reason);
}
