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
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define RDMA_REQS    64
#define RDMA_RECVS   4
#define BACKOFF_NS   UINT64_C(500000)
#define BACKOFF_MAX  9 /* doublings */
#define TRIES_A_RAIL 5 /* before the next rail, when there is one */

int dm_conn_init_all(struct dm_adapt *adapt)
{
    size_t n = (size_t)adapt->job.size;
    struct dm_conn *conn;

    adapt->active = calloc(n, sizeof(struct dm_conn *));
    adapt->conns = aligned_alloc(DM_CACHE_LINE, n * sizeof(*adapt->conns));
    if (adapt->active == NULL || adapt->conns == NULL)
        return DM_FAIL(DM_ENOMEM, "%zu connection objects", n);
    memset(adapt->conns, 0, n * sizeof(*adapt->conns));
    for (size_t i = 0; i < n; i++) {
        conn = &adapt->conns[i];
        conn->adapt = adapt;
        conn->proc = (int)i;
        conn->active = -1;
        conn->tx.max = adapt->stride - DM_FOOT_LEN;
        conn->rx.foot = &adapt->no_foot; /* nothing arrives before there is a ring */
        conn->rx.tag = dm_foot_tag(1);
        for (int k = 0; k < DM_LINK_N; k++) {
            conn->link[k].conn = conn;
            conn->link[k].kind = (enum dm_link_kind)k;
            dm_list_init(&conn->link[k].note);
            dm_list_init(&conn->link[k].wait);
        }
    }
    return DM_OK;
}

static void free_ep(DAT_EP_HANDLE *ep)
{
    if (*ep != DAT_HANDLE_NULL)
        dat_ep_free(*ep);
    *ep = DAT_HANDLE_NULL;
}

void dm_conn_free_all(struct dm_adapt *adapt)
{
    struct dm_conn *conn;

    for (int i = 0; adapt->conns != NULL && i < adapt->job.size; i++) {
        conn = &adapt->conns[i];
        for (int k = 0; k < DM_LINK_N; k++) {
            if (conn->link[k].state == DM_LINK_UP)
                dat_ep_disconnect(conn->link[k].ep, DAT_CLOSE_ABRUPT_FLAG);
            free_ep(&conn->link[k].ep);
            free_ep(&conn->link[k].dropped);
        }
        while (conn->tx.n_refs > 0)
            dm_adapt_unreg(adapt, conn->tx.refs[--conn->tx.n_refs]);
        dm_eager_sr_free(conn);
        dm_region_free(&conn->region);
        free(conn->card);
    }
    free(adapt->active);
    free(adapt->conns);
    adapt->active = NULL;
    adapt->conns = NULL;
}

void dm_conn_hello(struct dm_conn *conn, enum dm_link_kind link, enum dm_hello_kind kind,
                   struct dm_hello *hello_p)
{
    const struct dm_adapt *adapt = conn->adapt;

    memset(hello_p, 0, sizeof(*hello_p));
    hello_p->magic = DM_HELLO_MAGIC;
    hello_p->version = DM_HELLO_VERSION;
    hello_p->job = adapt->job_hash;
    hello_p->rank = (uint32_t)adapt->job.rank;
    hello_p->kind = (uint8_t)kind;
    hello_p->link = (uint8_t)link;
    hello_p->sendrecv = adapt->wants_sendrecv || conn->is_sendrecv;
    hello_p->n_slots = (uint16_t)adapt->n_slots;
    hello_p->slot_size = adapt->slot_size;
    if (kind == DM_HELLO_REJECT)
        return;
    hello_p->rail = (uint8_t)conn->ia->index;
    hello_p->ctx = conn->region.lmr.rctx;
    hello_p->addr = (uint64_t)(uintptr_t)conn->region.ptr;
    hello_p->probe = (uint64_t)(uintptr_t)adapt->probe;
    hello_p->probe_ctx = adapt->probe_lmr[conn->ia->index].rctx;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

int dm_conn_prepare(struct dm_conn *conn, struct dm_link *link, struct dm_ia *ia)
{
    const struct dm_adapt *adapt = conn->adapt;
    int n_slots = (int)adapt->n_slots;
    int err;

    if (conn->ia != ia) { /* only while the pipe is being made */
        dm_region_free(&conn->region);
        conn->ia = ia;
        conn->sq_size = smaller(2 * n_slots + 8, ia->max_req);
        conn->rq_size = smaller(RDMA_REQS, ia->max_req);
    }
    if (conn->region.ptr == NULL) {
        err = dm_region_alloc(ia, dm_region_len(adapt->n_slots, adapt->stride), &conn->region);
        if (err != DM_OK)
            return err;
        conn->ctl = (void *)conn->region.ptr;
    }
    if (link->kind == DM_LINK_PIPE)
        return dm_ia_ep_create(ia, smaller(n_slots + 2, ia->max_recv), conn->sq_size, &link->ep);
    return dm_ia_ep_create(ia, RDMA_RECVS, conn->rq_size, &link->ep);
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
    pthread_mutex_lock(&adapt->lock);
    if (conn->ia != NULL)
        snprintf(name, sizeof(name), "%.60s", conn->ia->name);
    pthread_mutex_unlock(&adapt->lock);
    snprintf(conn->why, sizeof(conn->why),
             "rank %d on host %s cannot be connected to over %s (%u tries): %s", conn->proc,
             dm_adapt_host_of(adapt, conn->proc), name, link->n_tries, why);
    conn->err = DM_FAIL(DM_ECONN, "%s", conn->why);
    dm_conn_lose(conn, why);
    return DM_ECONN;
}

static void try_later(struct dm_link *link)
{
    unsigned n = link->n_tries < BACKOFF_MAX ? link->n_tries : BACKOFF_MAX;

    link->next_try = dm_clock_ns() + (BACKOFF_NS << n);
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
    int mine = conn->rails[conn->rail][0];
    int err;

    link->next_try = 0;
    link->n_tries++;
    err = dm_conn_prepare(conn, link, adapt->ias[mine]);
    if (err != DM_OK)
        return err;
    for (int i = 0; i < conn->card->n_rails; i++) {
        if (conn->card->rails[i].index == conn->rails[conn->rail][1])
            theirs = &conn->card->rails[i];
    }
    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, theirs->addr, theirs->addr_len);
    dm_conn_hello(conn, link->kind, DM_HELLO_CONNECT, &hello);
    timeout = dm_cfg()->timeout;
    rc = dat_ep_connect(link->ep, (DAT_IA_ADDRESS_PTR)&addr, theirs->qual,
                        timeout < 60000000 ? (DAT_TIMEOUT)timeout : 60000000, sizeof(hello), &hello,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    DM_TRACE(CONN, "connect rank %d link %d try %u", conn->proc, link->kind, link->n_tries);
    if (rc == DAT_SUCCESS)
        return DM_OK;
    free_ep(&link->ep);
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
    if (link->state != DM_LINK_IDLE) {
        pthread_mutex_unlock(&adapt->lock);
        return DM_OK;
    }
    link->state = DM_LINK_CONNECTING;
    link->is_active = true;
    link->n_tries = 0;
    link->deadline =
        dm_cfg()->timeout == DM_CFG_AUTO ? UINT64_MAX : dm_clock_ns() + dm_cfg()->timeout * 1000;
    dm_list_add_tail(&adapt->connecting, &link->wait);
    err = attempt(link);
    pthread_mutex_unlock(&adapt->lock);
    if (err != DM_OK)
        connect_failed(link, dm_err_detail());
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

static const char *event_text(int event)
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

    if (why != NULL) {
        connect_failed(link, why);
        return;
    }
    DM_TRACE(CONN, "rank %d link %d: %s", conn->proc, link->kind, event_text(event));
    if (link->kind == DM_LINK_PIPE && conn->rail + 1 < conn->n_rails &&
        event != DAT_CONNECTION_EVENT_PEER_REJECTED &&
        (event == DAT_CONNECTION_EVENT_UNREACHABLE || link->n_tries >= TRIES_A_RAIL)) {
        dm_explain_refused(conn->adapt, conn->adapt->ias[conn->rails[conn->rail][0]]->name,
                           event_text(event));
        conn->rail++;
        link->n_tries = 0;
    }
    try_later(link);
}

/* ---- links that come up ---- */

static int pipe_up(struct dm_conn *conn)
{
    struct dm_link *link = &conn->link[DM_LINK_PIPE];
    int err = DM_OK;

    conn->peer_rail = link->answer.rail;
    conn->probe = link->answer.probe;
    conn->probe_ctx = link->answer.probe_ctx;
    if (link->is_active) {
        /* the server's thread may be answering a request for the other link */
        pthread_mutex_lock(&conn->adapt->lock);
        conn->is_sendrecv = link->answer.sendrecv;
        pthread_mutex_unlock(&conn->adapt->lock);
        dm_eager_setup_rx(conn);
        if (conn->is_sendrecv)
            err = dm_eager_sr_setup(conn, link->ep);
    }
    if (err != DM_OK)
        return err;
    dm_eager_setup(conn, link->answer.addr, link->answer.ctx);
    conn->is_up = true;
    conn->ia->n_conns++;
    if (conn->is_sendrecv) {
        conn->ia->n_sendrecv++;
        conn->adapt->n_sendrecv++;
    }
    dm_poll_add(conn->adapt, conn);
    if (link->is_active) {
        link->may_post = true;
        dm_eager_refill(conn);
        err = dm_eager_nudge(conn);
        dm_eager_refill(conn);
        conn->tell_ready = true;
        conn->adapt->n_tell++;
    }
    if (err == DM_OK && ((link->is_active && !conn->adapt->is_demand) || conn->queue_head != NULL))
        err = dm_conn_start(conn, DM_LINK_RDMA);
    return err;
}

static int rdma_up(struct dm_conn *conn)
{
    struct dm_link *link = &conn->link[DM_LINK_RDMA];
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    if (!link->is_active) {
        conn->ia->n_signalled++; /* its first message will come */
        return DM_OK;
    }
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)conn->ctl->first;
    lmr.segment_length = sizeof(uint64_t);
    lmr.lmr_context = conn->region.lmr.lctx;
    rc = DAT_EP_POST_SEND(link->ep, 1, &lmr, dm_cookie(DM_COOKIE_REQ, conn->proc, 0),
                          DAT_COMPLETION_DEFAULT_FLAG);
    if (rc != DAT_SUCCESS)
        return dm_eager_post_failed(conn, rc);
    conn->rq_used++;
    conn->ia->n_signalled++;
    link->may_post = true;
    dm_rma_push(conn);
    return DM_OK;
}

static void link_up(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    int err;

    dm_list_del(&link->wait);
    DM_TRACE(CONN, "rank %d link %d up, %s, sendrecv %d", conn->proc, link->kind,
             link->is_active ? "active" : "passive", link->answer.sendrecv);
    err = link->kind == DM_LINK_PIPE ? pipe_up(conn) : rdma_up(conn);
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
    if (notes & DM_NOTE_DROPPED)
        free_ep(&link->dropped);
    if (link->state != DM_LINK_CONNECTING) /* the peer's own attempt was accepted since */
        notes &= ~(unsigned)DM_NOTE_REFUSED;
    event = link->event;
    if (notes & DM_NOTE_REFUSED) {
        free_ep(&link->ep);
        why = final_refusal(link);
    }
    pthread_mutex_unlock(&adapt->lock);
    if (notes & DM_NOTE_UP)
        link_up(link);
    if (notes & DM_NOTE_REFUSED)
        refused(link, event, why);
    if (notes & DM_NOTE_LOST)
        dm_conn_lose(link->conn, "the process died or left without MPI_Finalize");
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

static int run_timers(struct dm_adapt *adapt)
{
    uint64_t now = dm_clock_ns();
    struct dm_link *link;
    int event;
    int err;
    int n = 0;

    dm_list_for_each_safe (it, tmp, &adapt->connecting) {
        link = dm_container_of(it, struct dm_link, wait);
        if (now > link->deadline && is_connecting(link, &event)) {
            connect_failed(link, event != 0 ? event_text(event) : "no answer in time");
            n++;
        } else if (link->next_try != 0 && now >= link->next_try) {
            err = DM_OK;
            pthread_mutex_lock(&adapt->lock);
            if (link->state == DM_LINK_CONNECTING)
                err = attempt(link);
            else
                link->next_try = 0; /* the peer's attempt was accepted */
            pthread_mutex_unlock(&adapt->lock);
            if (err != DM_OK)
                connect_failed(link, dm_err_detail());
            n++;
        }
    }
    return n;
}

int dm_conn_progress(struct dm_adapt *adapt)
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
    tx->room = 0;
    tx->has_direct = false;
    while (tx->n_refs > 0)
        dm_adapt_unreg(adapt, tx->refs[--tx->n_refs]);
    conn->is_dying = true;
    adapt->n_dying++;
    conn->is_failed = adapt->is_quiet;
    if (conn->err == DM_OK)
        conn->err = DM_EPEER;
    if (conn->err == DM_EPEER && !adapt->is_quiet)
        snprintf(conn->why, sizeof(conn->why), "rank %d on host %s: connection lost (%s)",
                 conn->proc, dm_adapt_host_of(adapt, conn->proc), text);
    pthread_mutex_lock(&adapt->lock);
    for (int k = 0; k < DM_LINK_N; k++) {
        if (conn->link[k].state == DM_LINK_UP)
            dat_ep_disconnect(conn->link[k].ep, DAT_CLOSE_ABRUPT_FLAG);
        conn->link[k].state = DM_LINK_LOST;
        dm_list_del(&conn->link[k].wait);
    }
    pthread_mutex_unlock(&adapt->lock);
}

bool dm_conn_is_complete(const struct dm_conn *conn)
{
    return conn->is_up && conn->link[DM_LINK_PIPE].may_post && conn->link[DM_LINK_RDMA].may_post;
}
