/*
 * Where service points listen: the sockets.
 */
#include "providers/tcp/transport/listener.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BACKLOG = 4096, ACCEPTS_MAX = 64 };

#define PAUSE_NS 20000000u /* when there are no descriptors */

static uint16_t listener_port(int fd)
{
    union dm_addr addr;
    socklen_t len = sizeof(addr);

    if (getsockname(fd, &addr.sa, &len) != 0)
        return 0;
    return ntohs(addr.sa.sa_family == AF_INET6 ? addr.in6.sin6_port : addr.in.sin_port);
}

/* Have epoll tell of callers, or not. */
static bool listener_watch(struct dm_tcp_listener *listener, int how, bool is_on)
{
    struct epoll_event event = {.events = is_on ? EPOLLIN : 0, .data.ptr = &listener->source};
    const struct dm_tcp_ia *ia = (const struct dm_tcp_ia *)listener->base.net;

    return epoll_ctl(ia->epoll_fd, how, listener->base.sock, &event) == 0;
}

static bool listener_open(struct dm_tcp_listener *listener, uint16_t port)
{
    struct sockaddr_storage addr = listener->base.net->pia.addr.any;
    struct sockaddr *sa = (struct sockaddr *)&addr;
    int on = 1;
    int fd;

    dm_net_addr_set_port(&addr, port);
    fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    listener->base.sock = fd;
    if (fd < 0)
        return false;
    /* Linux: accepted sockets have the options, too. */
    dm_tcp_set_options((const struct dm_tcp_ia *)listener->base.net, fd);
    dm_net_keep_alive(fd, listener->base.net->timeout_ns);
    dm_tcp_congestion_unpaced(fd, listener->congestion);
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           bind(fd, sa, dm_net_addr_len(sa)) == 0 && listen(fd, BACKLOG) == 0 &&
           listener_watch(listener, EPOLL_CTL_ADD, true);
}

int dm_tcp_listen(struct dm_net_listener *any, uint16_t port)
{
    struct dm_tcp_listener *listener = (struct dm_tcp_listener *)any;
    int err;

    listener->source = DM_SOURCE_LISTENER;
    if (!listener_open(listener, port)) {
        err = errno;
        if (any->sock >= 0)
            close(any->sock);
        return err;
    }
    any->port = listener_port(any->sock);
    return 0;
}

void dm_tcp_unlisten(struct dm_net_listener *listener)
{
    (void)listener_watch((struct dm_tcp_listener *)listener, EPOLL_CTL_DEL, false);
    close(listener->sock);
}

void dm_tcp_listener_accept(struct dm_tcp_listener *listener)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)listener->base.net;
    union dm_addr peer;
    socklen_t len;
    int fd;

    for (int i = 0; i < ACCEPTS_MAX; i++) {
        len = sizeof(peer);
        fd = accept4(listener->base.sock, &peer.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            dm_tcp_congestion_accepted(fd, &peer.sa, listener->congestion);
            dm_tcp_conn_incoming(ia, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* The callers wait in the kernel. */
            if (errno == EMFILE)
                dm_net_cm_no_descriptor(&ia->net);
            listener->resume_at = dm_futex_now() + PAUSE_NS;
            (void)listener_watch(listener, EPOLL_CTL_MOD, false);
            dm_net_timer_at(&ia->net, listener->resume_at);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

uint64_t dm_tcp_listener_timer(struct dm_net_listener *any, uint64_t now)
{
    struct dm_tcp_listener *listener = (struct dm_tcp_listener *)any;

    if (listener->resume_at != 0 && listener->resume_at <= now) {
        listener->resume_at = 0;
        (void)listener_watch(listener, EPOLL_CTL_MOD, true);
    }
    return listener->resume_at != 0 ? listener->resume_at : DM_FUTEX_FOREVER;
}
