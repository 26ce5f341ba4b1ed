/*
 * Instances of providers over networks: ia_params, the interface, attributes.
 */
#include "providers/net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/net/conn.h"
#include "providers/net/op.h"
#include "util/err.h"

enum { TIMEOUT_S = 20 };

#define NS_PER_S 1000000000u

/*
 * Fresh pages stay untouched: most events of a ring are never used. What calloc gave stands before
 * the memory.
 */
void *dm_net_mem_alloc(struct dm_pia *pia, size_t len)
{
    void *raw = calloc(1, len + (size_t)2 * DM_CACHE_LINE);
    uintptr_t mem;

    (void)pia;
    if (raw == NULL)
        return NULL;
    mem = ((uintptr_t)raw / DM_CACHE_LINE + 2) * DM_CACHE_LINE;
    ((void **)mem)[-1] = raw;
    return (void *)mem;
}

void dm_net_mem_free(struct dm_pia *pia, void *mem)
{
    (void)pia;
    if (mem != NULL)
        free(((void **)mem)[-1]);
}

static bool net_read_mode(struct dm_net *net, const char *name, const char *params)
{
    char text[16] = "auto";

    (void)dm_prov_param(params, "progress", text, sizeof(text));
    if (strcmp(text, "auto") == 0) {
        net->mode = DM_NET_AUTO;
    } else if (strcmp(text, "manual") == 0) {
        net->mode = DM_NET_MANUAL;
    } else if (strcmp(text, "thread") == 0) {
        net->mode = DM_NET_THREAD;
    } else {
        dm_prov_param_bad(name, params, "progress", "auto, manual or thread");
        return false;
    }
    return true;
}

/* False, and reported, if ia_params asks for something that does not exist. */
static bool net_read_params(struct dm_net *net, const char *params, char *want, int *family_p)
{
    const char *name = net->pia.obj.provider->device_name;
    char text[16] = "any";

    want[0] = '\0';
    (void)dm_prov_param(params, "if", want, DM_NET_WANT_LEN);
    if (!net_read_mode(net, name, params))
        return false;
    (void)dm_prov_param(params, "family", text, sizeof(text));
    if (strcmp(text, "any") == 0) {
        *family_p = AF_UNSPEC;
    } else if (strcmp(text, "4") == 0) {
        *family_p = AF_INET;
    } else if (strcmp(text, "6") == 0) {
        *family_p = AF_INET6;
    } else {
        dm_prov_param_bad(name, params, "family", "4, 6 or any");
        return false;
    }
    net->timeout_ns = TIMEOUT_S * (uint64_t)NS_PER_S;
    if (dm_prov_param(params, "timeout", text, sizeof(text)))
        net->timeout_ns = dm_prov_param_size(params, "timeout", 0) * NS_PER_S;
    if (net->timeout_ns == 0)
        dm_prov_param_bad(name, params, "timeout", "a number of seconds from 1");
    return net->timeout_ns > 0;
}

DAT_RETURN dm_net_open(struct dm_net *net, const struct dm_net_ops *ops, const char *params,
                       const char *const *keys)
{
    const char *name = net->pia.obj.provider->device_name;
    char want[DM_NET_WANT_LEN];
    const char *iface = want;
    int family;
    int err;

    net->ops = ops;
    net->pia.is_driven = true;
    dm_list_init(&net->conns);
    dm_list_init(&net->ending);
    dm_list_init(&net->listeners);
    dm_list_init(&net->waiting);
    dm_list_init(&net->pool.free);
    dm_list_init(&net->pool.chunks);
    net->next_timer = DM_FUTEX_FOREVER;
    for (int i = 0; i < DM_NET_FDS; i++)
        net->fds[i] = -1;
    net->progress.kick_fd = net->progress.lead_fd = -1;
    if (!dm_prov_params_known(name, params, keys) || !net_read_params(net, params, want, &family))
        return DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    if (want[0] == '\0')
        iface = NULL;
    err = dm_net_if_choose(iface, family, net->iface, &net->pia.addr.any);
    if (err == DM_ENOMEM)
        return DM_DAT_NOMEM;
    if (err == DM_OK)
        return DAT_SUCCESS;
    dm_net_if_explain(name, iface, family);
    return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
}

bool dm_net_start(struct dm_pia *pia)
{
    return dm_net_progress_start((struct dm_net *)pia);
}

void dm_net_stop(struct dm_pia *pia)
{
    struct dm_net *net = (struct dm_net *)pia;

    dm_net_progress_stop(net);
    (void)net->ops->round(net, true); /* reject those who have connected meanwhile */
    dm_net_conns_close(net);
}

void dm_net_reap(struct dm_pia *pia)
{
    dm_net_conns_end((struct dm_net *)pia);
}

void dm_net_close(struct dm_net *net)
{
    dm_net_ops_close(net);
    dm_net_keys_close(net);
    dm_net_progress_close(net);
}

void dm_net_show_attrs(struct dm_net *net, const char *fabric, bool is_last_last)
{
    static const char *const modes[] = {"auto", "manual", "thread"};
    const union dm_addr *addr = &net->pia.addr;
    bool is_lo = addr->sa.sa_family == AF_INET
                     ? ntohl(addr->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
                     : IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr);
    DAT_NAMED_ATTR attrs[] = {
        {"DAT_EXTENSION_INTERFACE", "TRUE"},
        {DAT_IB_ATTR_IMMED_DATA, "TRUE"},
        {DAT_IB_ATTR_FETCH_AND_ADD, "TRUE"},
        {DAT_IB_ATTR_CMP_AND_SWAP, "TRUE"},
        {DAT_IB_ATTR_UD, "FALSE"},
        {DAT_IB_ATTR_COUNTERS, "FALSE"},
        {"DAT_IB_RDMA_READ", "TRUE"},
        {"DAT_IB_TRANSPORT_MTU", "4096"},
        {"reach", is_lo ? "host" : "network"},
        {"last_byte_last", is_last_last ? "yes" : "no"},
        {"evd_resize", "yes"},
        {"evd_post_se", "yes"},
        {"threads", "objects"},
        {"progress", modes[net->mode]},
        {"interface", net->attr_text[0]},
        {"fabric", net->attr_text[1]},
    };

    snprintf(net->attr_text[0], sizeof(net->attr_text[0]), "%s", net->iface);
    snprintf(net->attr_text[1], sizeof(net->attr_text[1]), "%s", fabric);
    _Static_assert(sizeof(attrs) <= sizeof(net->attrs), "no room for so many attributes");
    memcpy(net->attrs, attrs, sizeof(attrs));
    net->pia.attrs = net->attrs;
    net->pia.n_attrs = (int)(sizeof(attrs) / sizeof(attrs[0]));
}
