/*
 * Where service points listen: ports, which they share, and names on this host (port.c).
 *
 * A qualifier below 65536 is that TCP port when it is free; others, and those that are not, are at
 * one of a sequence of ports.
 */
#include "providers/net/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define LINGER_NS 2000000000u /* of ports without a service point */

static struct dm_net_listener *net_listener_find(struct dm_net *net, uint16_t port)
{
    dm_list_for_each (it, &net->listeners) {
        struct dm_net_listener *listener = dm_container_of(it, struct dm_net_listener, link);

        if (listener->port == port)
            return listener;
    }
    return NULL;
}

int dm_net_listener_new(struct dm_net *net, uint16_t port, struct dm_net_listener **listener_p)
{
    struct dm_net_listener *listener = calloc(1, net->ops->listener_size);
    int err;

    if (listener == NULL)
        return ENOMEM;
    listener->net = net;
    listener->sock = -1;
    err = net->ops->listen(listener, port);
    if (err != 0) {
        free(listener);
        return err;
    }
    dm_list_add_tail(&net->listeners, &listener->link);
    *listener_p = listener;
    return 0;
}

void dm_net_listener_drop(struct dm_net_listener *listener)
{
    if (--listener->n_refs > 0)
        return;
    /* Those who are connecting would never be refused. */
    listener->close_at = dm_futex_now() + LINGER_NS;
    dm_net_timer_at(listener->net, listener->close_at);
}

static void net_listener_close(struct dm_net_listener *listener)
{
    dm_list_del(&listener->link);
    listener->net->ops->unlisten(listener);
    free(listener);
}

uint64_t dm_net_listeners_timers(struct dm_net *net, uint64_t now)
{
    uint64_t next = DM_FUTEX_FOREVER;

    dm_list_for_each_safe (it, after, &net->listeners) {
        struct dm_net_listener *listener = dm_container_of(it, struct dm_net_listener, link);

        if (listener->n_refs == 0 && listener->close_at <= now) {
            net_listener_close(listener);
            continue;
        }
        if (listener->n_refs == 0)
            next = dm_net_earlier(next, listener->close_at);
        if (net->ops->listener_timer != NULL)
            next = dm_net_earlier(next, net->ops->listener_timer(listener, now));
    }
    return next;
}

/* A port for a qualifier: one of the sequence that connectors go through. CONN_QUAL_IN_USE when all
 * are taken. */
static DAT_RETURN net_listener_for_qual(struct dm_net *net, DAT_CONN_QUAL qual,
                                        struct dm_net_listener **listener_p)
{
    uint16_t port;
    int err = 0;

    for (uint32_t n = 0; (port = dm_net_qual_port(qual, n)) != 0; n++) {
        *listener_p = net_listener_find(net, port);
        if (*listener_p == NULL)
            err = dm_net_listener_new(net, port, listener_p);
        if (*listener_p != NULL) {
            (*listener_p)->n_refs++;
            return DAT_SUCCESS;
        }
        if (err != EADDRINUSE && err != EACCES)
            return DM_DAT_NOMEM;
    }
    return DM_DAT_BARE(DAT_CONN_QUAL_IN_USE);
}

DAT_RETURN dm_net_sp_port_new(struct dm_net *net, DAT_CONN_QUAL qual,
                              struct dm_net_listener *listener, struct dm_net_sp_port **port_p)
{
    uint64_t until = dm_futex_now() + LINGER_NS + LINGER_NS / 8;
    struct dm_net_sp_port *port = calloc(1, sizeof(*port));
    DAT_RETURN ret = DAT_SUCCESS;

    if (port == NULL)
        return DM_DAT_NOMEM;
    port->name_fd = dm_net_qual_name_bind(net, net->ops->name, qual);
    if (port->name_fd < 0) {
        ret = port->name_fd == -1 ? DM_DAT_BARE(DAT_CONN_QUAL_IN_USE) : DM_DAT_NOMEM;
        free(port);
        return ret;
    }
    port->listener = listener;
    if (listener == NULL)
        ret = net_listener_for_qual(net, qual, &port->listener);
    /* Another process may have given its ports back a moment ago. */
    while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE && dm_futex_now() < until) {
        dm_net_progress_wait(net);
        ret = net_listener_for_qual(net, qual, &port->listener);
    }
    if (ret != DAT_SUCCESS) {
        close(port->name_fd);
        free(port);
        return ret;
    }
    *port_p = port;
    return DAT_SUCCESS;
}

void dm_net_sp_port_free(struct dm_net_sp_port *port)
{
    dm_net_listener_drop(port->listener);
    close(port->name_fd);
    free(port);
}
