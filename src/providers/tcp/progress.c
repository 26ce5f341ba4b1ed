/*
 * Driving the sockets: what has come, what waits for space, what is due.
 *
 * Asking epoll which socket has something costs as much as looking at one or two. So a round looks
 * at each of a few; of many at the one that had something last, and every so often asks.
 */
#include "providers/tcp/stream.h"

#include <errno.h>
#include <sys/epoll.h>

#include "providers/tcp/transport/listener.h"

enum { FEW = 3, N_EVENTS = 64, ASK_EVERY = 2 };

static int conn_ready(struct dm_tcp_conn *conn, uint32_t events)
{
    socklen_t len = sizeof(int);
    int err = 0;

    if (conn->base.state == DM_CONN_CLOSED || conn->base.sock < 0)
        return 0;
    if (conn->base.state == DM_CONN_CONNECTING) {
        if (getsockopt(conn->base.sock, SOL_SOCKET, SO_ERROR, &err, &len) != 0)
            err = ECONNREFUSED;
        dm_tcp_conn_connected(conn, err);
        return 1;
    }
    if ((events & EPOLLOUT) != 0)
        dm_tcp_out_retry(conn);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || !dm_tcp_in_read(conn))
        return (events & EPOLLOUT) != 0;
    if (conn->base.state == DM_CONN_UP)
        dm_tcp_conn_ia(conn)->hot = conn;
    return 1;
}

/* Ask which sockets have something. */
static int round_epoll(struct dm_tcp_ia *ia)
{
    struct epoll_event events[N_EVENTS];
    int n = epoll_wait(ia->epoll_fd, events, N_EVENTS, 0);
    int n_all = 0;

    for (int i = 0; i < n; i++) {
        enum dm_tcp_source *source = events[i].data.ptr;

        if (*source == DM_SOURCE_LISTENER)
            dm_tcp_listener_accept(dm_container_of(source, struct dm_tcp_listener, source));
        else
            n_all +=
                conn_ready(dm_container_of(source, struct dm_tcp_conn, source), events[i].events);
    }
    return n > 0 ? n_all + 1 : 0;
}

/* Look at those that are up. */
static int round_ups(struct dm_tcp_ia *ia)
{
    int n = 0;

    dm_list_for_each_safe (it, next, &ia->ups)
        n += dm_tcp_in_read(dm_container_of(it, struct dm_tcp_conn, link_up));
    return n;
}

/* Try those again whose socket was full. */
static void round_blocked(struct dm_tcp_ia *ia)
{
    struct dm_list blocked;

    dm_list_init(&blocked);
    while (!dm_list_is_empty(&ia->blocked)) {
        struct dm_list *it = ia->blocked.next;

        dm_list_del(it);
        dm_list_add_tail(&blocked, it);
    }
    while (!dm_list_is_empty(&blocked))
        dm_tcp_out_retry(dm_container_of(blocked.next, struct dm_tcp_conn, link_blocked));
}

int dm_tcp_round(struct dm_net *net, bool is_thorough)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)net;
    bool is_few = ia->n_up <= FEW;
    int n = 0;

    ia->net.is_in_round = true;
    if (!dm_list_is_empty(&ia->blocked))
        round_blocked(ia);
    if (is_few)
        n += round_ups(ia);
    else if (ia->hot != NULL)
        n += dm_tcp_in_read(ia->hot);
    is_thorough |= ia->net.n_setup > 0;
    if (is_thorough || (!is_few && (n == 0 || ++ia->n_rounds % ASK_EVERY == 0)))
        n += round_epoll(ia);
    ia->net.is_in_round = false;
    if (is_thorough && net->next_timer != DM_FUTEX_FOREVER) {
        uint64_t now = dm_futex_now();

        if (now >= net->next_timer)
            dm_net_conns_timers(&ia->net, now);
    }
    dm_net_conns_end(&ia->net);
    if (ia->net.n_redirected > 0)
        dm_net_cm_redirect(&ia->net);
    if (!dm_list_is_empty(&ia->net.waiting))
        dm_net_eps_push(&ia->net);
    return n;
}

/* Who sleeps has to hear of space. */
bool dm_tcp_can_sleep(struct dm_net *net)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)net;

    dm_list_for_each (it, &ia->blocked)
        dm_tcp_conn_arm(dm_container_of(it, struct dm_tcp_conn, link_blocked), true);
    return dm_list_is_empty(&ia->net.waiting) && dm_list_is_empty(&ia->net.ending) &&
           ia->net.n_redirected == 0;
}
