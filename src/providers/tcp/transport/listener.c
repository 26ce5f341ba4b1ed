/*
 * Where service points listen: ports, which they share, and names on this host (net/port.c).
 */
#include "providers/tcp/transport/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/tcp/cm.h"
#include "util/log.h"

enum { BACKLOG = 4096, ACCEPTS_MAX = 64 };

#define LINGER_NS 2000000000u /* of ports without a service point */
#define PAUSE_NS  20000000u   /* when there are no descriptors */

static struct dm_tcp_listener *tcp_listener_find(struct dm_tcp_ia *ia, uint16_t port)
{
    dm_list_for_each (it, &ia->listeners) {
        struct dm_tcp_listener *listener = dm_container_of(it, struct dm_tcp_listener, link);

        if (listener->port == port)
            return listener;
    }
    return NULL;
}

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
    struct epoll_event event = {.events = is_on ? EPOLLIN : 0, .data.ptr = listener};

    return epoll_ctl(listener->ia->epoll_fd, how, listener->fd, &event) == 0;
}

static bool listener_open(struct dm_tcp_listener *listener, uint16_t port)
{
    struct sockaddr_storage addr = listener->ia->net.pia.addr.any;
    struct sockaddr *sa = (struct sockaddr *)&addr;
    int on = 1;

    dm_net_addr_set_port(&addr, port);
    listener->fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return listener->fd >= 0 &&
           setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           bind(listener->fd, sa, dm_net_addr_len(sa)) == 0 && listen(listener->fd, BACKLOG) == 0 &&
           listener_watch(listener, EPOLL_CTL_ADD, true);
}

int dm_tcp_listener_new(struct dm_tcp_ia *ia, uint16_t port, struct dm_tcp_listener **listener_p)
{
    struct dm_tcp_listener *listener = calloc(1, sizeof(*listener));
    int err;

    if (listener == NULL)
        return ENOMEM;
    listener->source = DM_SOURCE_LISTENER;
    listener->ia = ia;
    if (!listener_open(listener, port)) {
        err = errno;
        if (listener->fd >= 0)
            close(listener->fd);
        free(listener);
        return err;
    }
    listener->port = listener_port(listener->fd);
    dm_list_add_tail(&ia->listeners, &listener->link);
    *listener_p = listener;
    return 0;
}

void dm_tcp_listener_drop(struct dm_tcp_listener *listener)
{
    if (--listener->n_refs > 0)
        return;
    /* Those who are connecting would never be refused. */
    listener->close_at = dm_futex_now() + LINGER_NS;
    dm_net_timer_at(&listener->ia->net, listener->close_at);
}

void dm_tcp_listener_accept(struct dm_tcp_listener *listener)
{
    struct dm_tcp_ia *ia = listener->ia;
    int fd;

    for (int i = 0; i < ACCEPTS_MAX; i++) {
        fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            dm_tcp_cm_incoming(ia, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* The callers wait in the kernel. */
            listener->resume_at = dm_futex_now() + PAUSE_NS;
            (void)listener_watch(listener, EPOLL_CTL_MOD, false);
            dm_net_timer_at(&ia->net, listener->resume_at);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static void tcp_listener_close(struct dm_tcp_listener *listener)
{
    dm_list_del(&listener->link);
    (void)listener_watch(listener, EPOLL_CTL_DEL, false);
    close(listener->fd);
    free(listener);
}

uint64_t dm_tcp_listeners_timers(struct dm_tcp_ia *ia, uint64_t now)
{
    uint64_t next = DM_FUTEX_FOREVER;

    dm_list_for_each_safe (it, after, &ia->listeners) {
        struct dm_tcp_listener *listener = dm_container_of(it, struct dm_tcp_listener, link);

        if (listener->n_refs == 0 && listener->close_at <= now) {
            tcp_listener_close(listener);
            continue;
        }
        if (listener->resume_at != 0 && listener->resume_at <= now) {
            listener->resume_at = 0;
            (void)listener_watch(listener, EPOLL_CTL_MOD, true);
        }
        if (listener->n_refs == 0)
            next = dm_net_earlier(next, listener->close_at);
        if (listener->resume_at != 0)
            next = dm_net_earlier(next, listener->resume_at);
    }
    return next;
}

/* A port for a qualifier: one of the sequence that connectors go through. CONN_QUAL_IN_USE when all
 * are taken. */
static DAT_RETURN tcp_listener_for_qual(struct dm_tcp_ia *ia, DAT_CONN_QUAL qual,
                                        struct dm_tcp_listener **listener_p)
{
    uint16_t port;
    int err = 0;

    for (uint32_t n = 0; (port = dm_net_qual_port(qual, n)) != 0; n++) {
        *listener_p = tcp_listener_find(ia, port);
        if (*listener_p == NULL)
            err = dm_tcp_listener_new(ia, port, listener_p);
        if (*listener_p != NULL) {
            (*listener_p)->n_refs++;
            return DAT_SUCCESS;
        }
        if (err != EADDRINUSE && err != EACCES)
            return DM_DAT_NOMEM;
    }
    return DM_DAT_BARE(DAT_CONN_QUAL_IN_USE);
}

DAT_RETURN dm_tcp_sp_port_new(struct dm_tcp_ia *ia, DAT_CONN_QUAL qual,
                              struct dm_tcp_listener *listener, struct dm_tcp_sp_port **port_p)
{
    uint64_t until = dm_futex_now() + LINGER_NS + LINGER_NS / 8;
    struct dm_tcp_sp_port *port = calloc(1, sizeof(*port));
    DAT_RETURN ret = DAT_SUCCESS;

    if (port == NULL)
        return DM_DAT_NOMEM;
    port->name_fd = dm_net_qual_name_bind(&ia->net, DM_TCP_NAME, qual);
    if (port->name_fd < 0) {
        ret = port->name_fd == -1 ? DM_DAT_BARE(DAT_CONN_QUAL_IN_USE) : DM_DAT_NOMEM;
        free(port);
        return ret;
    }
    port->listener = listener;
    if (listener == NULL)
        ret = tcp_listener_for_qual(ia, qual, &port->listener);
    /* Another process may have given its ports back a moment ago. */
    while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE && dm_futex_now() < until) {
        dm_net_progress_wait(&ia->net);
        ret = tcp_listener_for_qual(ia, qual, &port->listener);
    }
    if (ret != DAT_SUCCESS) {
        close(port->name_fd);
        free(port);
        return ret;
    }
    *port_p = port;
    return DAT_SUCCESS;
}

void dm_tcp_sp_port_free(struct dm_tcp_sp_port *port)
{
    dm_tcp_listener_drop(port->listener);
    close(port->name_fd);
    free(port);
}
