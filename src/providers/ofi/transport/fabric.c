/*
 * The fabric of one instance: fabric, domain, one queue of completions, one of
 * connection events.
 */
#include "providers/ofi/transport/fabric.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/ia.h"
#include "util/log.h"

enum { CQ_SIZE = 8192, EQ_SIZE = 4096 };

static struct fi_info *fabric_hints(const struct dm_ofi_ia *ia)
{
    struct fi_info *hints = fi_allocinfo();
    size_t len = dm_net_addr_len(&ia->net.pia.addr.sa);

    if (hints == NULL)
        return NULL;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->addr_format =
        ia->net.pia.addr.sa.sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED;
    hints->fabric_attr->prov_name = strdup(ia->fabric.prov);
    hints->src_addr = malloc(len);
    if (hints->fabric_attr->prov_name == NULL || hints->src_addr == NULL) {
        fi_freeinfo(hints);
        return NULL;
    }
    memcpy(hints->src_addr, &ia->net.pia.addr, len);
    hints->src_addrlen = len;
    return hints;
}

static int fabric_open_queues(struct dm_ofi_ia *ia)
{
    struct fi_eq_attr eq_attr = {.size = EQ_SIZE, .wait_obj = FI_WAIT_FD};
    struct fi_cq_attr cq_attr = {
        .size = CQ_SIZE, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    int err = fi_eq_open(ia->fabric.fid, &eq_attr, &ia->fabric.eq, NULL);

    if (err == 0)
        err = fi_cq_open(ia->fabric.domain, &cq_attr, &ia->fabric.cq, NULL);
    if (err == 0)
        err = fi_control(&ia->fabric.cq->fid, FI_GETWAIT, &ia->fabric.cq_fd);
    if (err == 0)
        err = fi_control(&ia->fabric.eq->fid, FI_GETWAIT, &ia->fabric.eq_fd);
    return err;
}

DAT_RETURN dm_ofi_fabric_open(struct dm_ofi_ia *ia)
{
    struct fi_info *hints = fabric_hints(ia);
    int err;

    if (hints == NULL)
        return DM_DAT_NOMEM;
    dm_ofi_load(ia->fabric.prov);
    err = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &ia->fabric.info);
    fi_freeinfo(hints);
    if (err != 0) {
        if (dm_log_is_new(ia->net.pia.obj.provider->device_name, fi_strerror(-err)))
            dm_log_error(
                "%s: libfabric has no provider \"%s\" with connected endpoints on interface "
                "%s: %s; \"fi_info -t FI_EP_MSG\" lists what there is",
                ia->net.pia.obj.provider->device_name, ia->fabric.prov, ia->net.iface,
                fi_strerror(-err));
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
    }
    ia->fabric.is_split = strcmp(ia->fabric.prov, "tcp") == 0;
    /* Addresses of remote memory are those of its owner. */
    ia->fabric.info->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
    err = fi_fabric(ia->fabric.info->fabric_attr, &ia->fabric.fid, NULL);
    if (err == 0)
        err = fi_domain(ia->fabric.fid, ia->fabric.info, &ia->fabric.domain, NULL);
    if (err == 0)
        err = fabric_open_queues(ia);
    if (err == 0)
        return DAT_SUCCESS;
    if (dm_log_is_new(ia->net.pia.obj.provider->device_name, fi_strerror(-err)))
        dm_log_error("%s: interface %s cannot be opened: %s", ia->net.pia.obj.provider->device_name,
                     ia->net.iface, fi_strerror(-err));
    dm_ofi_fabric_close(ia);
    return DM_DAT_NOMEM;
}

void dm_ofi_fabric_close(struct dm_ofi_ia *ia)
{
    if (ia->fabric.cq != NULL)
        fi_close(&ia->fabric.cq->fid);
    if (ia->fabric.domain != NULL)
        fi_close(&ia->fabric.domain->fid);
    if (ia->fabric.eq != NULL)
        fi_close(&ia->fabric.eq->fid);
    if (ia->fabric.fid != NULL)
        fi_close(&ia->fabric.fid->fid);
    if (ia->fabric.info != NULL)
        fi_freeinfo(ia->fabric.info);
    ia->fabric.cq = NULL;
    ia->fabric.domain = NULL;
    ia->fabric.eq = NULL;
    ia->fabric.fid = NULL;
    ia->fabric.info = NULL;
}
