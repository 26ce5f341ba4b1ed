/*
 * A connection whose rail breaks moves to the next rail that both processes have, or to the
 * same one again, without losing or doubling anything.
 *
 * First everything of the old epoch is brought to an end on this side: endpoints are disconnected,
 * what has completed is taken, endpoints and the ring's key are freed. From then on nothing arrives
 * any more, so that the records that are here can be counted. The new pipe's private data
 * carries the epoch and that count, both ways; each side repeats what the other does not have from
 * its shadow, to the same slots (eager/replay.c). RDMA transfers are posted again.
 *
 * Whoever notices a break starts connecting; a request of a later epoch tells the other side. Where
 * nobody listens any more the process is gone, and the loss is final at once; so it is
 * when DATUM_RECONNECT has passed without a sign of life.
 */
#include "dapl_adapt/conn/failover.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/conn/retry.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/public/memory.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/list.h"
#include "util/log.h"
#include "util/strbuf.h"

#define CLOSE_NS     UINT64_C(100000000)  /* an endpoint that does not say that it has ended */
#define STABLE_NS    UINT64_C(1000000000) /* up for so long: the next break is a new one */
#define YIELD_NS     UINT64_C(20000000)   /* the higher rank's attempt would count anyway */
#define DEAD_NS      UINT64_C(2000000000) /* one rail refuses, others are silent */
#define RETRY_NS     UINT64_C(1000000)
#define RETRY_MAX    5   /* doublings */
#define REFUSALS     3   /* by one rail, to believe it */
#define FLAPS        100 /* breaks without having been stable in between */
#define ATTEMPT_MIN  250000
#define ATTEMPT_PART 4 /* of the time limit, for one attempt on each rail */

/*
 * Microseconds for all attempts: DATUM_RECONNECT. Where nothing has come or gone yet the first handshake was lost, and
 * it has the time of a first connection.
 */
static uint64_t move_time_us(const struct dm_conn *conn)
{
    bool is_first = conn->tx.n_filled == 0 && conn->rx.n_consumed == 0;
    uint64_t us = is_first ? dm_connect_time_us(conn->adapt) : 0;

    return us > dm_cfg()->reconnect ? us : dm_cfg()->reconnect;
}

uint64_t dm_move_attempt_us(const struct dm_conn *conn)
{
    uint64_t n_rails = conn->rails.n_all > 0 ? (uint64_t)conn->rails.n_all : 1;
    uint64_t us = move_time_us(conn) / (ATTEMPT_PART * n_rails);

    if (us > dm_cfg()->timeout)
        us = dm_cfg()->timeout;
    return us > ATTEMPT_MIN ? us : ATTEMPT_MIN;
}

static uint64_t failover_limit(const struct dm_conn *conn)
{
    return dm_clock_after(move_time_us(conn));
}

/* Nothing more is to happen on a link. Lock held. */
static void failover_close_link(struct dm_link *link)
{
    bool is_live = link->state == DM_LINK_CONNECTING || link->state == DM_LINK_ACCEPTING ||
                   link->state == DM_LINK_UP;

    if (link->ep != DAT_HANDLE_NULL) {
        dm_conn_free_ep(link->conn->adapt, &link->dropped);
        if (is_live)
            dm_conn_cut(link);
        link->dropped = link->ep;
        link->ep = DAT_HANDLE_NULL;
    }
    dm_conn_turn_away(link);
    link->state = DM_LINK_CLOSING;
    link->may_post = false;
    link->is_reported = false;
    dm_list_del(&link->wait);
}

static void failover_begin(struct dm_conn *conn, uint16_t epoch, const struct dm_ia *broken,
                           const char *text)
{
    struct dm_adapt *adapt = conn->adapt;
    uint64_t now = dm_clock_ns();

    DM_TRACE(CONN, "rank %d, epoch %d: %s; moving", conn->proc, epoch, text);
    dm_retry_broke(conn, now);
    if (conn->failover.n_moves++ == 0 || now - conn->failover.up_since > STABLE_NS) {
        conn->failover.until = failover_limit(conn);
        conn->failover.n_flaps = 0;
        memset(conn->failover.causes, 0, sizeof(conn->failover.causes));
        conn->failover.cause = text;
        conn->failover.broken = broken;
    }
    memset(conn->failover.n_refused, 0, sizeof(conn->failover.n_refused));
    conn->failover.broke_at = now;
    conn->failover.close_until = now + CLOSE_NS;
    conn->tx.n_avail = 0;
    conn->tx.n_redo = 0;
    conn->parting.is_end_sent = false;
    adapt->poll.n_writable_due += conn->was_up && !conn->is_writable_due;
    conn->is_writable_due = conn->is_writable_due || conn->was_up;
    pthread_mutex_lock(&adapt->shared.lock);
    conn->epoch = epoch;
    dm_conn_set_state(conn, DM_CONN_MOVING);
    for (int k = 0; k < DM_LINK_N; k++)
        failover_close_link(&conn->links->at[k]);
    dm_list_add_tail(&adapt->poll.connecting, &conn->links->at[DM_LINK_PIPE].wait);
    pthread_mutex_unlock(&adapt->shared.lock);
}

const char *dm_conn_gone_text(const struct dm_conn *conn)
{
    return dm_conn_can_move(conn) ? "the network or the process is gone"
                                  : "the process died or left without MPI_Finalize";
}

void dm_conn_break(struct dm_conn *conn, const char *text)
{
    dm_conn_break_beside(conn, conn->ia, text);
}

void dm_conn_break_beside(struct dm_conn *conn, const struct dm_ia *ia, const char *text)
{
    int rail;

    if (dm_conn_is_lost(conn) || dm_conn_is_moving(conn))
        return;
    if (conn->who.foreign != NULL && conn->ctl != NULL &&
        atomic_load_explicit(&conn->ctl->peer_closing, memory_order_acquire) != 0) {
        conn->adapt->ops->part_left(conn);
        return;
    }
    if (!dm_conn_can_move(conn) || conn->ctl == NULL || conn->failover.n_flaps++ > FLAPS ||
        atomic_load_explicit(&conn->ctl->peer_closing, memory_order_acquire) != 0 ||
        dm_addr_fetch(conn) != DM_OK) {
        dm_conn_lose(conn, text);
        return;
    }
    rail = dm_conn_rail_of(conn, conn->ia);
    conn->failover.next_rail = ia == conn->ia || rail < 0 ? (rail + 1) % conn->rails.n_all : rail;
    dm_retry_lost(conn, ia);
    failover_begin(conn, (uint16_t)(conn->epoch + 1), ia, text);
}

void dm_move_back(struct dm_conn *conn, int place)
{
    conn->failover.is_back = true;
    conn->failover.up_since = 0; /* with all the time that a new break has */
    conn->failover.next_rail = place;
    failover_begin(conn, (uint16_t)(conn->epoch + 1), NULL, "a better rail is there again");
}

int dm_conn_post_failed(struct dm_conn *conn, DAT_RETURN rc)
{
    if (DAT_GET_TYPE(rc) != DAT_INVALID_STATE)
        dm_log_warn("posting to %s: %s", dm_who(conn->adapt, conn->proc).text, dm_dat_text(rc));
    dm_conn_break(conn, "the provider refuses to send");
    return dm_conn_is_lost(conn) ? DM_EPEER : DM_OK;
}

void dm_conn_follow(struct dm_conn *conn)
{
    struct dm_ia *ia;
    uint16_t wanted;
    int rail;

    pthread_mutex_lock(&conn->adapt->shared.lock);
    wanted = conn->failover.wanted;
    ia = conn->failover.wanted_ia;
    pthread_mutex_unlock(&conn->adapt->shared.lock);
    if (dm_conn_is_lost(conn) || (int16_t)(wanted - conn->epoch) <= 0)
        return;
    if (conn->ia == NULL || !dm_conn_can_move(conn) || dm_addr_fetch(conn) != DM_OK) {
        dm_conn_lose(conn, "it has given this connection up");
        return;
    }
    rail = dm_conn_rail_of(conn, ia); /* where it asks it can be reached */
    conn->failover.next_rail =
        rail >= 0 ? rail : (dm_conn_rail_of(conn, conn->ia) + 1) % conn->rails.n_all;
    if (rail > dm_conn_rail_of(conn, conn->ia)) /* to a worse one: this one broke */
        dm_retry_lost(conn, conn->ia);
    failover_begin(conn, wanted, ia == conn->ia ? NULL : conn->ia,
                   "the other process has seen it break");
}

void dm_conn_flush_counts(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    struct dm_link *link;
    struct dm_rdmaq *rdmaq;

    conn->ia->counts.n_records += tx->n_posted - tx->n_before;
    *(tx->protocol == DM_RECORD_SEND ? &conn->ia->counts.n_sends : &conn->ia->counts.n_writes) +=
        tx->n_posted - tx->n_before;
    conn->ia->counts.pipe_len += tx->len_sent;
    tx->n_before = tx->n_posted;
    tx->len_sent = 0;
    conn->ia->n_signalled -= (int)tx->sq.n_signalled + conn->links->at[DM_LINK_PIPE].is_due;
    tx->sq.n_signalled = 0;
    tx->sq.done = tx->n_posted + tx->n_extra;
    tx->direct.is_pending = false;
    while (tx->direct.n_refs > 0)
        dm_adapt_unreg(conn->adapt, tx->direct.refs[--tx->direct.n_refs]);
    for (int k = 0; k < DM_RDMAQS; k++) {
        rdmaq = &conn->links->rdmaq[k];
        link = dm_link_of(conn, rdmaq);
        if (rdmaq->ia == NULL)
            continue;
        rdmaq->ia->n_signalled -= rdmaq->rq_used + link->is_due;
        rdmaq->ia->n_probes = 0; /* one connection measures at a time */
        rdmaq->rq_used = 0;
        rdmaq->up_since = 0;
        conn->adapt->ops->rdma_requeue(conn, rdmaq, &conn->links->rdmaq[0]);
    }
    for (int k = 0; k < DM_LINK_N; k++)
        conn->links->at[k].is_due = false;
}

static bool failover_is_all_ended(struct dm_conn *conn)
{
    bool is_so = true;

    pthread_mutex_lock(&conn->adapt->shared.lock);
    for (int k = 0; k < DM_LINK_N; k++)
        is_so =
            is_so && (conn->links->at[k].dropped == DAT_HANDLE_NULL || conn->links->at[k].is_ended);
    pthread_mutex_unlock(&conn->adapt->shared.lock);
    return is_so;
}

/* The old epoch is over: free what belongs to it, and connect to the next rail. */
static void failover_next_epoch(struct dm_conn *conn, uint64_t now)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_link *pipe = &conn->links->at[DM_LINK_PIPE];
    bool is_higher = !conn->who.is_higher;
    struct dm_link *link;

    adapt->ops->drain_all(adapt); /* what has arrived in time counts */
    pthread_mutex_lock(&adapt->shared.lock);
    for (int k = 0; k < DM_LINK_N; k++) {
        link = &conn->links->at[k];
        dm_conn_free_ep(link->conn->adapt, &link->dropped);
        dm_conn_forget_notes(link);
        atomic_fetch_add_explicit(&link->gen, 1, memory_order_relaxed);
        link->state = DM_LINK_IDLE;
        link->is_ended = link->is_active = false;
    }
    dm_lmr_free(&conn->region.lmr);
    conn->rails.current = conn->failover.next_rail;
    pipe->state = DM_LINK_CONNECTING;
    pipe->is_active = true;
    pipe->event = 0;
    pipe->n_tries = 0;
    pipe->deadline = conn->failover.until;
    pipe->next_try = now + (is_higher ? 1 : YIELD_NS);
    pthread_mutex_unlock(&adapt->shared.lock);
    dm_conn_flush_counts(conn);
    dm_conn_count_out(conn);
    DM_TRACE(CONN, "rank %d, epoch %d: %u records here, %u sent", conn->proc, conn->epoch,
             adapt->ops->pipe_arrived(conn), conn->tx.n_posted);
}

/* All rails' causes, and it is lost. */
static void failover_give_up(struct dm_conn *conn, const char *why)
{
    struct dm_adapt *adapt = conn->adapt;
    char text[400];
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, text, sizeof(text));
    dm_strbuf_addf(&sb, "%s: connection lost over %s (%s); not made again: %s",
                   dm_who(adapt, conn->proc).text,
                   conn->failover.broken != NULL ? conn->failover.broken->name : conn->ia->name,
                   conn->failover.cause != NULL ? conn->failover.cause : "it broke", why);
    for (int i = 0; i < conn->rails.n_all; i++)
        dm_strbuf_addf(&sb, "%s %s: %s", i == 0 ? ";" : ",",
                       adapt->rails.ias[conn->rails.pair[i][0]]->name,
                       conn->failover.causes[i] != NULL ? conn->failover.causes[i] : "not tried");
    dm_conn_set_why(conn, "%s", text);
    conn->loss.err = adapt->is_quiet ? DM_EPEER : DM_FAIL(DM_EPEER, "%s", text);
    dm_conn_lose(conn, NULL);
}

/*
 * Is the process gone? Nobody listens on any rail; or on one, which the rest cannot deny, since
 * they have been silent for a while.
 */
static bool failover_is_gone(const struct dm_conn *conn, uint64_t now)
{
    bool is_refused = false;
    bool is_all = true;

    for (int i = 0; i < conn->rails.n_all; i++) {
        is_refused = is_refused || conn->failover.n_refused[i] >= REFUSALS;
        is_all = is_all && conn->failover.n_refused[i] >= REFUSALS;
    }
    return is_all || (is_refused && now - conn->failover.broke_at > DEAD_NS);
}

void dm_move_refused(struct dm_conn *conn, int event, const char *why)
{
    struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    uint64_t now = dm_clock_ns();
    unsigned n = link->n_tries < RETRY_MAX ? link->n_tries : RETRY_MAX;

    if (why != NULL) {
        failover_give_up(conn, why);
        return;
    }
    conn->failover.causes[conn->rails.current] = dm_conn_event_text(event);
    link->next_try = now + (RETRY_NS << n);
    if (event == DAT_CONNECTION_EVENT_PEER_REJECTED) { /* it lives */
        memset(conn->failover.n_refused, 0, sizeof(conn->failover.n_refused));
        conn->failover.broke_at = now;
        if (conn->rails.current < conn->rails.n) /* and knows of this rail */
            link->deadline = failover_limit(conn);
        return;
    }
    if (event == DAT_CONNECTION_EVENT_NON_PEER_REJECTED &&
        conn->failover.n_refused[conn->rails.current] < UINT8_MAX)
        conn->failover.n_refused[conn->rails.current]++;
    if (failover_is_gone(conn, now))
        failover_give_up(conn, "nobody listens, so the process has ended");
    conn->rails.current = (conn->rails.current + 1) % conn->rails.n_all;
}

int dm_move_timer(struct dm_conn *conn, uint64_t now)
{
    struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    struct dm_adapt *adapt = conn->adapt;

    if (dm_link_state(link) == DM_LINK_CLOSING) {
        if (now < conn->failover.close_until && !failover_is_all_ended(conn))
            return 0;
        failover_next_epoch(conn, now);
        return 1;
    }
    if (now > link->deadline) {
        failover_give_up(conn, "DATUM_RECONNECT is over");
        return 1;
    }
    pthread_mutex_lock(&adapt->shared.lock);
    if (link->state == DM_LINK_IDLE) { /* the peer's attempt was accepted and came to nothing */
        link->state = DM_LINK_CONNECTING;
        link->is_active = true;
        link->next_try = now + RETRY_NS;
    }
    pthread_mutex_unlock(&adapt->shared.lock);
    return 0;
}

/* Where it was to go back to, unless that has broken meanwhile. */
static void move_back_done(const struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;

    if (conn->rails.current != conn->failover.next_rail)
        return;
    adapt->n_backs++;
    if (dm_cfg()->explain)
        dm_log_info("connection to %s goes on over %s again", dm_who(adapt, conn->proc).text,
                    conn->ia->name);
}

void dm_move_done(struct dm_conn *conn)
{
    const struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    struct dm_adapt *adapt = conn->adapt;

    dm_conn_set_state(conn, DM_CONN_UP);
    conn->rails.current = dm_conn_rail_of(conn, conn->ia);
    DM_TRACE(CONN, "rank %d, epoch %d: on %s, %u records there", conn->proc, conn->epoch,
             conn->ia->name, link->answer.arrived);
    dm_retry_plan(conn);
    conn->failover.starved_until = 0;
    adapt->poll.is_away |= dm_conn_has_joined(conn);
    if (conn->failover.is_back) {
        conn->failover.is_back = false;
        move_back_done(conn);
    } else if (!adapt->is_quiet && !adapt->has_moved) { /* once is enough */
        adapt->has_moved = true;
        dm_log_warn("connection to %s broke%s%s (%s); it goes on over %s",
                    dm_who(adapt, conn->proc).text, conn->failover.broken != NULL ? " over " : "",
                    conn->failover.broken != NULL ? conn->failover.broken->name : "",
                    conn->failover.cause, conn->ia->name);
    }
}
