/*
 * Where service points listen: ports, which they share, and names on this host.
 * 
 * A qualifier below 65536 is that TCP port when it is free; others, and those
 * that are not, are at one of a sequence of ports. Several service points of an
 * instance share a port. On one host (of network namespaces) an abstract name
 * of the address and the qualifier shows that it is taken; it is gone with its
 * process.
 */
#include "providers/ofi/transport/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/ofi/conn.h"
#include "providers/ofi/progress.h"

#define LINGER_NS 2000000000u /* of ports without a service point */

static struct dm_ofi_listener *listener_find(struct dm_ofi_ia *ia, uint16_t port)
{
    dm_list_for_each (it, &ia->listeners) {
        struct dm_ofi_listener *listener = dm_container_of(it, struct dm_ofi_listener, link);

        if (listener->port == port)
            return listener;
    }
    return NULL;
}

static uint16_t pep_port(struct fid_pep *pep)
{
    union dm_addr addr;
    size_t len = sizeof(addr);

    if (fi_getname(&pep->fid, &addr, &len) != 0)
        return 0;
    return ntohs(addr.sa.sa_family == AF_INET6 ? addr.in6.sin6_port : addr.in.sin_port);
}

int dm_ofi_listener_new(struct dm_ofi_ia *ia, uint16_t port, struct dm_ofi_listener **listener_p)
{
    struct dm_ofi_listener *listener = calloc(1, sizeof(*listener));
    struct fi_info *info = fi_dupinfo(ia->fabric.info);
    int err = -FI_ENOMEM;

    if (listener == NULL || info == NULL)
        goto out;
    dm_net_addr_set_port(info->src_addr, port);
    err = fi_passive_ep(ia->fabric.fid, info, &listener->pep, listener);
    if (err != 0)
        goto out;
    listener->ia = ia;
    err = fi_pep_bind(listener->pep, &ia->fabric.eq->fid, 0);
    if (err == 0)
        err = fi_listen(listener->pep);
    if (err != 0) {
        fi_close(&listener->pep->fid);
        goto out;
    }
    listener->port = pep_port(listener->pep);
    dm_list_add_tail(&ia->listeners, &listener->link);
    *listener_p = listener;
    listener = NULL;
out:
    free(listener);
    if (info != NULL)
        fi_freeinfo(info);
    return err;
}

void dm_ofi_listener_drop(struct dm_ofi_listener *listener)
{
    if (--listener->n_refs > 0)
        return;
    /* Those who are connecting would never be refused. */
    listener->close_at = dm_futex_now() + LINGER_NS;
    dm_net_timer_at(&listener->ia->net, listener->close_at);
}

static void listener_close(struct dm_ofi_listener *listener)
{
    dm_list_del(&listener->link);
    fi_close(&listener->pep->fid);
    free(listener);
}

uint64_t dm_ofi_listeners_timers(struct dm_ofi_ia *ia, uint64_t now)
{
    uint64_t next = DM_FUTEX_FOREVER;

    dm_list_for_each_safe (it, after, &ia->listeners) {
        struct dm_ofi_listener *listener = dm_container_of(it, struct dm_ofi_listener, link);

        if (listener->n_refs > 0)
            continue;
        if (listener->close_at <= now)
            listener_close(listener);
        else if (listener->close_at < next)
            next = listener->close_at;
    }
    return next;
}

/*
 * A port for a qualifier: one of the sequence that connectors go through. CONN_QUAL_IN_USE when all
 * are taken.
 */
static DAT_RETURN listener_for_qual(struct dm_ofi_ia *ia, DAT_CONN_QUAL qual,
                                    struct dm_ofi_listener **listener_p)
{
    uint16_t port;
    int err = 0;

    for (uint32_t n = 0; (port = dm_net_qual_port(qual, n)) != 0; n++) {
        *listener_p = listener_find(ia, port);
        if (*listener_p == NULL)
            err = dm_ofi_listener_new(ia, port, listener_p);
        if (*listener_p != NULL) {
            (*listener_p)->n_refs++;
            return DAT_SUCCESS;
        }
        /* libfabric says EIO when there are no descriptors left */
        if (err != -FI_EADDRINUSE && err != -FI_EACCES)
            return DM_DAT_NOMEM;
    }
    return DM_DAT_BARE(DAT_CONN_QUAL_IN_USE);
}

DAT_RETURN dm_ofi_sp_port_new(struct dm_ofi_ia *ia, DAT_CONN_QUAL qual,
                              struct dm_ofi_listener *listener, struct dm_ofi_sp_port **port_p)
{
    uint64_t until = dm_futex_now() + LINGER_NS + LINGER_NS / 8;
    struct dm_ofi_sp_port *port = calloc(1, sizeof(*port));
    DAT_RETURN ret = DAT_SUCCESS;

    if (port == NULL)
        return DM_DAT_NOMEM;
    port->name_fd = dm_net_qual_name_bind(&ia->net, DM_OFI_NAME, qual);
    if (port->name_fd < 0) {
        ret = port->name_fd == -1 ? DM_DAT_BARE(DAT_CONN_QUAL_IN_USE) : DM_DAT_NOMEM;
        free(port);
        return ret;
    }
    port->listener = listener;
    if (listener == NULL)
        ret = listener_for_qual(ia, qual, &port->listener);
    /* Another process may have given its ports back a moment ago. */
    while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE && dm_futex_now() < until) {
        dm_net_progress_wait(&ia->net);
        ret = listener_for_qual(ia, qual, &port->listener);
    }
    if (ret != DAT_SUCCESS) {
        close(port->name_fd);
        free(port);
        return ret;
    }
    *port_p = port;
    return DAT_SUCCESS;
}

void dm_ofi_sp_port_free(struct dm_ofi_sp_port *port)
{
    dm_ofi_listener_drop(port->listener);
    close(port->name_fd);
    free(port);
}

void dm_ofi_sp_close_fd(const struct dm_sp *sp)
{
    const struct dm_ofi_sp_port *port = sp->listener;

    close(port->name_fd);
}

struct dm_ofi_listener *dm_ofi_listener_of(struct dm_ofi_ia *ia, const struct fid *fid)
{
    dm_list_for_each (it, &ia->listeners) {
        struct dm_ofi_listener *listener = dm_container_of(it, struct dm_ofi_listener, link);

        if (&listener->pep->fid == fid)
            return listener;
    }
    return NULL;
}
