/*
 * Driving the sockets: what has come, what waits for space, what is due.
 *
 * Asking epoll which socket has something costs as much as looking at one or two. So a round looks
 * at each of a few; of many at the one that had something last, and every so often asks.
 */
#include "providers/tcp/progress.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/tcp/cm.h"
#include "providers/tcp/key.h"
#include "providers/tcp/transport/listener.h"

enum { FEW = 3, N_EVENTS = 64, ASK_EVERY = 2 };

static int conn_ready(struct dm_tcp_conn *conn, uint32_t events)
{
    socklen_t len = sizeof(int);
    int err = 0;

    if (conn->state == DM_CONN_CLOSED || conn->fd < 0)
        return 0;
    if (conn->state == DM_CONN_CONNECTING) {
        if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0)
            err = ECONNREFUSED;
        dm_tcp_cm_connected(conn, err);
        return 1;
    }
    if ((events & EPOLLOUT) != 0)
        dm_tcp_out_retry(conn);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || !dm_tcp_in_read(conn))
        return (events & EPOLLOUT) != 0;
    if (conn->state == DM_CONN_UP)
        conn->ia->hot = conn;
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
            dm_tcp_listener_accept(events[i].data.ptr);
        else
            n_all += conn_ready(events[i].data.ptr, events[i].events);
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

static int tcp_round(struct dm_net *net, bool is_thorough)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)net;
    bool is_few = ia->n_up <= FEW;
    int n = 0;

    ia->is_in_round = true;
    if (!dm_list_is_empty(&ia->blocked))
        round_blocked(ia);
    if (is_few)
        n += round_ups(ia);
    else if (ia->hot != NULL)
        n += dm_tcp_in_read(ia->hot);
    is_thorough |= ia->n_setup > 0;
    if (is_thorough || (!is_few && (n == 0 || ++ia->n_rounds % ASK_EVERY == 0)))
        n += round_epoll(ia);
    ia->is_in_round = false;
    if (is_thorough && net->next_timer != DM_FUTEX_FOREVER) {
        uint64_t now = dm_futex_now();

        if (now >= net->next_timer)
            dm_tcp_conns_timers(ia, now);
    }
    dm_tcp_conns_end(ia);
    if (ia->n_redirected > 0)
        dm_tcp_cm_redirect(ia);
    if (!dm_list_is_empty(&ia->waiting))
        dm_tcp_ep_push_all(ia);
    return n;
}

/* Who sleeps has to hear of space. */
static bool tcp_can_sleep(struct dm_net *net)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)net;

    dm_list_for_each (it, &ia->blocked)
        dm_tcp_conn_arm(dm_container_of(it, struct dm_tcp_conn, link_blocked), true);
    return dm_list_is_empty(&ia->waiting) && dm_list_is_empty(&ia->ending) && ia->n_redirected == 0;
}

static void tcp_fork_child(struct dm_net *net)
{
    static const DAT_HANDLE_TYPE types[] = {DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP};
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)net;

    dm_list_for_each (it, &ia->conns)
        close(dm_container_of(it, struct dm_tcp_conn, link)->fd);
    dm_list_for_each (it, &ia->ending)
        close(dm_container_of(it, struct dm_tcp_conn, link)->fd);
    dm_list_for_each (it, &ia->listeners)
        close(dm_container_of(it, struct dm_tcp_listener, link)->fd);
    for (int i = 0; i < 2; i++) {
        dm_list_for_each (it, &net->pia.objs[types[i]]) {
            const struct dm_sp *sp = dm_container_of(it, struct dm_sp, obj.link);

            close(((const struct dm_tcp_sp_port *)sp->listener)->name_fd);
        }
    }
}

const struct dm_net_ops *dm_tcp_net_ops_get(void)
{
    static const struct dm_net_ops ops = {.round = tcp_round,
                                          .can_sleep = tcp_can_sleep,
                                          .fork_child = tcp_fork_child,
                                          .region_is_left = dm_tcp_key_is_left,
                                          .window_is_left = dm_tcp_key_is_left};

    return &ops;
}
