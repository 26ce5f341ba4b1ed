/*
 * Connections: the socket, its timers, and the end.
 *
 * A connection that is over is put on ia->ending, and closed after the round: then the endpoint
 * flushes what is left, and the consumer gets the one event that ends it.
 */
#include "providers/tcp/conn.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "providers/tcp/cm.h"
#include "providers/tcp/recv.h"
#include "providers/tcp/transport/listener.h"

enum { CHECKS = 8 };

#define LINGER_NS    2000000000u /* for the peer to close */
#define CLOSE_ALL_NS 500000000u

/* ---- life ---- */

struct dm_tcp_conn *dm_tcp_conn_new(struct dm_tcp_ia *ia, enum dm_tcp_conn_state state)
{
    struct dm_tcp_conn *conn = calloc(1, sizeof(*conn));

    if (conn == NULL)
        return NULL;
    conn->in.greeting = calloc(1, sizeof(*conn->in.greeting));
    if (conn->in.greeting == NULL) {
        free(conn);
        return NULL;
    }
    conn->source = DM_SOURCE_CONN;
    conn->ia = ia;
    conn->state = state;
    conn->fd = -1;
    conn->deadline = DM_FUTEX_FOREVER;
    conn->check_at = DM_FUTEX_FOREVER;
    /* So that no stream of another connection, or one that has lost its place, passes for ours. */
    if (getrandom(&conn->own_tag, sizeof(conn->own_tag), 0) != (ssize_t)sizeof(conn->own_tag))
        conn->own_tag = (uint16_t)(dm_futex_now() >> 4);
    dm_list_init(&conn->out.answers);
    dm_list_add_tail(&ia->conns, &conn->link);
    ia->n_setup++;
    return conn;
}

/* Its options; a socket works without them. */
static void conn_set_options(const struct dm_tcp_conn *conn)
{
    int buffer = (int)conn->ia->buffer;
    int on = 1;

    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (buffer > 0) {
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
        (void)setsockopt(conn->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    }
}

/* From the interface that the instance is on. */
static bool conn_bind(const struct dm_tcp_conn *conn)
{
    struct sockaddr_storage own = conn->ia->net.pia.addr.any;
    int on = 1;

    dm_net_addr_set_port(&own, 0);
    (void)setsockopt(conn->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    return bind(conn->fd, (struct sockaddr *)&own, dm_net_addr_len((struct sockaddr *)&own)) == 0;
}

bool dm_tcp_conn_open(struct dm_tcp_conn *conn, int fd)
{
    struct dm_tcp_ia *ia = conn->ia;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    bool is_active = fd < 0;

    if (is_active)
        fd = socket(ia->net.pia.addr.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    conn->fd = fd;
    if (fd < 0)
        return false;
    conn_set_options(conn);
    if (is_active)
        event.events |= EPOLLOUT; /* connected, or not */
    conn->out.is_armed = is_active;
    if ((!is_active || conn_bind(conn)) && epoll_ctl(ia->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return true;
    dm_tcp_conn_close_fd(conn);
    return false;
}

void dm_tcp_conn_close_fd(struct dm_tcp_conn *conn)
{
    int err = errno;

    if (conn->fd >= 0) {
        /* Closing is not enough: a child that is being forked has it, too. */
        (void)epoll_ctl(conn->ia->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
        close(conn->fd);
    }
    conn->fd = -1;
    conn->is_broken = false;
    conn->check_at = DM_FUTEX_FOREVER;
    conn->in.n_part = 0;
    dm_tcp_out_drop(conn);
    errno = err;
}

void dm_tcp_conn_arm(struct dm_tcp_conn *conn, bool is_out)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};

    if (conn->out.is_armed == is_out)
        return;
    if (is_out)
        event.events |= EPOLLOUT;
    conn->out.is_armed = is_out;
    (void)epoll_ctl(conn->ia->epoll_fd, EPOLL_CTL_MOD, conn->fd, &event);
}

void dm_tcp_conn_timer(struct dm_tcp_conn *conn, uint64_t deadline)
{
    conn->deadline = deadline;
    dm_net_timer_at(&conn->ia->net, deadline);
}

void dm_tcp_conn_peer_set(struct dm_tcp_conn *conn, const struct dm_tcp_handshake *handshake)
{
    conn->peer_tag = handshake->tag;
    conn->credits.is_peer_shared = handshake->is_shared != 0;
    conn->credits.n_peer_recvs = handshake->n_recvs;
}

void dm_tcp_conn_up(struct dm_tcp_conn *conn, DAT_COUNT len)
{
    struct dm_tcp_ia *ia = conn->ia;
    struct dm_tcp_ep *ep = conn->ep;

    dm_tcp_in_frames(conn);
    conn->state = DM_CONN_UP;
    conn->was_up = true;
    conn->deadline = DM_FUTEX_FOREVER;
    dm_list_add_tail(&ia->ups, &conn->link_up);
    ia->n_up++;
    ia->n_setup--;
    atomic_store(&ep->ep.state, DAT_EP_STATE_CONNECTED);
    dm_evd_add_conn(ep->ep.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_EP_HANDLE)ep,
                    ep->ep.private_data, len);
    dm_tcp_out_credit(conn);
    dm_tcp_out_push(conn);
}

/* ---- the end ---- */

/* It leaves the state in which most of its life passes. */
static void conn_down(struct dm_tcp_conn *conn)
{
    struct dm_tcp_ia *ia = conn->ia;

    if (conn->state != DM_CONN_UP)
        return;
    dm_list_del(&conn->link_up);
    ia->n_up--;
    ia->n_setup++;
    if (ia->hot == conn)
        ia->hot = NULL;
}

void dm_tcp_conn_fail(struct dm_tcp_conn *conn, DAT_EVENT_NUMBER event)
{
    struct dm_tcp_ia *ia = conn->ia;

    if (conn->state == DM_CONN_CLOSED)
        return;
    conn_down(conn);
    if (conn->state != DM_CONN_LINGERING) /* else the event is known */
        conn->end.event = event;
    conn->state = DM_CONN_CLOSED;
    if (conn->ep != NULL && atomic_load(&conn->ep->ep.state) == DAT_EP_STATE_CONNECTED)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    dm_list_del(&conn->link);
    dm_list_add_tail(&ia->ending, &conn->link);
    if (!ia->is_in_round)
        dm_net_kick(&ia->net.pia);
}

/* Wait for the peer to close, for a while. last: a frame to be sent; NULL: it has been answered. */
static void tcp_conn_close_begin(struct dm_tcp_conn *conn, const struct dm_tcp_head *last,
                                 DAT_EVENT_NUMBER event)
{
    if (conn->state >= DM_CONN_LINGERING)
        return;
    conn_down(conn);
    conn->end.event = event;
    conn->state = DM_CONN_LINGERING;
    if (conn->ep != NULL)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    if (last == NULL || !conn->was_up) {
        conn->in.phase = DM_IN_DISCARD;
    } else {
        conn->out.last = *last;
        conn->out.is_last_due = true;
    }
    dm_tcp_conn_timer(conn, dm_futex_now() + LINGER_NS);
    dm_tcp_out_push(conn);
}

void dm_tcp_conn_terminate(struct dm_tcp_conn *conn, DAT_EVENT_NUMBER event, enum dm_tcp_nak nak)
{
    const struct dm_tcp_head last = {.type = DM_TCP_TERMINATE, .value = nak};

    tcp_conn_close_begin(conn, &last, event);
}

void dm_tcp_conn_nak(struct dm_tcp_conn *conn, enum dm_tcp_nak nak)
{
    conn->in.phase = DM_IN_DISCARD;
    conn->in.left = 0;
    if (conn->state != DM_CONN_UP)
        return;
    conn->end.is_nak_sent = true;
    dm_evd_add_async(conn->ia->net.pia.async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)conn->ep,
                     DAT_EP_TRANSFER_TO_ERROR);
    dm_tcp_conn_terminate(conn, DAT_CONNECTION_EVENT_DISCONNECTED, nak);
}

void dm_tcp_conn_disconnect(struct dm_tcp_conn *conn, DAT_EVENT_NUMBER event)
{
    const struct dm_tcp_head last = {.type = DM_TCP_DISCONNECT};

    if (conn->state == DM_CONN_ACCEPTED) /* no frames yet: what the other side sees is the end */
        tcp_conn_close_begin(conn, NULL, event);
    else
        tcp_conn_close_begin(conn, &last, event);
}

void dm_tcp_conn_linger(struct dm_tcp_conn *conn)
{
    tcp_conn_close_begin(conn, NULL, 0);
}

void dm_tcp_conns_disconnect(struct dm_tcp_ia *ia)
{
    uint64_t until = dm_futex_now() + CLOSE_ALL_NS;
    bool is_any = true;

    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_tcp_conn *conn = dm_container_of(it, struct dm_tcp_conn, link);

        if (conn->ep != NULL && (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED))
            dm_tcp_conn_disconnect(conn, 0);
    }
    while (is_any && dm_futex_now() < until) {
        is_any = false;
        dm_net_progress_wait(&ia->net);
        dm_list_for_each (it, &ia->conns)
            is_any |= dm_container_of(it, struct dm_tcp_conn, link)->state == DM_CONN_LINGERING;
    }
}

/* What the consumer is told. */
static void conn_report(struct dm_tcp_conn *conn, struct dm_tcp_ep *ep)
{
    if ((conn->end.is_peer_terminated && !conn->end.is_nak_received) ||
        (ep->ep.srq != NULL && conn->end.event != 0 && conn->was_up && !conn->end.is_nak_sent))
        dm_evd_add_async(conn->ia->net.pia.async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                         DAT_EP_TRANSFER_TO_ERROR); /* else it has been reported */
    if (conn->end.event != 0)
        dm_evd_add_conn(ep->ep.connect_evd, conn->end.event, (DAT_EP_HANDLE)ep, ep->ep.private_data,
                        conn->end.event_len);
}

/* The socket is closed. */
static void tcp_conn_finish(struct dm_tcp_conn *conn)
{
    struct dm_tcp_ep *ep = conn->ep;
    struct dm_tcp_op *op = conn->in.op;

    dm_cr_lost(&conn->cr);
    if (ep != NULL) {
        ep->conn = NULL;
        conn->ep = NULL;
        ep->ep.is_draining = false;
        atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECTED);
        if (op != NULL)
            dm_list_add_head(&ep->recvs, &op->link);
        dm_tcp_ep_flush(ep);
        conn_report(conn, ep);
    }
    conn->ia->n_setup--;
    free(conn->in.greeting);
    free(conn->active.request);
    free(conn);
}

void dm_tcp_conns_end(struct dm_tcp_ia *ia)
{
    if (ia->is_in_round)
        return;
    while (!dm_list_is_empty(&ia->ending)) {
        struct dm_tcp_conn *conn = dm_container_of(ia->ending.next, struct dm_tcp_conn, link);

        dm_tcp_conn_close_fd(conn);
        dm_list_del(&conn->link);
        tcp_conn_finish(conn);
    }
}

void dm_tcp_conns_close(struct dm_tcp_ia *ia)
{
    while (!dm_list_is_empty(&ia->conns))
        dm_tcp_conn_fail(dm_container_of(ia->conns.next, struct dm_tcp_conn, link), 0);
    dm_tcp_conns_end(ia);
    (void)dm_tcp_listeners_timers(ia, DM_FUTEX_FOREVER);
}

/* ---- timers ---- */

/* Does the network still carry it? It does not when at every look for so long something was on its
 * way and nothing had been received since the look before. */
static void tcp_conn_check_alive(struct dm_tcp_conn *conn, uint64_t now)
{
    uint64_t interval = conn->ia->net.timeout_ns / CHECKS;

    if (conn->check_at > now)
        return;
    conn->check_at = now + interval;
    if (!dm_net_is_stuck(conn->fd, interval))
        conn->stuck_since = 0;
    else if (conn->stuck_since == 0)
        conn->stuck_since = now;
    else if (now - conn->stuck_since + interval < conn->ia->net.timeout_ns)
        return;
    else if (conn->state < DM_CONN_UP && conn->state != DM_CONN_CR)
        dm_tcp_cm_timeout(conn); /* it has not been there yet */
    else
        dm_tcp_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
}

void dm_tcp_conn_keepalive_start(struct dm_tcp_conn *conn)
{
    struct dm_tcp_ia *ia = conn->ia;

    dm_net_keep_alive(conn->fd, ia->net.timeout_ns);
    conn->check_at = dm_futex_now() + ia->net.timeout_ns / CHECKS;
    dm_net_timer_at(&ia->net, conn->check_at);
}

static void tcp_conn_run_timer(struct dm_tcp_conn *conn, uint64_t now)
{
    tcp_conn_check_alive(conn, now);
    if (conn->state == DM_CONN_CLOSED || conn->deadline > now)
        return;
    conn->deadline = DM_FUTEX_FOREVER;
    if (conn->state == DM_CONN_LINGERING)
        dm_tcp_conn_fail(conn, 0);
    else if (conn->state < DM_CONN_UP)
        dm_tcp_cm_timeout(conn);
}

void dm_tcp_conns_timers(struct dm_tcp_ia *ia, uint64_t now)
{
    uint64_t next;

    ia->net.next_timer = DM_FUTEX_FOREVER;
    next = dm_tcp_listeners_timers(ia, now);
    dm_list_for_each_safe (it, after, &ia->conns)
        tcp_conn_run_timer(dm_container_of(it, struct dm_tcp_conn, link), now);
    dm_list_for_each (it, &ia->conns) {
        struct dm_tcp_conn *conn = dm_container_of(it, struct dm_tcp_conn, link);

        next = conn->deadline < next ? conn->deadline : next;
        next = conn->check_at < next ? conn->check_at : next;
    }
    ia->net.next_timer = next;
}
