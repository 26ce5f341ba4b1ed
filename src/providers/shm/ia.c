/*
 * Adapter instances: open, query, close.
 */
#include "providers/shm/calls.h"

#include <string.h>
#include <unistd.h>

#include "providers/shm/key.h"
#include "providers/shm/rmr.h"

#define BAD_IA DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA)

enum { SEGMENT_MB = 128, SEGMENT_MIN_MB = 8, ASYNC_QLEN_MIN = 64 };

static void *mem_alloc(struct dm_pia *pia, size_t len)
{
    return dm_shm_seg_alloc(&((struct dm_shm_ia *)pia)->seg, len);
}

static void mem_free(struct dm_pia *pia, void *mem)
{
    dm_shm_seg_free(&((struct dm_shm_ia *)pia)->seg, mem);
}

static bool quiesce(struct dm_pia *pia)
{
    return dm_shm_quiesce((struct dm_shm_ia *)pia, NULL);
}

static const struct dm_pia_ops ops = {
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .kick = dm_shm_kick,
    .evd_moved = dm_shm_evd_moved,
    .quiesce = quiesce,
    .poll = dm_shm_model_poll,
    .sleep = dm_shm_model_sleep,
};

/* False if ia_params asks for something that does not exist. */
static bool read_params(struct dm_shm_ia *ia, const char *params, size_t *size_p)
{
    static const char *const keys[] = {"copy",     "segment",       "latency",   "request",
                                       "register", "register_page", "bandwidth", NULL};
    char copy[16] = "auto";

    if (!dm_prov_params_known(ia->pia.obj.provider->device_name, params, keys))
        return false;
    (void)dm_prov_param(params, "copy", copy, sizeof(copy));
    if (strcmp(copy, "auto") == 0)
        ia->copy = DM_COPY_AUTO;
    else if (strcmp(copy, "cma") == 0)
        ia->copy = DM_COPY_CMA;
    else if (strcmp(copy, "staged") == 0)
        ia->copy = DM_COPY_STAGED;
    else
        return false;
    if (!dm_shm_model_read(&ia->model, params))
        return false;
    ia->pia.is_driven = ia->model.is_on;
    *size_p = (size_t)dm_prov_param_size(params, "segment", (uint64_t)SEGMENT_MB << 20);
    *size_p = (*size_p + 4095) / 4096 * 4096;
    return *size_p >= (size_t)SEGMENT_MIN_MB << 20;
}

static void ia_init(struct dm_shm_ia *ia, bool is_threadsafe)
{
    pthread_mutex_init(&ia->pia.lock, NULL);
    for (int i = 0; i < DM_OBJ_N_TYPES; i++)
        dm_list_init(&ia->pia.objs[i]);
    dm_list_init(&ia->peers);
    dm_list_init(&ia->free_keys);
    ia->pia.ops = &ops;
    ia->pia.is_threadsafe = is_threadsafe;
    ia->pia.pid = getpid();
    dm_ia_local_addr(&ia->pia.addr.in);
}

/* The async EVD: a new one, or that of another instance to share. */
static DAT_RETURN open_async(struct dm_shm_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE handle)
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

static DAT_RETURN ia_open(const char *name, bool is_threadsafe, DAT_COUNT qlen,
                          DAT_EVD_HANDLE *async_p, DAT_IA_HANDLE *ia_p)
{
    struct dm_prov_name *entry = dm_prov_find(name, is_threadsafe);
    struct dm_shm_ia *ia;
    DAT_RETURN ret = DM_DAT_NOMEM;
    size_t size;

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
    if (!read_params(ia, entry->params, &size)) {
        ret = DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
        goto err_obj;
    }
    if (!dm_shm_seg_open(&ia->seg, size))
        goto err_obj;
    ret = open_async(ia, qlen, *async_p);
    if (ret != DAT_SUCCESS)
        goto err_seg;
    if (!dm_shm_progress_start(ia)) {
        ret = DM_DAT_NOMEM;
        goto err_async;
    }
    *async_p = (DAT_EVD_HANDLE)ia->pia.async_evd;
    *ia_p = (DAT_IA_HANDLE)ia;
    return DAT_SUCCESS;

err_async:
    if (ia->pia.is_async_shared)
        ia->pia.async_evd->n_refs--;
    else
        dm_evd_destroy(ia->pia.async_evd);
err_seg:
    dm_shm_seg_close(&ia->seg);
err_obj:
    pthread_mutex_destroy(&ia->pia.lock);
    dm_obj_free(ia);
    return ret;
}

DAT_RETURN dm_shm_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                          DAT_IA_HANDLE *ia_p)
{
    return ia_open(name, false, qlen, async_p, ia_p);
}

DAT_RETURN dm_shm_ia_open_safe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                               DAT_IA_HANDLE *ia_p)
{
    return ia_open(name, true, qlen, async_p, ia_p);
}

DAT_RETURN dm_shm_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_p, DAT_IA_ATTR_MASK ia_mask,
                           DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
                           DAT_PROVIDER_ATTR *attr)
{
    struct dm_shm_ia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);

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

static bool is_in_use(struct dm_shm_ia *ia)
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

static void close_objects(struct dm_shm_ia *ia)
{
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_RSP, struct dm_sp, obj.link, dm_shm_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_PSP, struct dm_sp, obj.link, dm_shm_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_CSP, struct dm_sp, obj.link, dm_shm_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_EP, struct dm_sep, ep.obj.link, dm_shm_ep_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_RMR, struct dm_rmr, obj.link, dm_shm_rmr_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_SRQ, struct dm_srq, obj.link, dm_shm_srq_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_LMR, struct dm_lmr, obj.link, dm_shm_lmr_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_PZ, struct dm_pz, obj.link, dm_obj_free);
    if (ia->pia.is_async_shared)
        ia->pia.async_evd->n_refs--;
}

DAT_RETURN dm_shm_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
    struct dm_shm_ia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);

    if (ia == NULL)
        return BAD_IA;
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
        return DM_DAT_ARG(2);
    if (pthread_equal(pthread_self(), ia->thread)) /* in an agent: we wait for that thread */
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    pthread_mutex_lock(&ia->pia.lock);
    if (flags == DAT_CLOSE_GRACEFUL_FLAG && is_in_use(ia)) {
        pthread_mutex_unlock(&ia->pia.lock);
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    }
    close_objects(ia);
    pthread_mutex_unlock(&ia->pia.lock);
    /* The thread may still post to event dispatchers until it has ended. */
    dm_shm_progress_stop(ia);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_EVD, struct dm_evd, obj.link, dm_evd_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_CNO, struct dm_cno, obj.link, dm_cno_destroy);
    dm_shm_keys_close(ia);
    dm_shm_seg_close(&ia->seg);
    pthread_mutex_destroy(&ia->pia.lock);
    dm_obj_free(ia);
    return DAT_SUCCESS;
}
