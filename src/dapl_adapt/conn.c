/*
 * Connections, the main thread's part: own attempts with retries, what happens
 * when a link comes up, loss.
 *
 * A link is connected by one of its two ends: at start by the higher rank, on demand
 * by whoever needs it first. The connector speaks first: the other side posts nothing
 * before the first record (pipe) or message (RDMA link) has come, as iWARP demands.
 */
#include "dapl_adapt/conn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/adapt.h"
#include "dapl_adapt/card.h"
#include "dapl_adapt/eager.h"
#include "dapl_adapt/ring.h"
#include "dapl_adapt/serial.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define RDMA_RECVS   4
#define BACKOFF_NS   UINT64_C(500000)
#define BACKOFF_MAX  9 /* doublings */
#define TRIES_A_RAIL 5 /* before the next rail, when there is one */

int dm_conn_init_all(struct dm_adapt *adapt)
{
    size_t n = (size_t)adapt->job.size;

    adapt->active = calloc(n, sizeof(struct dm_conn *));
    adapt->conns = calloc(n, sizeof(*adapt->conns));
    if (adapt->active == NULL || adapt->conns == NULL)
        return DM_FAIL(DM_ENOMEM, "tables of %zu connections", n);
    return DM_OK;
}

struct dm_conn *dm_conn_make(struct dm_adapt *adapt, int proc)
{
    struct dm_conn *conn = dm_conn_find(adapt, proc);

    if (conn != NULL)
        return conn;
    conn = aligned_alloc(DM_CACHE_LINE, sizeof(*conn));
    if (conn == NULL) {
        (void)DM_FAIL(DM_ENOMEM, "connection to rank %d, %zu bytes", proc, sizeof(*conn));
        return NULL;
    }
    memset(conn, 0, sizeof(*conn));
    conn->adapt = adapt;
    conn->proc = proc;
    conn->active = -1;
    conn->tx.max = conn->tx.most = adapt->stride - DM_FOOT_LEN;
    conn->rx.foot = &adapt->no_foot; /* nothing arrives before there is a ring */
    conn->rx.tag = dm_foot_tag(1);
    for (int k = 0; k < DM_LINK_N; k++) {
        conn->link[k].conn = conn;
        conn->link[k].kind = (enum dm_link_kind)k;
        dm_list_init(&conn->link[k].note);
        dm_list_init(&conn->link[k].wait);
    }
    conn->next_made = atomic_load_explicit(&adapt->all, memory_order_relaxed);
    atomic_store_explicit(&adapt->all, conn, memory_order_release);
    atomic_store_explicit(&adapt->conns[proc], conn, memory_order_release);
    return conn;
}

void dm_conn_free_ep(DAT_EP_HANDLE *ep)
{
    if (*ep != DAT_HANDLE_NULL) {
        dm_serial_lock();
        dat_ep_free(*ep);
        dm_serial_unlock();
    }
    *ep = DAT_HANDLE_NULL;
}

void dm_conn_cut(struct dm_link *link)
{
    dm_serial_lock();
    dat_ep_disconnect(link->ep, DAT_CLOSE_ABRUPT_FLAG);
    dm_serial_unlock();
}

void dm_conn_hello(struct dm_conn *conn, enum dm_link_kind link, enum dm_hello_kind kind,
                   struct dm_hello *hello_p)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_ia *ia = link >= DM_LINK_EXTRA ? conn->lane[link - DM_LINK_RDMA].ia : conn->ia;

    memset(hello_p, 0, sizeof(*hello_p));
    hello_p->magic = DM_HELLO_MAGIC;
    hello_p->version = DM_HELLO_VERSION;
    hello_p->job = adapt->job_hash;
    hello_p->rank = (uint32_t)adapt->job.rank;
    hello_p->kind = (uint8_t)kind;
    hello_p->link = (uint8_t)link;
    hello_p->sendrecv =
        kind == DM_HELLO_ACCEPT
            ? conn->is_sendrecv != 0
            : adapt->wants_sendrecv || (conn->ia != NULL && conn->ia->needs_sendrecv);
    hello_p->n_slots = (uint16_t)conn->n_slots;
    hello_p->slot_size = conn->slot_size;
    hello_p->epoch = conn->epoch;
    if (kind == DM_HELLO_REJECT)
        return;
    if (link == DM_LINK_PIPE && conn->epoch > 0) { /* the main thread's business */
        conn->told = conn->rx.n_consumed;
        hello_p->arrived = dm_eager_arrived(conn);
        hello_p->unconsumed = (uint16_t)(hello_p->arrived - conn->told);
    }
    hello_p->rail = (uint8_t)ia->index;
    hello_p->reads_in = (uint8_t)ia->max_reads_in;
    hello_p->ctx = conn->region.lmr.rctx;
    hello_p->addr = (uint64_t)(uintptr_t)conn->region.ptr;
    if (adapt->probe_lmr[conn->ia->index].handle == DAT_HANDLE_NULL)
        return; /* nothing to measure with */
    hello_p->probe = (uint64_t)(uintptr_t)adapt->probe;
    hello_p->probe_ctx = adapt->probe_lmr[ia->index].rctx;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int prepare_lane(struct dm_lane *lane, struct dm_ia *ia, int rq_size)
{
    lane->ia = ia;
    lane->rq_size = smaller(smaller(DM_LANE_REQS, rq_size), ia->max_req);
    if (lane->parts == NULL)
        lane->parts = calloc(DM_LANE_REQS, sizeof(*lane->parts));
    return lane->parts != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "requests of an RDMA link");
}

/* The region is registered with the pipe's rail; its memory stays when that changes. */
static int prepare_region(struct dm_conn *conn, const struct dm_link *link, struct dm_ia *ia)
{
    struct dm_ia *old = conn->ia;
    int n_events = DM_RING_EVENTS * (int)conn->n_slots + conn->rq_size;
    int err;

    conn->ia = ia;
    if (conn->region.ptr != NULL && conn->rx.lap == 0 && conn->tx.lap == 0)
        dm_region_free(&conn->region); /* nothing in it yet */
    if (conn->region.ptr == NULL) {
        err = dm_ring_make(conn, ia, link->answer.n_slots, link->answer.slot_size);
        if (err != DM_OK)
            return err;
        conn->ctl = (void *)conn->region.ptr;
    } else {
        old->evd_room += n_events;
        ia->evd_room -= n_events;
        err = dm_region_move(ia, &conn->region);
    }
    conn->sq_size = smaller((conn->adapt->is_basic ? 4 : 2) * (int)conn->n_slots + 8, ia->max_req);
    return err;
}

int dm_conn_prepare(struct dm_conn *conn, struct dm_link *link, struct dm_ia *ia)
{
    int n_recv;
    int err = DM_OK;

    atomic_fetch_add_explicit(&link->gen, 1, memory_order_relaxed);
    link->has_spoken = link->is_ended = false;
    if (link->kind == DM_LINK_PIPE)
        conn->rx.ep = DAT_HANDLE_NULL;
    if (link->kind < DM_LINK_EXTRA &&
        (conn->ia != ia || conn->region.lmr.handle == DAT_HANDLE_NULL))
        err = prepare_region(conn, link, ia); /* only while the pipe is being made */
    if (err == DM_OK && link->kind != DM_LINK_PIPE)
        err = prepare_lane(dm_lane_of(link), ia, conn->rq_size);
    if (err != DM_OK)
        return err;
    n_recv = smaller((int)conn->n_slots + 2, ia->max_recv);
    if (link->kind == DM_LINK_PIPE)
        return dm_ia_ep_create(ia, n_recv, conn->sq_size, &link->ep);
    n_recv =
        smaller(dm_cfg()->rndv == DM_RNDV_IMM ? RDMA_RECVS + DM_IMMS : RDMA_RECVS, ia->max_recv);
    return dm_ia_ep_create(ia, n_recv, dm_lane_of(link)->rq_size, &link->ep);
}

void dm_conn_note(struct dm_link *link, enum dm_note note)
{
    struct dm_adapt *adapt = link->conn->adapt;

    if (link->notes == 0) {
        dm_list_add_tail(&adapt->notes, &link->note);
        atomic_fetch_add_explicit(&adapt->n_notes, 1, memory_order_release);
    }
    link->notes |= note;
    pthread_cond_signal(&adapt->cond);
    if (atomic_load(&adapt->is_aside_asleep[DM_SIDE_REQUEST]))
        dm_adapt_wake(adapt, DM_SIDE_REQUEST); /* who wakes the others when there is need */
    else if (adapt->has_wakes)
        dm_adapt_wake(adapt, DM_SIDE_RECV);
}

/* ---- own attempts ---- */

static int connect_failed(struct dm_link *link, const char *why)
{
    struct dm_conn *conn = link->conn;
    struct dm_adapt *adapt = conn->adapt;
    char name[64] = "any provider";

    dm_list_del(&link->wait);
    if (conn->tx.is_lost)
        return DM_ECONN;
    if (link->kind >= DM_LINK_EXTRA) {
        dm_lane_break(link);
        return DM_OK;
    }
    if (link->kind == DM_LINK_RDMA && dm_conn_can_move(conn)) {
        dm_conn_break(conn, "its second connection cannot be made");
        return DM_OK;
    }
    pthread_mutex_lock(&adapt->lock);
    if (conn->ia != NULL)
        snprintf(name, sizeof(name), "%.60s", conn->ia->name);
    pthread_mutex_unlock(&adapt->lock);
    snprintf(conn->why, sizeof(conn->why),
             "rank %d on host %s cannot be connected to over %s (%u tries): %s%s", conn->proc,
             dm_adapt_host_of(adapt, conn->proc), name, link->n_tries, why,
             dm_card_is_apart(conn) ? "; it is in another network namespace (a container of its "
                                      "own?), where only providers that reach hosts get to"
                                    : "");
    conn->err = DM_FAIL(DM_ECONN, "%s", conn->why);
    dm_conn_lose(conn, why);
    return DM_ECONN;
}

static void try_later(struct dm_link *link)
{
    unsigned n = link->n_tries < BACKOFF_MAX ? link->n_tries : BACKOFF_MAX;

    link->next_try = dm_clock_ns() + (BACKOFF_NS << n);
}

/* The place in `rails` that a link is to be connected over. */
static int rail_for(const struct dm_link *link)
{
    const struct dm_conn *conn = link->conn;

    if (link->kind == DM_LINK_PIPE)
        return conn->rail;
    if (link->kind == DM_LINK_RDMA)
        return dm_conn_rail_of(conn, conn->ia);
    for (int i = 0; i < conn->n_rails; i++) {
        if (conn->rails[i][conn->proc > conn->adapt->job.rank ? 0 : 1] ==
            (int)link->kind - DM_LINK_EXTRA)
            return i;
    }
    return -1;
}

/* One attempt. Lock held; the link is in state CONNECTING without an endpoint. */
static int attempt(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    struct dm_adapt *adapt = conn->adapt;
    const struct dm_card_rail *theirs = NULL;
    struct sockaddr_in6 addr; /* the largest that providers use, aligned */
    struct dm_hello hello;
    uint64_t timeout;
    DAT_RETURN rc;
    int rail = rail_for(link);
    int err;

    link->next_try = 0;
    link->n_tries++;
    if (rail < 0)
        return DM_FAIL(DM_ECONN, "the processes do not have the same rails");
    err = dm_conn_prepare(conn, link, adapt->ias[conn->rails[rail][0]]);
    if (err != DM_OK)
        return err;
    for (int i = 0; i < conn->card->n_rails; i++) {
        if (conn->card->rails[i].index == conn->rails[rail][1])
            theirs = &conn->card->rails[i];
    }
    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, theirs->addr, theirs->addr_len);
    dm_conn_hello(conn, link->kind, DM_HELLO_CONNECT, &hello);
    adapt->ias[conn->rails[rail][0]]->counts.n_attempts++;
    timeout = conn->is_moving || link->kind >= DM_LINK_EXTRA ? dm_move_attempt_us(conn)
                                                             : dm_cfg()->timeout;
    dm_serial_lock();
    rc = dat_ep_connect(link->ep, (DAT_IA_ADDRESS_PTR)&addr, theirs->qual,
                        timeout < 60000000 ? (DAT_TIMEOUT)timeout : 60000000, sizeof(hello), &hello,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    dm_serial_unlock();
    DM_TRACE(CONN, "connect rank %d link %d rail %d try %u", conn->proc, link->kind, rail,
             link->n_tries);
    if (rc == DAT_SUCCESS)
        return DM_OK;
    dm_conn_free_ep(&link->ep);
    try_later(link);
    if (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES)
        return DM_OK;
    return DM_FAIL(DM_ECONN, "%s: dat_ep_connect to rank %d on host %s: %s", conn->ia->name,
                   conn->proc, dm_adapt_host_of(adapt, conn->proc), dm_dat_text(rc));
}

int dm_conn_start(struct dm_conn *conn, enum dm_link_kind kind)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_link *link = &conn->link[kind];
    int err;

    err = dm_card_fetch(conn);
    if (err != DM_OK)
        return err;
    pthread_mutex_lock(&adapt->lock);
    if (link->state != DM_LINK_IDLE || conn->is_moving) {
        pthread_mutex_unlock(&adapt->lock);
        return DM_OK;
    }
    link->state = DM_LINK_CONNECTING;
    link->is_active = true;
    link->n_tries = 0;
    link->deadline = dm_clock_after(dm_cfg()->timeout);
    dm_list_del(&link->wait);
    dm_list_add_tail(&adapt->connecting, &link->wait);
    err = attempt(link);
    pthread_mutex_unlock(&adapt->lock);
    if (err != DM_OK && connect_failed(link, dm_err_detail()) == DM_OK)
        err = DM_OK;
    return err;
}

/* What a refusal means. NULL: try again (or wait, when the peer's own attempt counts). */
static const char *final_refusal(const struct dm_link *link)
{
    const struct dm_hello *answer = &link->answer;

    if (link->event != DAT_CONNECTION_EVENT_PEER_REJECTED || answer->magic != DM_HELLO_MAGIC)
        return NULL;
    switch (answer->reject) {
    case DM_REJECT_STRANGER:
        return "it belongs to another job";
    case DM_REJECT_MISMATCH:
        return "it has another version, DATUM_RING_SLOTS or DATUM_RING_SLOT_SIZE";
    case DM_REJECT_NOMEM:
        return "it could not make its endpoint or ring";
    case DM_REJECT_LOST:
        return "it has lost this connection before";
    default:
        return NULL;
    }
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

static void refused(struct dm_link *link, int event, const char *why)
{
    struct dm_conn *conn = link->conn;

    if (link->kind == DM_LINK_PIPE && conn->is_moving) {
        dm_move_refused(conn, event, why);
        return;
    }
    if (why != NULL) {
        connect_failed(link, why);
        return;
    }
    DM_TRACE(CONN, "rank %d link %d: %s", conn->proc, link->kind, dm_conn_event_text(event));
    if (link->kind == DM_LINK_PIPE && conn->rail + 1 < conn->n_rails &&
        event != DAT_CONNECTION_EVENT_PEER_REJECTED &&
        (event == DAT_CONNECTION_EVENT_UNREACHABLE || link->n_tries >= TRIES_A_RAIL)) {
        dm_explain_refused(conn->adapt, conn->adapt->ias[conn->rails[conn->rail][0]]->name,
                           dm_conn_event_text(event));
        conn->rail++;
        link->n_tries = 0;
    }
    try_later(link);
}

/* ---- links that come up ---- */

/* In the counts of its rail from now on. */
static void count_in(struct dm_conn *conn)
{
    conn->is_counted = true;
    conn->ia->n_conns++;
    conn->adapt->n_driven += conn->ia->is_driven;
    if (conn->is_sendrecv) {
        conn->ia->n_sendrecv++;
        conn->adapt->n_sendrecv++;
    }
}

void dm_conn_count_out(struct dm_conn *conn)
{
    if (!conn->is_counted)
        return;
    conn->is_counted = false;
    conn->ia->n_conns--;
    conn->adapt->n_driven -= conn->ia->is_driven;
    if (conn->is_sendrecv) {
        conn->ia->n_sendrecv--;
        conn->adapt->n_sendrecv--;
    }
}

static void tell_ready(struct dm_conn *conn)
{
    conn->adapt->n_tell += !conn->tell_ready;
    conn->tell_ready = true;
}

/* Its pipe has come up for the first time. */
static int first_up(struct dm_conn *conn)
{
    struct dm_link *link = &conn->link[DM_LINK_PIPE];
    int err;

    dm_eager_setup(conn, link->answer.addr, link->answer.ctx);
    conn->is_up = true;
    count_in(conn);
    dm_poll_add(conn->adapt, conn);
    if (!link->is_active)
        return DM_OK;
    link->may_post = true;
    dm_eager_refill(conn);
    err = dm_eager_nudge(conn);
    dm_eager_refill(conn);
    tell_ready(conn);
    return err;
}

/* It has come up in a later epoch. */
static int up_again(struct dm_conn *conn)
{
    bool is_first = !conn->is_up;
    int err;

    if (is_first) {
        conn->is_up = true;
        dm_poll_add(conn->adapt, conn);
    }
    err = dm_move_done(conn);
    count_in(conn);
    tell_ready(conn);
    return err;
}

static int pipe_up(struct dm_conn *conn)
{
    struct dm_link *link = &conn->link[DM_LINK_PIPE];
    int err = DM_OK;

    conn->peer_rail = link->answer.rail;
    conn->lane[0].peer_rail = link->answer.rail;
    conn->up_since = dm_clock_ns();
    conn->probe = link->answer.probe;
    conn->probe_ctx = link->answer.probe_ctx;
    pthread_mutex_lock(&conn->adapt->lock);
    dm_ring_grow(conn->ia);
    pthread_mutex_unlock(&conn->adapt->lock);
    if (link->is_active) {
        dm_ring_agree(conn, link->answer.n_slots, link->answer.slot_size);
        /* the server's thread may be answering a request for the other link */
        pthread_mutex_lock(&conn->adapt->lock);
        conn->is_sendrecv = link->answer.sendrecv;
        pthread_mutex_unlock(&conn->adapt->lock);
        if (conn->epoch > 0) {
            err = dm_eager_rx_resume(conn, link->ep);
        } else {
            dm_eager_setup_rx(conn);
            if (conn->is_sendrecv)
                err = dm_eager_sr_setup(conn, link->ep);
        }
    }
    if (err != DM_OK)
        return err;
    err = conn->epoch > 0 ? up_again(conn) : first_up(conn);
    if (err == DM_OK && ((link->is_active && !conn->adapt->is_demand) || dm_rma_is_wanted(conn)))
        err = dm_conn_start(conn, DM_LINK_RDMA);
    return err;
}

static int rdma_up(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    struct dm_lane *lane = dm_lane_of(link);
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    lane->peer_rail = link->answer.rail;
    lane->max_reads = lane->ia->max_reads_out;
    if (link->answer.reads_in > 0)
        lane->max_reads = smaller(lane->max_reads, link->answer.reads_in);
    if (!link->is_active && link->has_spoken) {
        link->may_post = true;
        dm_rma_push(conn, lane);
        return DM_OK;
    }
    if (!link->is_active) {
        link->is_due = true; /* its first message will come */
        lane->ia->n_signalled++;
        return DM_OK;
    }
    dm_link_first(link, &lmr);
    lmr.segment_length = sizeof(uint64_t);
    dm_serial_lock();
    rc = DAT_EP_POST_SEND(link->ep, 1, &lmr, dm_cookie(DM_COOKIE_REQ, link, link->kind << 16),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS && link->kind >= DM_LINK_EXTRA) {
        dm_lane_break(link);
        return DM_OK;
    }
    if (rc != DAT_SUCCESS)
        return dm_eager_post_failed(conn, rc);
    lane->rq_used++;
    lane->ia->n_signalled++;
    link->may_post = true;
    dm_rma_push(conn, lane);
    return DM_OK;
}

static void link_up(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    int err;

    dm_list_del(&link->wait);
    link->is_told = true;
    DM_TRACE(CONN, "rank %d link %d up, %s, sendrecv %d", conn->proc, link->kind,
             link->is_active ? "active" : "passive", link->answer.sendrecv);
    err = link->kind == DM_LINK_PIPE ? pipe_up(conn) : rdma_up(link);
    if (err != DM_OK && !conn->tx.is_lost) {
        conn->err = err;
        dm_conn_lose(conn, dm_err_detail());
    }
}

static void handle_note(struct dm_adapt *adapt, struct dm_link *link)
{
    const char *why = NULL;
    unsigned notes;
    int event;

    pthread_mutex_lock(&adapt->lock);
    notes = link->notes;
    link->notes = 0;
    dm_list_del(&link->note);
    atomic_fetch_sub_explicit(&adapt->n_notes, 1, memory_order_relaxed);
    if ((notes & DM_NOTE_DROPPED) && link->state == DM_LINK_CLOSING)
        link->is_ended = true;
    else if (notes & DM_NOTE_DROPPED)
        dm_conn_free_ep(&link->dropped);
    if (notes & DM_NOTE_ASKED)
        dm_conn_answer(link);
    if (link->state != DM_LINK_CONNECTING) {
        /* the peer's own attempt was accepted since, in the place of the one that ended */
        if ((notes & DM_NOTE_REFUSED) && link->state != DM_LINK_CLOSING)
            dm_conn_free_ep(&link->dropped);
        notes &= ~(unsigned)DM_NOTE_REFUSED;
    }
    if (link->state != DM_LINK_UP) /* given up since */
        notes &= ~(unsigned)(DM_NOTE_UP | DM_NOTE_LOST);
    event = link->event;
    if (notes & DM_NOTE_REFUSED) {
        dm_conn_free_ep(&link->ep);
        why = final_refusal(link);
    }
    pthread_mutex_unlock(&adapt->lock);
    if (notes & DM_NOTE_UP)
        link_up(link);
    if (notes & DM_NOTE_REFUSED && link->conn->ia != NULL)
        link->conn->ia->counts.n_refused++;
    if (notes & DM_NOTE_REFUSED)
        refused(link, event, why);
    if ((notes & DM_NOTE_LOST) && link->kind >= DM_LINK_EXTRA)
        dm_lane_break(link);
    else if (notes & DM_NOTE_LOST)
        dm_conn_break(link->conn, dm_conn_gone_text(link->conn));
    if (notes & DM_NOTE_BROKEN)
        dm_conn_follow(link->conn);
}

static bool is_connecting(struct dm_link *link, int *event_p)
{
    bool is_so;

    pthread_mutex_lock(&link->conn->adapt->lock);
    is_so = link->state == DM_LINK_CONNECTING;
    *event_p = link->event;
    pthread_mutex_unlock(&link->conn->adapt->lock);
    return is_so;
}

/* Is it time for something? */
static bool is_timed(struct dm_link *link, uint64_t now)
{
    bool is_so;

    pthread_mutex_lock(&link->conn->adapt->lock);
    is_so = link->state == DM_LINK_CLOSING || now > link->deadline ||
            (link->next_try != 0 && now >= link->next_try) ||
            (link->state == DM_LINK_IDLE && link->conn->is_moving);
    pthread_mutex_unlock(&link->conn->adapt->lock);
    return is_so;
}

static int run_timer(struct dm_link *link, uint64_t now)
{
    struct dm_adapt *adapt = link->conn->adapt;
    bool is_moving = link->kind == DM_LINK_PIPE && link->conn->is_moving;
    int err = DM_OK;
    int event;
    int n = 0;

    if (is_moving)
        n = dm_move_timer(link->conn, now);
    if (n > 0 || link->state == DM_LINK_CLOSING)
        return n;
    if (now > link->deadline && is_connecting(link, &event)) {
        connect_failed(link, event != 0 ? dm_conn_event_text(event) : "no answer in time");
        return 1;
    }
    if (link->next_try == 0 || now < link->next_try)
        return 0;
    pthread_mutex_lock(&adapt->lock);
    if (link->state == DM_LINK_CONNECTING)
        err = attempt(link);
    else
        link->next_try = 0; /* the peer's attempt was accepted */
    pthread_mutex_unlock(&adapt->lock);
    if (err != DM_OK && is_moving)
        dm_move_refused(link->conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL);
    else if (err != DM_OK)
        connect_failed(link, dm_err_detail());
    return 1;
}

/* What is done for one link can change the list: take it from there as it is then. */
static int run_timers(struct dm_adapt *adapt)
{
    uint64_t now = dm_clock_ns();
    struct dm_list seen;
    struct dm_link *link;
    int n = 0;

    dm_list_init(&seen);
    while (!dm_list_is_empty(&adapt->connecting)) {
        link = dm_container_of(adapt->connecting.next, struct dm_link, wait);
        dm_list_del(&link->wait);
        dm_list_add_tail(&seen, &link->wait);
        if (is_timed(link, now))
            n += run_timer(link, now);
    }
    while (!dm_list_is_empty(&seen)) {
        link = dm_container_of(seen.next, struct dm_link, wait);
        dm_list_del(&link->wait);
        dm_list_add_tail(&adapt->connecting, &link->wait);
    }
    return n;
}

int dm_conn_notes(struct dm_adapt *adapt)
{
    struct dm_link *link;
    int n = 0;

    while (atomic_load_explicit(&adapt->n_notes, memory_order_acquire) > 0) {
        pthread_mutex_lock(&adapt->lock);
        link = dm_container_of(adapt->notes.next, struct dm_link, note);
        pthread_mutex_unlock(&adapt->lock);
        handle_note(adapt, link);
        n++;
    }
    return n;
}

int dm_conn_progress(struct dm_adapt *adapt)
{
    int n = dm_conn_notes(adapt);

    if (!dm_list_is_empty(&adapt->connecting))
        n += run_timers(adapt);
    return n;
}

void dm_conn_lose(struct dm_conn *conn, const char *text)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_tx *tx = &conn->tx;

    if (tx->is_lost)
        return;
    tx->is_lost = true;
    tx->n_redo = 0;
    tx->room = 0;
    tx->has_direct = false;
    while (tx->n_refs > 0)
        dm_adapt_unreg(adapt, tx->refs[--tx->n_refs]);
    conn->is_dying = true;
    adapt->n_dying++;
    conn->is_failed = adapt->is_quiet;
    if (conn->err == DM_OK)
        conn->err = DM_EPEER;
    if (conn->err == DM_EPEER && !adapt->is_quiet && text != NULL)
        snprintf(conn->why, sizeof(conn->why), "rank %d on host %s: connection lost (%s)",
                 conn->proc, dm_adapt_host_of(adapt, conn->proc), text);
    pthread_mutex_lock(&adapt->lock);
    adapt->n_moving -= conn->is_moving;
    conn->is_moving = false;
    for (int k = 0; k < DM_LINK_N; k++) {
        if (conn->link[k].state == DM_LINK_UP)
            dm_conn_cut(&conn->link[k]);
        conn->link[k].state = DM_LINK_LOST;
        dm_conn_turn_away(&conn->link[k]);
        dm_list_del(&conn->link[k].wait);
    }
    pthread_mutex_unlock(&adapt->lock);
}

const char *dm_adapt_lost_why(const struct dm_conn *conn)
{
    return conn->tx.is_lost ? conn->why : "";
}

bool dm_conn_is_complete(const struct dm_conn *conn)
{
    return conn->is_up && conn->link[DM_LINK_PIPE].may_post && conn->link[DM_LINK_RDMA].may_post;
}
