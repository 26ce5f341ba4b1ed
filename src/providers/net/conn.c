/*
 * Connections: their beginning, and their timers.
 */
#include "providers/net/conn.h"

#include <stdlib.h>

#include "providers/net/listener.h"

enum { CHECKS = 8, HALF_OPEN_MAX = 1024 };

/* ---- life ---- */

struct dm_net_conn *dm_net_conn_new(struct dm_net *net, enum dm_net_conn_state state)
{
    struct dm_net_conn *conn = calloc(1, net->ops->conn_size);

    if (conn == NULL)
        return NULL;
    conn->net = net;
    conn->state = state;
    conn->sock = -1;
    conn->deadline = DM_FUTEX_FOREVER;
    conn->check_at = DM_FUTEX_FOREVER;
    if (!net->ops->conn_init(conn)) {
        free(conn);
        return NULL;
    }
    dm_list_add_tail(&net->conns, &conn->link);
    net->n_setup++;
    return conn;
}

/* Half-open connections have a time limit, and their number has one: the oldest is closed. */
static void half_open_limit(struct dm_net *net)
{
    struct dm_net_conn *oldest = NULL;
    int n = 0;

    if (net->n_setup < HALF_OPEN_MAX)
        return;
    dm_list_for_each (it, &net->conns) {
        struct dm_net_conn *conn = dm_container_of(it, struct dm_net_conn, link);

        if (conn->state != DM_CONN_HALF_OPEN)
            continue;
        oldest = oldest != NULL ? oldest : conn;
        n++;
    }
    if (n >= HALF_OPEN_MAX)
        dm_net_conn_fail(oldest, 0);
}

struct dm_net_conn *dm_net_conn_half_open(struct dm_net *net)
{
    struct dm_net_conn *conn;

    half_open_limit(net);
    conn = dm_net_conn_new(net, DM_CONN_HALF_OPEN);
    if (conn != NULL)
        dm_net_conn_timer(conn, dm_futex_now() + net->timeout_ns);
    return conn;
}

void dm_net_conn_up(struct dm_net_conn *conn, DAT_COUNT len)
{
    struct dm_net *net = conn->net;
    struct dm_ep *ep = &conn->ep->ep;

    conn->state = DM_CONN_UP;
    conn->was_up = true;
    conn->deadline = DM_FUTEX_FOREVER;
    net->n_setup--;
    atomic_store(&ep->state, DAT_EP_STATE_CONNECTED);
    dm_evd_add_conn(ep->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_EP_HANDLE)ep,
                    ep->private_data, len);
    net->ops->conn_up(conn);
}

/* ---- timers ---- */

void dm_net_conn_timer(struct dm_net_conn *conn, uint64_t deadline)
{
    conn->deadline = deadline;
    dm_net_timer_at(conn->net, deadline);
}

/* Does the network still carry it? It does not when at every look for so long something was on its
 * way and nothing had been received since the look before. */
static void conn_check_alive(struct dm_net_conn *conn, uint64_t now)
{
    uint64_t interval = conn->net->timeout_ns / CHECKS;

    if (conn->check_at > now)
        return;
    conn->check_at = now + interval;
    if (conn->sock < 0 || !dm_net_is_stuck(conn->sock, interval))
        conn->stuck_since = 0;
    else if (conn->stuck_since == 0)
        conn->stuck_since = now;
    else if (now - conn->stuck_since + interval < conn->net->timeout_ns)
        return;
    else if (conn->state < DM_CONN_UP && conn->state != DM_CONN_CR)
        dm_net_cm_timeout(conn); /* it has not been there yet */
    else
        dm_net_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
}

void dm_net_conn_watch(struct dm_net_conn *conn)
{
    struct dm_net *net = conn->net;

    conn->check_at = dm_futex_now() + net->timeout_ns / CHECKS;
    dm_net_timer_at(net, conn->check_at);
}

void dm_net_conn_keepalive_start(struct dm_net_conn *conn)
{
    if (conn->sock < 0)
        return;
    dm_net_keep_alive(conn->sock, conn->net->timeout_ns);
    dm_net_conn_watch(conn);
}

static void conn_run_timer(struct dm_net_conn *conn, uint64_t now)
{
    const struct dm_net_ops *ops = conn->net->ops;

    conn_check_alive(conn, now);
    if (conn->state == DM_CONN_CLOSED || conn->deadline > now)
        return;
    conn->deadline = conn->state == DM_CONN_LINGERING ? conn->end.linger_until : DM_FUTEX_FOREVER;
    if (ops->conn_retry != NULL)
        ops->conn_retry(conn);
    if (conn->state == DM_CONN_LINGERING && now >= conn->end.linger_until)
        dm_net_conn_fail(conn, 0);
    else if (conn->state < DM_CONN_UP)
        dm_net_cm_timeout(conn);
}

void dm_net_conns_timers(struct dm_net *net, uint64_t now)
{
    uint64_t next;

    net->next_timer = DM_FUTEX_FOREVER;
    next = dm_net_listeners_timers(net, now);
    dm_list_for_each_safe (it, after, &net->conns)
        conn_run_timer(dm_container_of(it, struct dm_net_conn, link), now);
    dm_list_for_each (it, &net->conns) {
        const struct dm_net_conn *conn = dm_container_of(it, struct dm_net_conn, link);

        next = dm_net_earlier(next, dm_net_earlier(conn->deadline, conn->check_at));
    }
    net->next_timer = next;
}
