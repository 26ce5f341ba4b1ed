/*
 * Adapter instances: open, query, close.
 */
#include "providers/ofi/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "providers/ofi/dto.h"

#include "util/err.h"

#define BAD_IA DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA)

enum { ASYNC_QLEN_MIN = 64, TIMEOUT_S = 20, WANT_LEN = 256 };

#define NS_PER_S 1000000000u

/*
 * Fresh pages stay untouched: most events of a ring are never used. What calloc gave stands before
 * the memory.
 */
static void *mem_alloc(struct dm_pia *pia, size_t len)
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

static void mem_free(struct dm_pia *pia, void *mem)
{
    (void)pia;
    if (mem != NULL)
        free(((void **)mem)[-1]);
}

/* Who adds events holds ia->lock, or is the consumer himself. */
static bool evd_moved(struct dm_pia *pia, struct dm_evd *evd, bool is_before)
{
    (void)pia;
    (void)evd;
    (void)is_before;
    return true;
}

static const struct dm_pia_ops ops = {
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .kick = dm_ofi_kick,
    .evd_moved = evd_moved,
    .poll = dm_ofi_poll,
    .sleep = dm_ofi_sleep,
};

/* False, and reported, if ia_params asks for something that does not exist. */
static bool read_params(struct dm_ofi_ia *ia, const char *params, char *want, int *family_p)
{
    static const char *const keys[] = {"if", "family", "progress", "timeout", "prov", NULL};
    const char *name = ia->pia.obj.provider->device_name;
    char text[16] = "auto";

    if (!dm_prov_params_known(name, params, keys))
        return false;
    strcpy(ia->prov, "tcp");
    (void)dm_prov_param(params, "prov", ia->prov, sizeof(ia->prov));
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

static void ia_init(struct dm_ofi_ia *ia, bool is_threadsafe)
{
    pthread_mutex_init(&ia->pia.lock, NULL);
    for (int i = 0; i < DM_OBJ_N_TYPES; i++)
        dm_list_init(&ia->pia.objs[i]);
    dm_list_init(&ia->conns);
    dm_list_init(&ia->ending);
    dm_list_init(&ia->listeners);
    dm_list_init(&ia->waiting);
    dm_list_init(&ia->ops);
    dm_list_init(&ia->op_chunks);
    ia->pia.ops = &ops;
    ia->pia.is_threadsafe = is_threadsafe;
    ia->pia.is_driven = true;
    ia->pia.pid = getpid();
    if (getrandom(&ia->secret, sizeof(ia->secret), 0) != (ssize_t)sizeof(ia->secret))
        ia->secret = dm_futex_now() * 0x9e3779b97f4a7c15u;
}

/* What dat_ia_query shows of us beyond the common. */
static void show(struct dm_ofi_ia *ia)
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
        {"last_byte_last", ia->is_split ? "yes" : "no"},
        {"evd_resize", "yes"},
        {"threads", "objects"},
        {"progress", modes[ia->mode]},
        {"interface", ia->attr_text[0]},
        {"fabric", ia->attr_text[1]},
    };

    snprintf(ia->attr_text[0], sizeof(ia->attr_text[0]), "%s", ia->iface);
    snprintf(ia->attr_text[1], sizeof(ia->attr_text[1]), "libfabric %s", ia->prov);
    memcpy(ia->attrs, attrs, sizeof(attrs));
    ia->pia.attrs = ia->attrs;
    ia->pia.n_attrs = (int)(sizeof(attrs) / sizeof(attrs[0]));
}

/* The async EVD: a new one, or that of another instance to share. */
static DAT_RETURN open_async(struct dm_ofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE handle)
{
    DAT_RETURN ret;

    if (handle != DAT_HANDLE_NULL) {
        ia->pia.async_evd = dm_obj_get(handle, DAT_HANDLE_TYPE_EVD);
        if (ia->pia.async_evd == NULL || (ia->pia.async_evd->flags & DAT_EVD_ASYNC_FLAG) == 0)
            return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
        ia->pia.is_async_shared = true;
        ia->pia.async_evd->n_refs++;
        return DAT_SUCCESS;
    }
    pthread_mutex_lock(&ia->pia.lock);
    ret = dm_evd_new(&ia->pia, qlen < ASYNC_QLEN_MIN ? ASYNC_QLEN_MIN : qlen, NULL,
                     DAT_EVD_ASYNC_FLAG, &ia->pia.async_evd);
    pthread_mutex_unlock(&ia->pia.lock);
    return ret;
}

/* The interface and the fabric on it. */
static DAT_RETURN open_network(struct dm_ofi_ia *ia, const char *params)
{
    char want[WANT_LEN];
    int family;
    int err;

    if (!read_params(ia, params, want, &family))
        return DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    err = dm_ofi_if_choose(want[0] != '\0' ? want : NULL, family, ia->iface, &ia->pia.addr.any);
    if (err == DM_ENOMEM)
        return DM_DAT_NOMEM;
    if (err != DM_OK) {
        dm_ofi_if_explain(ia->pia.obj.provider->device_name, want[0] != '\0' ? want : NULL, family);
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
    }
    /* Without this address space no receive can be posted: say so now. */
    if (!dm_ofi_excess_map(ia))
        return DM_DAT_NOMEM;
    return dm_ofi_fabric_open(ia);
}

static DAT_RETURN ia_open(const char *name, bool is_threadsafe, DAT_COUNT qlen,
                          DAT_EVD_HANDLE *async_p, DAT_IA_HANDLE *ia_p)
{
    struct dm_prov_name *entry = dm_prov_find(name, is_threadsafe);
    struct dm_ofi_ia *ia;
    DAT_RETURN ret = DM_DAT_NOMEM;

    if (entry == NULL)
        return DM_DAT(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    if (qlen < 0 || qlen > DM_EVD_QLEN_MAX)
        return DM_DAT_ARG(2);
    if (async_p == NULL)
        return DM_DAT_ARG(3);
    if (ia_p == NULL)
        return DM_DAT_ARG(4);
    ia = dm_obj_new(&entry->provider, NULL, DAT_HANDLE_TYPE_IA, sizeof(*ia));
    if (ia == NULL)
        return ret;
    ia_init(ia, is_threadsafe);
    ia->pia.obj.ia = &ia->pia;
    ia->pia.alive = dm_prov_alive();
    if (ia->pia.alive == NULL)
        goto err_obj;
    ret = open_network(ia, entry->params);
    if (ret != DAT_SUCCESS)
        goto err_obj;
    show(ia);
    ret = open_async(ia, qlen, *async_p);
    if (ret != DAT_SUCCESS)
        goto err_fabric;
    ret = DM_DAT_NOMEM;
    if (!dm_ofi_fork_add(ia))
        goto err_async;
    if (!dm_ofi_progress_start(ia))
        goto err_fork;
    *async_p = (DAT_EVD_HANDLE)ia->pia.async_evd;
    *ia_p = (DAT_IA_HANDLE)ia;
    return DAT_SUCCESS;

err_fork:
    dm_ofi_fork_del(ia);
err_async:
    if (ia->pia.is_async_shared)
        ia->pia.async_evd->n_refs--;
    else
        dm_evd_destroy(ia->pia.async_evd);
err_fabric:
    dm_ofi_fabric_close(ia);
err_obj:
    dm_ofi_ops_close(ia);
    pthread_mutex_destroy(&ia->pia.lock);
    dm_obj_free(ia);
    return ret;
}

DAT_RETURN dm_ofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                          DAT_IA_HANDLE *ia_p)
{
    return ia_open(name, false, qlen, async_p, ia_p);
}

DAT_RETURN dm_ofi_ia_open_safe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                               DAT_IA_HANDLE *ia_p)
{
    return ia_open(name, true, qlen, async_p, ia_p);
}

DAT_RETURN dm_ofi_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_p, DAT_IA_ATTR_MASK ia_mask,
                           DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
                           DAT_PROVIDER_ATTR *attr)
{
    struct dm_ofi_ia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);

    if (ia == NULL)
        return BAD_IA;
    if (ia_mask != 0 && ia_attr == NULL)
        return DM_DAT_ARG(4);
    if (mask != 0 && attr == NULL)
        return DM_DAT_ARG(6);
    if (async_p != NULL)
        *async_p = (DAT_EVD_HANDLE)ia->pia.async_evd;
    if (ia_attr != NULL && ia_mask != 0)
        dm_ia_attr_fill(&ia->pia, ia_attr);
    if (attr != NULL && mask != 0)
        dm_provider_attr_fill(&ia->pia, attr);
    return DAT_SUCCESS;
}

static uint32_t mix(uint64_t a, uint64_t b)
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
    return pz != NULL ? mix(ia->secret, pz->id) : 0;
}

uint32_t dm_ofi_mail_token(const struct dm_ofi_ia *ia)
{
    return mix(ia->secret, UINT64_MAX);
}

uint32_t dm_ofi_ep_token(const struct dm_ofi_ia *ia, const struct dm_oep *ep)
{
    return mix(ia->secret ^ UINT64_MAX, (uint64_t)(uintptr_t)ep ^ (uint64_t)ep->ep.obj.gen << 48);
}

static bool is_in_use(struct dm_ofi_ia *ia)
{
    for (int type = 0; type < DM_OBJ_N_TYPES; type++) {
        int n = dm_obj_count(&ia->pia, (DAT_HANDLE_TYPE)type);

        if (type == DAT_HANDLE_TYPE_EVD && !ia->pia.is_async_shared)
            n -= ia->pia.async_evd->n_refs > 0 ? 0 : 1;
        if (n > 0)
            return true;
    }
    return false;
}

/* Destroy all objects of a type. */
#define DESTROY_ALL(ia, handle_type, ctype, member, destroy)                                       \
    while (!dm_list_is_empty(&(ia)->pia.objs[handle_type]))                                        \
    destroy(dm_container_of((ia)->pia.objs[handle_type].next, ctype, member))

static void close_objects(struct dm_ofi_ia *ia)
{
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_RSP, struct dm_sp, obj.link, dm_ofi_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_PSP, struct dm_sp, obj.link, dm_ofi_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_EP, struct dm_oep, ep.obj.link, dm_ofi_ep_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_RMR, struct dm_rmr, obj.link, dm_ofi_rmr_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_SRQ, struct dm_srq, obj.link, dm_ofi_srq_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_LMR, struct dm_lmr, obj.link, dm_ofi_lmr_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_PZ, struct dm_pz, obj.link, dm_obj_free);
    if (ia->pia.is_async_shared)
        ia->pia.async_evd->n_refs--;
}

DAT_RETURN dm_ofi_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
    struct dm_ofi_ia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);

    if (ia == NULL)
        return BAD_IA;
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
        return DM_DAT_ARG(2);
    if (ia->has_thread && pthread_equal(pthread_self(), ia->thread)) /* in an agent */
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    pthread_mutex_lock(&ia->pia.lock);
    if (flags == DAT_CLOSE_GRACEFUL_FLAG && is_in_use(ia)) {
        pthread_mutex_unlock(&ia->pia.lock);
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    }
    dm_ofi_conns_bye(ia);
    close_objects(ia);
    pthread_mutex_unlock(&ia->pia.lock);
    dm_ofi_fork_del(ia);
    /* The thread may still add to event dispatchers until it has ended. */
    dm_ofi_progress_stop(ia);
    (void)dm_ofi_progress(ia); /* who has called and was not heard yet is turned away */
    dm_ofi_conns_close(ia);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_EVD, struct dm_evd, obj.link, dm_evd_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_CNO, struct dm_cno, obj.link, dm_cno_destroy);
    dm_ofi_fabric_close(ia);
    dm_ofi_ops_close(ia);
    dm_ofi_keys_close(ia);
    pthread_mutex_destroy(&ia->pia.lock);
    dm_obj_free(ia);
    return DAT_SUCCESS;
}
