/*
 * Adapter instances: open, query, close.
 */
#include "providers/ofi/ia.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "providers/ofi/conn.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/key.h"
#include "providers/ofi/progress.h"
#include "util/err.h"

enum { TIMEOUT_S = 20, WANT_LEN = 256 };

#define NS_PER_S 1000000000u

/*
 * Fresh pages stay untouched: most events of a ring are never used. What calloc gave stands before
 * the memory.
 */
void *dm_ofi_mem_alloc(struct dm_pia *pia, size_t len)
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

void dm_ofi_mem_free(struct dm_pia *pia, void *mem)
{
    (void)pia;
    if (mem != NULL)
        free(((void **)mem)[-1]);
}

/* False, and reported, if ia_params asks for something that does not exist. */
static bool ofi_ia_read_params(struct dm_ofi_ia *ia, const char *params, char *want, int *family_p)
{
    static const char *const keys[] = {"if", "family", "progress", "timeout", "prov", NULL};
    const char *name = ia->pia.obj.provider->device_name;
    char text[16] = "auto";

    if (!dm_prov_params_known(name, params, keys))
        return false;
    strcpy(ia->fabric.prov, "tcp");
    (void)dm_prov_param(params, "prov", ia->fabric.prov, sizeof(ia->fabric.prov));
    want[0] = '\0';
    (void)dm_prov_param(params, "if", want, WANT_LEN);
    (void)dm_prov_param(params, "progress", text, sizeof(text));
    if (strcmp(text, "auto") == 0) {
        ia->mode = DM_OFI_AUTO;
    } else if (strcmp(text, "manual") == 0) {
        ia->mode = DM_OFI_MANUAL;
    } else if (strcmp(text, "thread") == 0) {
        ia->mode = DM_OFI_THREAD;
    } else {
        dm_prov_param_bad(name, params, "progress", "auto, manual or thread");
        return false;
    }
    strcpy(text, "any");
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
    ia->timeout_ns = TIMEOUT_S * (uint64_t)NS_PER_S;
    if (dm_prov_param(params, "timeout", text, sizeof(text)))
        ia->timeout_ns = dm_prov_param_size(params, "timeout", 0) * NS_PER_S;
    if (ia->timeout_ns == 0)
        dm_prov_param_bad(name, params, "timeout", "a number of seconds from 1");
    return ia->timeout_ns > 0;
}

static void ia_init(struct dm_ofi_ia *ia)
{
    dm_list_init(&ia->conns);
    dm_list_init(&ia->ending);
    dm_list_init(&ia->listeners);
    dm_list_init(&ia->waiting);
    dm_list_init(&ia->pool.free);
    dm_list_init(&ia->pool.chunks);
    ia->pia.is_driven = true;
    if (getrandom(&ia->secret, sizeof(ia->secret), 0) != (ssize_t)sizeof(ia->secret))
        ia->secret = dm_futex_now() * 0x9e3779b97f4a7c15u;
}

/* What dat_ia_query shows of us beyond the common. */
static void ia_show_attrs(struct dm_ofi_ia *ia)
{
    static const char *const modes[] = {"auto", "manual", "thread"};
    bool is_lo = ia->pia.addr.sa.sa_family == AF_INET
                     ? ntohl(ia->pia.addr.in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
                     : IN6_IS_ADDR_LOOPBACK(&ia->pia.addr.in6.sin6_addr);
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
        {"last_byte_last", ia->fabric.is_split ? "yes" : "no"},
        {"evd_resize", "yes"},
        {"threads", "objects"},
        {"progress", modes[ia->mode]},
        {"interface", ia->attr_text[0]},
        {"fabric", ia->attr_text[1]},
    };

    snprintf(ia->attr_text[0], sizeof(ia->attr_text[0]), "%s", ia->fabric.iface);
    snprintf(ia->attr_text[1], sizeof(ia->attr_text[1]), "libfabric %s", ia->fabric.prov);
    memcpy(ia->attrs, attrs, sizeof(attrs));
    ia->pia.attrs = ia->attrs;
    ia->pia.n_attrs = (int)(sizeof(attrs) / sizeof(attrs[0]));
}

/* The interface and the fabric on it. */
static DAT_RETURN ia_open_network(struct dm_ofi_ia *ia, const char *params)
{
    char want[WANT_LEN];
    int family;
    int err;

    if (!ofi_ia_read_params(ia, params, want, &family))
        return DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    err = dm_ofi_if_choose(want[0] != '\0' ? want : NULL, family, ia->fabric.iface,
                           &ia->pia.addr.any);
    if (err == DM_ENOMEM)
        return DM_DAT_NOMEM;
    if (err != DM_OK) {
        dm_ofi_if_explain(ia->pia.obj.provider->device_name, want[0] != '\0' ? want : NULL, family);
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
    }
    /* Without this address space no receive can be posted: fail now. */
    if (!dm_ofi_excess_map(ia))
        return DM_DAT_NOMEM;
    return dm_ofi_fabric_open(ia);
}

DAT_RETURN dm_ofi_ia_open(struct dm_pia *pia, const char *params)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;
    DAT_RETURN ret;

    ia_init(ia);
    ret = ia_open_network(ia, params);
    if (ret == DAT_SUCCESS)
        ia_show_attrs(ia);
    else
        dm_ofi_ops_close(ia);
    return ret;
}

bool dm_ofi_ia_start(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;

    if (!dm_ofi_fork_add(ia))
        return false;
    if (dm_ofi_progress_start(ia))
        return true;
    dm_ofi_fork_del(ia);
    return false;
}

void dm_ofi_ia_disconnect(struct dm_pia *pia)
{
    dm_ofi_conns_disconnect((struct dm_ofi_ia *)pia);
}

void dm_ofi_ia_stop(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;

    dm_ofi_fork_del(ia);
    dm_ofi_progress_stop(ia);
    (void)dm_ofi_progress(ia); /* reject those who have connected meanwhile */
    dm_ofi_conns_close(ia);
}

void dm_ofi_ia_close(struct dm_pia *pia)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)pia;

    dm_ofi_fabric_close(ia);
    dm_ofi_ops_close(ia);
    dm_ofi_keys_close(ia);
}

void dm_ofi_ia_reap(struct dm_pia *pia)
{
    dm_ofi_conns_end((struct dm_ofi_ia *)pia);
}

static uint32_t token_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ (b * 0x9e3779b97f4a7c15u);

    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return (uint32_t)(x >> 32);
}

uint32_t dm_ofi_pz_token(const struct dm_ofi_ia *ia, const struct dm_pz *pz)
{
    return pz != NULL ? token_mix(ia->secret, pz->id) : 0;
}

uint32_t dm_ofi_ctrl_token(const struct dm_ofi_ia *ia)
{
    return token_mix(ia->secret, UINT64_MAX);
}

uint32_t dm_ofi_ep_token(const struct dm_ofi_ia *ia, const struct dm_ofi_ep *ep)
{
    return token_mix(ia->secret ^ UINT64_MAX,
                     (uint64_t)(uintptr_t)ep ^ (uint64_t)ep->ep.obj.gen << 48);
}
