/*
 * Driving the sockets: what has come, what waits for space, what is due.
 *
 * A round reads the socket that had data last without asking whether there are any, and asks epoll of
 * the others now and then, or each time while data come from several. But who reads a socket in vain
 * has its lock: segments that come meanwhile are handled by the reader and not by who brings them. Of
 * one segment that is cheap; of several it is not, since they are acknowledged at once. So where the
 * two sides take turns with long frames a socket is not read before epoll, which takes no socket's
 * lock, says that there is something. One that only sends is the faster for what the reader does.
 */
#include "providers/tcp/stream.h"

#include <errno.h>
#include <sys/epoll.h>

#include "providers/tcp/transport/listener.h"

/* Reads of one socket that show that data come from no other; rounds without asking, then. */
enum { N_EVENTS = 64, CALM = 8, ASK_EVERY = 16 };

/* Was that all that had been read from the peer? What comes next need not come from there. */
static bool round_is_read_over(const struct dm_tcp_conn *conn)
{
    return conn->in.head.type == DM_TCP_READ_DATA && conn->in.left == 0 && conn->base.ep != NULL &&
           dm_tcp_conn_ep(conn)->n_reads == 0;
}

/* Data have come from it. */
static void round_heat(struct dm_tcp_ia *ia, struct dm_tcp_conn *conn)
{
    if (round_is_read_over(conn)) {
        ia->hot = NULL;
    } else if (ia->hot == conn) {
        ia->n_calm++;
    } else if (conn->base.state == DM_CONN_UP) {
        ia->hot = conn;
        ia->n_calm = 0;
    }
}

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
    round_heat(dm_tcp_conn_ia(conn), conn);
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

/* Look at the socket that had data last, and at the others if it is their turn. */
static int round_sockets(struct dm_tcp_ia *ia, bool is_thorough)
{
    struct dm_tcp_conn *hot = ia->hot;
    bool is_asked = hot == NULL || (ia->n_calm < CALM && hot->in.left == 0) ||
                    (hot->in.head.len > hot->segment && hot->out.has_talked);
    int n = 0;

    if (!is_asked && dm_tcp_in_read(hot)) {
        round_heat(ia, hot);
        n = 1;
    }
    if (is_thorough || is_asked || ++ia->n_rounds % ASK_EVERY == 0)
        n += round_epoll(ia);
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
    int n = 0;

    ia->net.is_in_round = true;
    ia->round++;
    dm_list_for_each_safe (it, next, &ia->held)
        dm_tcp_out_push(dm_container_of(it, struct dm_tcp_conn, link_held));
    if (!dm_list_is_empty(&ia->blocked))
        round_blocked(ia);
    dm_list_for_each_safe (it, next, &ia->late)
        dm_tcp_out_late(dm_container_of(it, struct dm_tcp_conn, link_late), false);
    is_thorough |= ia->net.n_setup > 0;
    if (is_thorough || ia->n_up > 0)
        n = round_sockets(ia, is_thorough);
    ia->was_idle = n == 0;
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

/* Who sleeps has to hear of space, and sends nothing that could go with it. */
bool dm_tcp_can_sleep(struct dm_net *net)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)net;

    while (!dm_list_is_empty(&ia->late))
        dm_tcp_out_late(dm_container_of(ia->late.next, struct dm_tcp_conn, link_late), true);
    dm_list_for_each (it, &ia->blocked)
        dm_tcp_conn_arm(dm_container_of(it, struct dm_tcp_conn, link_blocked), true);
    return dm_list_is_empty(&ia->net.waiting) && dm_list_is_empty(&ia->net.ending) &&
           ia->net.n_redirected == 0;
}
