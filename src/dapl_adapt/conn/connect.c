/*
 * Own attempts to connect, with retries, at start or at first use: either end may begin, and both
 * may at once.
 *
 * A link is connected by one of its two ends: at start by the higher rank, on demand
 * by whoever needs it first. The connector speaks first: the other side posts nothing
 * before the first record (pipe) or message (RDMA link) has come, as iWARP demands.
 */
#include "dapl_adapt/conn/connect.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/conn/prepare.h"
#include "dapl_adapt/conn/prod.h"
#include "dapl_adapt/conn/server.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/peer.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/list.h"
#include "util/log.h"
#include "util/port.h"

#define BACKOFF_NS   UINT64_C(500000)
#define BACKOFF_MAX  9 /* doublings */
#define TRIES_A_RAIL 5 /* before the next rail, when there is one */
#define ATTEMPT_PART 4 /* of the time for all attempts: a handshake may be lost on the way */

static int connect_failed(struct dm_link *link, const char *why)
{
    struct dm_conn *conn = link->conn;
    struct dm_adapt *adapt = conn->adapt;
    char name[64] = "any provider";

    dm_list_del(&link->wait);
    if (dm_conn_is_lost(conn))
        return DM_ECONN;
    if (link->kind >= DM_LINK_EXTRA) {
        adapt->ops->rdma_break(link);
        return DM_OK;
    }
    if (link->kind == DM_LINK_RDMA && dm_conn_can_move(conn)) {
        dm_conn_break(conn, "its second connection cannot be made");
        return DM_OK;
    }
    pthread_mutex_lock(&adapt->shared.lock);
    if (conn->ia != NULL)
        snprintf(name, sizeof(name), "%.60s", conn->ia->name);
    pthread_mutex_unlock(&adapt->shared.lock);
    dm_conn_set_why(conn, "%s cannot be connected to over %s (%u tries): %s%s",
                    dm_who(adapt, conn->proc).text, name, link->n_tries, why,
                    dm_addr_is_apart(conn)
                        ? "; it is in another network namespace (a container of its "
                          "own?), where only providers that reach hosts get to"
                        : "");
    conn->loss.err = DM_FAIL(DM_ECONN, "%s", dm_conn_why(conn));
    dm_conn_lose(conn, why);
    return DM_ECONN;
}

static void connect_later(struct dm_link *link)
{
    unsigned n = link->n_tries < BACKOFF_MAX ? link->n_tries : BACKOFF_MAX;

    link->next_try = dm_clock_ns() + (BACKOFF_NS << n);
}

/* The place in `rails` that a link is to be connected over. */
static int connect_rail(const struct dm_link *link)
{
    const struct dm_conn *conn = link->conn;

    if (link->kind == DM_LINK_PIPE)
        return conn->rails.current;
    if (link->kind == DM_LINK_RDMA)
        return dm_conn_rail_of(conn, conn->ia);
    for (int i = 0; i < conn->rails.n_all; i++) {
        if (conn->rails.pair[i][conn->who.is_higher ? 0 : 1] == (int)link->kind - DM_LINK_EXTRA)
            return i;
    }
    return -1;
}

/* For one. When it is over, a fresh endpoint takes its turn; what the peer has made of the old one goes with it. */
static uint64_t connect_attempt_us(const struct dm_link *link)
{
    if (dm_conn_is_moving(link->conn) || link->kind >= DM_LINK_EXTRA)
        return dm_move_attempt_us(link->conn);
    return dm_connect_time_us(link->conn->adapt) / ATTEMPT_PART;
}

/* One attempt. Lock held; the link is in state CONNECTING without an endpoint. */
static int connect_attempt(struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    struct dm_adapt *adapt = conn->adapt;
    const struct dm_addr_rail *theirs = NULL;
    struct sockaddr_in6 addr; /* the largest that providers use, aligned */
    struct dm_conn_private priv;
    uint64_t timeout;
    DAT_RETURN rc;
    int rail = connect_rail(link);
    int err;

    link->next_try = 0;
    link->n_tries++;
    if (rail < 0)
        return DM_FAIL(DM_ECONN, "the processes do not have the same rails");
    err = dm_conn_prepare(conn, link, adapt->rails.ias[conn->rails.pair[rail][0]]);
    if (err != DM_OK)
        return err;
    for (int i = 0; i < conn->addr->n_rails; i++) {
        if (conn->addr->rails[i].index == conn->rails.pair[rail][1])
            theirs = &conn->addr->rails[i];
    }
    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, theirs->addr, theirs->addr_len);
    dm_conn_private_fill(conn, link->kind, DM_PRIVATE_CONNECT, &priv);
    adapt->rails.ias[conn->rails.pair[rail][0]]->counts.n_attempts++;
    timeout = connect_attempt_us(link);
    dm_serial_lock();
    rc = dat_ep_connect(link->ep, (DAT_IA_ADDRESS_PTR)&addr, theirs->qual,
                        timeout < 60000000 ? (DAT_TIMEOUT)timeout : 60000000, sizeof(priv), &priv,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    dm_serial_unlock();
    DM_TRACE(CONN, "connect rank %d link %d rail %d try %u", conn->proc, link->kind, rail,
             link->n_tries);
    if (rc == DAT_SUCCESS)
        return DM_OK;
    dm_conn_free_ep(link->conn->adapt, &link->ep);
    connect_later(link);
    if (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES)
        return DM_OK;
    return DM_FAIL(DM_ECONN, "%s: dat_ep_connect to %s: %s", conn->ia->name,
                   dm_who(adapt, conn->proc).text, dm_dat_text(rc));
}

/* Time for all attempts: one, over a rail beside the pipe's that was lost before and nobody depends on. */
static uint64_t connect_limit_us(struct dm_link *link)
{
    bool was_lost = link->kind >= DM_LINK_EXTRA && dm_rdmaq_of(link)->n_broken > 0 &&
                    link->conn->adapt->n_words == 0;

    return was_lost ? dm_move_attempt_us(link->conn) : dm_connect_time_us(link->conn->adapt);
}

/* Has the peer asked already? Then two attempts need not cross. */
static void connect_look(struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->rails.n_ias; i++)
        (void)dm_conn_serve_now(adapt->rails.ias[i]);
}

int dm_conn_start(struct dm_conn *conn, enum dm_link_kind kind)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_link *link;
    int err = dm_addr_fetch(conn);

    if (err == DM_OK)
        err = dm_conn_want_links(conn);
    if (err != DM_OK)
        return err;
    link = &conn->links->at[kind];
    connect_look(adapt);
    pthread_mutex_lock(&adapt->shared.lock);
    if (link->state != DM_LINK_IDLE || dm_conn_is_moving(conn)) {
        pthread_mutex_unlock(&adapt->shared.lock);
        return DM_OK;
    }
    link->state = DM_LINK_CONNECTING;
    link->is_active = true;
    link->n_tries = 0;
    link->deadline = dm_clock_after(connect_limit_us(link));
    dm_list_del(&link->wait);
    dm_list_add_tail(&adapt->poll.connecting, &link->wait);
    err = connect_attempt(link);
    pthread_mutex_unlock(&adapt->shared.lock);
    if (err != DM_OK && connect_failed(link, dm_err_detail()) == DM_OK)
        err = DM_OK;
    return err;
}

/* What a refusal means. NULL: try again (or wait, when the peer's own attempt counts). */
const char *dm_connect_final_reject(const struct dm_link *link)
{
    const struct dm_conn_private *answer = &link->answer;

    if (link->event != DAT_CONNECTION_EVENT_PEER_REJECTED || answer->magic != DM_PRIVATE_MAGIC)
        return NULL;
    switch (answer->reject) {
    case DM_REJECT_UNKNOWN:
        return "it belongs to another job";
    case DM_REJECT_MISMATCH:
        return "it has another version, DATUM_RING_SLOTS or DATUM_RING_SLOT_SIZE";
    case DM_REJECT_NOMEM:
        return "it could not make its endpoint or ring";
    case DM_REJECT_LOST:
        return "it has lost this connection before";
    case DM_REJECT_PORT:
        return "no such port";
    default:
        return NULL;
    }
}

void dm_connect_rejected(struct dm_link *link, int event, bool has_left, const char *why)
{
    struct dm_conn *conn = link->conn;

    if (event == DAT_CONNECTION_EVENT_PEER_REJECTED && has_left) {
        conn->adapt->ops->part_left(conn);
        return;
    }
    if (link->kind == DM_LINK_PIPE && dm_conn_is_moving(conn)) {
        dm_move_refused(conn, event, why);
        return;
    }
    if (why != NULL) {
        connect_failed(link, why);
        return;
    }
    DM_TRACE(CONN, "rank %d link %d: %s", conn->proc, link->kind, dm_conn_event_text(event));
    if (link->kind == DM_LINK_PIPE && conn->rails.current + 1 < conn->rails.n &&
        event != DAT_CONNECTION_EVENT_PEER_REJECTED &&
        (event == DAT_CONNECTION_EVENT_UNREACHABLE || link->n_tries >= TRIES_A_RAIL)) {
        dm_rails_add_refused(&conn->adapt->rails,
                             conn->adapt->rails.ias[conn->rails.pair[conn->rails.current][0]]->name,
                             dm_conn_event_text(event));
        conn->rails.current++;
        link->n_tries = 0;
    }
    connect_later(link);
}

static bool connect_is_under_way(struct dm_link *link, int *event_p)
{
    bool is_so;

    pthread_mutex_lock(&link->conn->adapt->shared.lock);
    is_so = link->state == DM_LINK_CONNECTING;
    *event_p = link->event;
    pthread_mutex_unlock(&link->conn->adapt->shared.lock);
    return is_so;
}

/* Why it has not come to a connection in time. */
static const char *connect_late_text(const struct dm_link *link, int event)
{
    if (event == DAT_CONNECTION_EVENT_PEER_REJECTED && link->answer.reject == DM_REJECT_NOT_KNOWN)
        return "nobody there has told it of this process";
    return event != 0 ? dm_conn_event_text(event) : "no answer in time";
}

int dm_connect_timer(struct dm_link *link, uint64_t now)
{
    struct dm_adapt *adapt = link->conn->adapt;
    bool is_moving = link->kind == DM_LINK_PIPE && dm_conn_is_moving(link->conn);
    int err = DM_OK;
    int event;
    int n = 0;

    if (dm_link_state(link) == DM_LINK_UP)
        return dm_prod_timer(link, now);
    if (is_moving)
        n = dm_move_timer(link->conn, now);
    if (n > 0 || dm_link_state(link) == DM_LINK_CLOSING)
        return n;
    if (now > link->deadline && connect_is_under_way(link, &event)) {
        connect_failed(link, connect_late_text(link, event));
        return 1;
    }
    if (link->next_try == 0 || now < link->next_try)
        return 0;
    pthread_mutex_lock(&adapt->shared.lock);
    if (link->state == DM_LINK_CONNECTING)
        err = connect_attempt(link);
    else
        link->next_try = 0; /* the peer's attempt was accepted */
    pthread_mutex_unlock(&adapt->shared.lock);
    if (err != DM_OK && is_moving)
        dm_move_refused(link->conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL);
    else if (err != DM_OK)
        connect_failed(link, dm_err_detail());
    return 1;
}

struct dm_conn *dm_adapt_conn(struct dm_adapt *adapt, int proc)
{
    struct dm_conn *conn = dm_conn_find(adapt, proc);

    if (dm_likely(conn != NULL))
        return conn;
    pthread_mutex_lock(&adapt->shared.lock);
    conn = dm_conn_make(adapt, proc);
    pthread_mutex_unlock(&adapt->shared.lock);
    return conn;
}

int dm_adapt_connect(struct dm_conn *conn)
{
    int err;

    if (dm_conn_is_lost(conn))
        return DM_EPEER;
    if (conn->state != DM_CONN_IDLE)
        return DM_OK;
    dm_conn_set_state(conn, DM_CONN_ASKED);
    err = dm_conn_start(conn, DM_LINK_PIPE);
    if (err != DM_OK && !dm_conn_is_lost(conn)) { /* it cannot even begin: no rail, no address */
        dm_log_error("%s", dm_err_detail());      /* all of it; what the callers keep is shorter */
        dm_conn_set_why(conn, "%.*s", (int)strcspn(dm_err_detail(), "\n"), dm_err_detail());
        conn->loss.err = err;
        dm_conn_lose(conn, "it cannot be connected to");
    }
    return err;
}
