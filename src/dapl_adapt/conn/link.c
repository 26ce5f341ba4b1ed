/*
 * Links: what is done with one endpoint, and with the private data of its requests.
 */
#include "dapl_adapt/conn/link.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ep_end.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/progress.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"

/* What an adapter takes to flush requests, with time to spare. */
#define DEFER_NS UINT64_C(100000000)

/* False: no memory. */
static bool deferred_add(struct dm_deferred_eps *deferred, DAT_EP_HANDLE ep)
{
    bool is_good;

    pthread_mutex_lock(&deferred->lock);
    if (deferred->n == deferred->max) {
        size_t max = 2 * deferred->max + 8;
        struct dm_deferred_ep *more = realloc(deferred->list, max * sizeof(*more));

        if (more != NULL) {
            deferred->list = more;
            deferred->max = max;
        }
    }
    is_good = deferred->n < deferred->max;
    if (is_good)
        deferred->list[deferred->n++] = (struct dm_deferred_ep){ep, dm_clock_ns() + DEFER_NS};
    atomic_store(&deferred->has_some, deferred->n > 0);
    pthread_mutex_unlock(&deferred->lock);
    return is_good;
}

void dm_conn_free_ep(struct dm_adapt *adapt, DAT_EP_HANDLE *ep)
{
    if (*ep != DAT_HANDLE_NULL && !(adapt->mem.is_pinning && deferred_add(&adapt->deferred, *ep)))
        dm_ep_free(*ep);
    *ep = DAT_HANDLE_NULL;
}

void dm_deferred_eps_free(struct dm_adapt *adapt, bool is_all)
{
    struct dm_deferred_eps *deferred = &adapt->deferred;
    uint64_t now = dm_clock_ns();
    size_t n = 0;

    pthread_mutex_lock(&deferred->lock);
    while (n < deferred->n && (is_all || deferred->list[n].until <= now))
        dm_ep_free(deferred->list[n++].ep);
    if (n > 0)
        memmove(deferred->list, deferred->list + n, (deferred->n - n) * sizeof(*deferred->list));
    deferred->n -= n;
    atomic_store(&deferred->has_some, deferred->n > 0);
    pthread_mutex_unlock(&deferred->lock);
}

uint64_t dm_connect_time_us(const struct dm_adapt *adapt)
{
    enum { TURNS = 8 };
    uint64_t timeout = dm_cfg()->timeout;

    return timeout < UINT64_MAX / DM_TURNS_MAX ? timeout * (1 + adapt->sleep.turns / TURNS)
                                               : timeout;
}

void dm_conn_cut(struct dm_link *link)
{
    dm_ep_disconnect(link->ep);
}

/* Who says what. */
static void private_begin(const struct dm_adapt *adapt, enum dm_private_kind kind,
                          struct dm_conn_private *priv_p)
{
    priv_p->magic = DM_PRIVATE_MAGIC;
    priv_p->version = DM_PRIVATE_VERSION;
    priv_p->kind = kind & 0xf;
    priv_p->job = adapt->self.job;
    priv_p->rank = adapt->self.rank & (DM_PROCS_MAX - 1);
}

/* The first request of all to a process that may not know us. */
static void private_token(const struct dm_conn *conn, struct dm_conn_private *priv_p)
{
    const struct dm_proc *foreign = conn->who.foreign;

    if (foreign == NULL || !foreign->has_token || conn->who.theirs != 0 || conn->epoch != 0 ||
        priv_p->kind != DM_PRIVATE_CONNECT)
        return;
    priv_p->has_token = 1;
    priv_p->token = foreign->token;
}

void dm_conn_private_fill(struct dm_conn *conn, enum dm_link_kind link, enum dm_private_kind kind,
                          struct dm_conn_private *priv_p)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_ia *ia =
        link >= DM_LINK_EXTRA ? conn->links->rdmaq[link - DM_LINK_RDMA].ia : conn->ia;

    memset(priv_p, 0, sizeof(*priv_p));
    private_begin(adapt, kind, priv_p);
    priv_p->link = link & 0xf;
    priv_p->mine = conn->who.mine & DM_INSTANCES;
    priv_p->theirs = conn->who.theirs & DM_INSTANCES;
    priv_p->sendrecv = kind == DM_PRIVATE_ACCEPT
                           ? conn->is_sendrecv
                           : adapt->rings.wants_sendrecv || conn->ring.has_srq ||
                                 (conn->ia != NULL && conn->ia->caps.needs_sendrecv);
    priv_p->srq = conn->ring.has_srq;
    priv_p->moves = conn->ia == NULL || dm_conn_can_move(conn);
    priv_p->pending = conn->ia != NULL && dm_conn_has_pending(conn);
    priv_p->n_slots = conn->ring.n_slots & 0x1fff;
    priv_p->slot_size = conn->ring.slot_size;
    priv_p->epoch = conn->epoch;
    if (kind == DM_PRIVATE_REJECT)
        return;
    if (link == DM_LINK_PIPE && conn->epoch > 0) { /* the main thread's business */
        conn->credits.acked_to_peer = conn->rx.n_consumed;
        priv_p->arrived = conn->adapt->ops->pipe_arrived(conn);
        priv_p->unconsumed = (uint16_t)(priv_p->arrived - conn->credits.acked_to_peer);
    }
    private_token(conn, priv_p);
    priv_p->rail = (unsigned)ia->index & 3;
    priv_p->reads_in = (unsigned)ia->limits.max_reads_in & 0xff;
    priv_p->ctx = conn->region.lmr.rctx;
    priv_p->addr = (uint64_t)(uintptr_t)conn->region.ptr;
    if (adapt->mem.probe_lmr[conn->ia->index].handle == DAT_HANDLE_NULL)
        return; /* nothing to measure with */
    priv_p->probe = (uint64_t)(uintptr_t)adapt->mem.probe;
    priv_p->probe_ctx = adapt->mem.probe_lmr[ia->index].rctx;
}

enum dm_link_state dm_link_state(const struct dm_link *link)
{
    struct dm_adapt *adapt = link->conn->adapt;
    enum dm_link_state state;

    pthread_mutex_lock(&adapt->shared.lock);
    state = link->state;
    pthread_mutex_unlock(&adapt->shared.lock);
    return state;
}

void dm_conn_note(struct dm_link *link, enum dm_note note)
{
    struct dm_adapt *adapt = link->conn->adapt;

    if (link->notes == 0) {
        dm_list_add_tail(&adapt->shared.notes, &link->note);
        atomic_fetch_add_explicit(&adapt->shared.n_notes, 1, memory_order_release);
    }
    link->notes |= note;
}

void dm_conn_notes_wake(struct dm_adapt *adapt)
{
    pthread_cond_signal(&adapt->shared.cond);
    if (atomic_load(&adapt->sleep.is_thread_asleep[DM_SIDE_REQUEST]))
        dm_rails_wake(&adapt->rails, DM_SIDE_REQUEST); /* who wakes the others when there is need */
    else if (adapt->rails.has_wakes)
        dm_rails_wake(&adapt->rails, DM_SIDE_RECV);
}

const char *dm_conn_event_text(int event)
{
    switch (event) {
    case DAT_CONNECTION_EVENT_PEER_REJECTED:
        return "it refuses the connection for now";
    case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
        return "nobody listens at its address (did the process end?)";
    case DAT_CONNECTION_EVENT_UNREACHABLE:
        return "its address is unreachable";
    case DAT_CONNECTION_EVENT_TIMED_OUT:
        return "no answer in time";
    default:
        return "the connection broke while it was made";
    }
}

void dm_conn_reject(struct dm_adapt *adapt, DAT_CR_HANDLE cr, enum dm_reject reason)
{
    struct dm_conn_private priv;

    memset(&priv, 0, sizeof(priv));
    private_begin(adapt, DM_PRIVATE_REJECT, &priv);
    priv.reject = reason & 0xf;
    DM_TRACE(CONN, "reject %d", reason);
    dm_serial_lock();
    dat_cr_reject(cr, sizeof(priv), &priv);
    dm_serial_unlock();
}

void dm_link_first(const struct dm_link *link, DAT_LMR_TRIPLET *lmr_p)
{
    const struct dm_conn *conn = link->conn;
    const struct dm_adapt *adapt = conn->adapt;

    if (link->kind >= DM_LINK_EXTRA) { /* not a rail of the region: what measuring overwrites */
        lmr_p->virtual_address = (DAT_VADDR)(uintptr_t)(adapt->mem.probe + DM_PROBE_LEN);
        lmr_p->lmr_context =
            adapt->mem.probe_lmr[conn->links->rdmaq[link->kind - DM_LINK_RDMA].ia->index].lctx;
    } else {
        lmr_p->virtual_address = (DAT_VADDR)(uintptr_t)conn->ctl->first;
        lmr_p->lmr_context = conn->region.lmr.lctx;
    }
    lmr_p->segment_length = sizeof(conn->ctl->first);
}

void dm_conn_turn_away(struct dm_link *link)
{
    if (link->cr != DAT_HANDLE_NULL)
        dm_conn_reject(link->conn->adapt, link->cr,
                       link->state == DM_LINK_LOST ? DM_REJECT_LOST : DM_REJECT_AGAIN);
    link->cr = DAT_HANDLE_NULL;
}

void dm_conn_forget_notes(struct dm_link *link)
{
    if (link->notes == 0)
        return;
    link->notes = 0;
    dm_list_del(&link->note);
    atomic_fetch_sub_explicit(&link->conn->adapt->shared.n_notes, 1, memory_order_relaxed);
}

int dm_conn_rail_of(const struct dm_conn *conn, const struct dm_ia *ia)
{
    for (int i = 0; i < conn->rails.n_all; i++) {
        if (conn->rails.pair[i][0] == ia->index)
            return i;
    }
    return -1;
}
