/*
 * Where service points listen: the fabric's passive endpoints.
 */
#include "providers/ofi/transport/listener.h"

#include "providers/ofi/progress.h"

static uint16_t pep_port(struct fid_pep *pep)
{
    union dm_addr addr;
    size_t len = sizeof(addr);

    if (fi_getname(&pep->fid, &addr, &len) != 0)
        return 0;
    return ntohs(addr.sa.sa_family == AF_INET6 ? addr.in6.sin6_port : addr.in.sin_port);
}

static int pep_open(struct dm_ofi_listener *listener, struct fi_info *info)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)listener->base.net;
    int err = fi_passive_ep(ia->fabric.fid, info, &listener->pep, listener);

    if (err != 0)
        return err;
    err = fi_pep_bind(listener->pep, &ia->fabric.eq->fid, 0);
    if (err == 0)
        err = fi_listen(listener->pep);
    if (err != 0)
        fi_close(&listener->pep->fid);
    return err;
}

/* libfabric says EIO when there are no descriptors left. */
int dm_ofi_listen(struct dm_net_listener *any, uint16_t port)
{
    struct dm_ofi_listener *listener = (struct dm_ofi_listener *)any;
    struct fi_info *info = fi_dupinfo(((struct dm_ofi_ia *)any->net)->fabric.info);
    int err;

    if (info == NULL)
        return FI_ENOMEM;
    dm_net_addr_set_port(info->src_addr, port);
    err = pep_open(listener, info);
    if (err == 0)
        any->port = pep_port(listener->pep);
    fi_freeinfo(info);
    return -err;
}

/* fi_close() drops the requests that lie in the queue, and their connectors would wait for ever. */
void dm_ofi_unlisten(struct dm_net_listener *listener)
{
    (void)dm_ofi_read_eq((struct dm_ofi_ia *)listener->net);
    fi_close(&((struct dm_ofi_listener *)listener)->pep->fid);
}

struct dm_ofi_listener *dm_ofi_listener_of(struct dm_ofi_ia *ia, const struct fid *fid)
{
    dm_list_for_each (it, &ia->net.listeners) {
        struct dm_ofi_listener *listener = dm_container_of(it, struct dm_ofi_listener, base.link);

        if (&listener->pep->fid == fid)
            return listener;
    }
    return NULL;
}
