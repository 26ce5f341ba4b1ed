/*
 * What the main thread does for connections: it handles pending events and timers, and brings links
 * up.
 */
#include "dapl_adapt/conn/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/conn/part.h"
#include "dapl_adapt/conn/passive.h"
#include "dapl_adapt/conn/prod.h"
#include "dapl_adapt/conn/ring.h"
#include "dapl_adapt/conn/server.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/list.h"
#include "util/log.h"

static void writable_due(struct dm_conn *conn)
{
    conn->adapt->poll.n_writable_due += !conn->is_writable_due;
    conn->is_writable_due = true;
}

/* Its pipe has come up for the first time. */
static int pipe_first_up(struct dm_conn *conn)
{
    int err;

    conn->was_up = true;
    dm_conn_set_state(conn, DM_CONN_UP);
    dm_conn_count_in(conn);
    dm_active_add(conn->adapt, conn);
    err = conn->adapt->ops->pipe_up(conn);
    if (conn->links->at[DM_LINK_PIPE].is_active)
        writable_due(conn);
    return err;
}

/* It has come up in a later epoch. */
static int pipe_up_again(struct dm_conn *conn)
{
    int err;

    if (!conn->was_up) {
        conn->was_up = true;
        dm_active_add(conn->adapt, conn);
    }
    dm_move_done(conn);
    err = conn->adapt->ops->pipe_up(conn);
    dm_conn_count_in(conn);
    writable_due(conn);
    return err;
}

static int pipe_up(struct dm_conn *conn)
{
    struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    int err = DM_OK;

    conn->links->rdmaq[0].peer_rail = link->answer.rail;
    conn->failover.up_since = dm_clock_ns();
    conn->peer_probe.addr = link->answer.probe;
    conn->peer_probe.ctx = link->answer.probe_ctx;
    pthread_mutex_lock(&conn->adapt->shared.lock);
    dm_ring_grow(conn->ia);
    pthread_mutex_unlock(&conn->adapt->shared.lock);
    if (link->is_active) {
        dm_ring_agree(conn, link->answer.n_slots, link->answer.slot_size);
        /* the server's thread may be answering a request for the other link */
        pthread_mutex_lock(&conn->adapt->shared.lock);
        conn->is_sendrecv = link->answer.sendrecv;
        conn->ring.peer_has_srq = link->answer.srq;
        pthread_mutex_unlock(&conn->adapt->shared.lock);
        err = conn->adapt->ops->pipe_prepare(conn, link->ep);
    }
    if (err != DM_OK)
        return err;
    err = conn->epoch > 0 ? pipe_up_again(conn) : pipe_first_up(conn);
    if (err == DM_OK &&
        ((link->is_active && !conn->adapt->is_demand && conn->who.foreign == NULL) ||
         conn->adapt->ops->rdma_is_wanted(conn)))
        err = dm_conn_start(conn, DM_LINK_RDMA);
    return err;
}

static int rdma_up(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    struct dm_rdmaq *rdmaq = dm_rdmaq_of(link);
    DAT_LMR_TRIPLET *lmr = &rdmaq->posted->said[0].lmr;
    DAT_RETURN rc;

    rdmaq->peer_rail = link->answer.rail;
    rdmaq->up_since = dm_clock_ns();
    rdmaq->ia->counts.n_again_up += rdmaq->n_broken > 0;
    rdmaq->max_reads = rdmaq->ia->limits.max_reads_out;
    if (link->answer.reads_in > 0 && link->answer.reads_in < rdmaq->max_reads)
        rdmaq->max_reads = link->answer.reads_in;
    if (!link->is_active && link->has_spoken) {
        link->may_post = true;
        conn->adapt->ops->rdma_push(conn, rdmaq);
        return DM_OK;
    }
    if (!link->is_active) {
        link->is_due = true; /* its first message will come */
        rdmaq->ia->n_signalled++;
        return DM_OK;
    }
    dm_link_first(link, lmr);
    lmr->segment_length = sizeof(uint64_t);
    dm_serial_lock();
    rc = DAT_EP_POST_SEND(link->ep, 1, lmr, dm_cookie(DM_COOKIE_REQ, link, link->kind << 16),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS && link->kind >= DM_LINK_EXTRA) {
        conn->adapt->ops->rdma_break(link);
        return DM_OK;
    }
    if (rc != DAT_SUCCESS)
        return dm_conn_post_failed(conn, rc);
    rdmaq->rq_used++;
    rdmaq->ia->n_signalled++;
    link->may_post = true;
    conn->adapt->ops->rdma_push(conn, rdmaq);
    return DM_OK;
}

static void link_up(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    int err;

    dm_list_del(&link->wait);
    link->is_reported = true;
    DM_TRACE(CONN, "rank %d link %d up, %s, sendrecv %d", conn->proc, link->kind,
             link->is_active ? "active" : "passive", link->answer.sendrecv);
    err = link->kind == DM_LINK_PIPE ? pipe_up(conn) : rdma_up(link);
    if (err != DM_OK && !dm_conn_is_lost(conn)) {
        conn->loss.err = err;
        dm_conn_lose(conn, dm_err_detail());
    }
    if (dm_link_state(link) == DM_LINK_UP)
        dm_prod_begin(link);
}

static void link_handle_pending(struct dm_adapt *adapt, struct dm_link *link)
{
    const char *why = NULL;
    unsigned notes;
    bool has_left;
    int event;

    pthread_mutex_lock(&adapt->shared.lock);
    notes = link->notes;
    link->notes = 0;
    dm_list_del(&link->note);
    atomic_fetch_sub_explicit(&adapt->shared.n_notes, 1, memory_order_relaxed);
    if ((notes & DM_NOTE_DROPPED) && link->state == DM_LINK_CLOSING)
        link->is_ended = true;
    else if (notes & DM_NOTE_DROPPED)
        dm_conn_free_ep(link->conn->adapt, &link->dropped);
    if (notes & DM_NOTE_ASKED)
        dm_conn_answer(link);
    if (link->state != DM_LINK_CONNECTING) {
        /* the peer's own attempt was accepted since, in the place of the one that ended */
        if ((notes & DM_NOTE_REFUSED) && link->state != DM_LINK_CLOSING)
            dm_conn_free_ep(link->conn->adapt, &link->dropped);
        notes &= ~(unsigned)DM_NOTE_REFUSED;
    }
    if (link->state != DM_LINK_UP) /* given up since */
        notes &= ~(unsigned)(DM_NOTE_UP | DM_NOTE_LOST);
    event = link->event;
    /* once the lock is given back the peer's own attempt may be in the place of this answer */
    has_left = link->answer.reject == DM_REJECT_CLOSED;
    if (notes & DM_NOTE_REFUSED) {
        dm_conn_free_ep(link->conn->adapt, &link->ep);
        why = dm_connect_final_reject(link);
    }
    pthread_mutex_unlock(&adapt->shared.lock);
    if (notes & DM_NOTE_UP)
        link_up(link);
    if (notes & DM_NOTE_REFUSED && link->conn->ia != NULL)
        link->conn->ia->counts.n_refused++;
    if (notes & DM_NOTE_REFUSED)
        dm_connect_rejected(link, event, has_left, why);
    if ((notes & DM_NOTE_LOST) && link->kind >= DM_LINK_EXTRA)
        adapt->ops->rdma_break(link);
    else if (notes & DM_NOTE_LOST)
        dm_conn_break(link->conn, dm_conn_gone_text(link->conn));
    if (notes & DM_NOTE_BROKEN)
        dm_conn_follow(link->conn);
    if (notes & DM_NOTE_GONE)
        link->conn->adapt->ops->part_left(link->conn);
}

/* Is it time for something? */
static bool connect_is_timed(struct dm_link *link, uint64_t now)
{
    bool is_so;

    pthread_mutex_lock(&link->conn->adapt->shared.lock);
    is_so = link->state == DM_LINK_CLOSING || now > link->deadline ||
            (link->next_try != 0 && now >= link->next_try) ||
            (link->state == DM_LINK_IDLE && dm_conn_is_moving(link->conn));
    pthread_mutex_unlock(&link->conn->adapt->shared.lock);
    return is_so;
}

/* What is done for one link can change the list: take it from there as it is then. */
static int link_timers(struct dm_adapt *adapt)
{
    uint64_t now = dm_clock_ns();
    struct dm_list seen;
    struct dm_link *link;
    int n = 0;

    dm_list_init(&seen);
    while (!dm_list_is_empty(&adapt->poll.connecting)) {
        link = dm_container_of(adapt->poll.connecting.next, struct dm_link, wait);
        dm_list_del(&link->wait);
        dm_list_add_tail(&seen, &link->wait);
        if (connect_is_timed(link, now))
            n += dm_connect_timer(link, now);
    }
    while (!dm_list_is_empty(&seen)) {
        link = dm_container_of(seen.next, struct dm_link, wait);
        dm_list_del(&link->wait);
        dm_list_add_tail(&adapt->poll.connecting, &link->wait);
    }
    return n;
}

int dm_conn_notes(struct dm_adapt *adapt)
{
    struct dm_link *link;
    int n = 0;

    while (atomic_load_explicit(&adapt->shared.n_notes, memory_order_acquire) > 0) {
        pthread_mutex_lock(&adapt->shared.lock);
        link = dm_container_of(adapt->shared.notes.next, struct dm_link, note);
        pthread_mutex_unlock(&adapt->shared.lock);
        link_handle_pending(adapt, link);
        n++;
    }
    return n;
}

int dm_conn_progress(struct dm_adapt *adapt)
{
    int n = dm_conn_notes(adapt);

    if (dm_list_is_empty(&adapt->poll.connecting))
        return n;
    for (int i = 0; i < adapt->rails.n_ias; i++)
        n += dm_conn_serve_now(adapt->rails.ias[i]);
    return n + dm_conn_notes(adapt) + link_timers(adapt);
}
