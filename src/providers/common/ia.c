/*
 * Adapter instances: open, query, close.
 */
#include "providers/common/ia.h"

#include <string.h>
#include <unistd.h>

#include "providers/common/fork.h"
#include "providers/common/init.h"
#include "providers/common/strict.h"

enum { ASYNC_QLEN_MIN = 64 };

/* The async EVD: a new one, or that of another instance to share. */
static DAT_RETURN async_open(struct dm_pia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE handle)
{
    DAT_RETURN ret;

    if (handle != DAT_HANDLE_NULL) {
        ia->async_evd = dm_obj_get(handle, DAT_HANDLE_TYPE_EVD);
        if (ia->async_evd == NULL || (ia->async_evd->flags & DAT_EVD_ASYNC_FLAG) == 0)
            return DM_DAT_BAD(EVD_ASYNC);
        ia->is_async_shared = true;
        ia->async_evd->n_refs++;
        return DAT_SUCCESS;
    }
    pthread_mutex_lock(&ia->lock);
    ret = dm_evd_new(ia, qlen < ASYNC_QLEN_MIN ? ASYNC_QLEN_MIN : qlen, NULL, DAT_EVD_ASYNC_FLAG,
                     &ia->async_evd);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

static void async_close(struct dm_pia *ia)
{
    if (ia->is_async_shared)
        ia->async_evd->n_refs--;
    else
        dm_evd_destroy(ia->async_evd);
}

/* NULL: out of memory. */
static struct dm_pia *ia_new(const struct dm_prov_name *entry, bool is_threadsafe)
{
    struct dm_pia *ia = dm_obj_new(&entry->provider, NULL, DAT_HANDLE_TYPE_IA, entry->ops->ia.size);

    if (ia == NULL)
        return NULL;
    pthread_mutex_init(&ia->lock, NULL);
    for (int i = 0; i < DM_OBJ_N_TYPES; i++)
        dm_list_init(&ia->objs[i]);
    dm_list_init(&ia->fork_link);
    ia->ops = entry->ops;
    ia->is_safe_line = is_threadsafe;
    ia->is_threadsafe = is_threadsafe || entry->is_strict;
    ia->pid = getpid();
    ia->alive = dm_prov_alive();
    ia->obj.ia = ia;
    return ia;
}

static void ia_free(struct dm_pia *ia)
{
    pthread_mutex_destroy(&ia->lock);
    dm_obj_free(ia);
}

/* The transport, the async EVD, the threads. */
static DAT_RETURN ia_start(struct dm_pia *ia, const char *params, DAT_COUNT qlen,
                           DAT_EVD_HANDLE async_evd)
{
    unsigned rules;
    DAT_RETURN ret;

    if (ia->alive == NULL)
        return DM_DAT_NOMEM;
    if (!dm_strict_read(params, &rules)) {
        dm_prov_param_bad(ia->obj.provider->device_name, params, "strict",
                          "yes, no, or of iov, first, last and events what is wanted, joined by +");
        return DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    }
    ret = ia->ops->ia.open(ia, params);
    if (ret != DAT_SUCCESS)
        return ret;
    ret = async_open(ia, qlen, async_evd);
    if (ret == DAT_SUCCESS && !(dm_prov_fork_add(ia) && ia->ops->ia.start(ia))) {
        dm_prov_fork_del(ia);
        async_close(ia);
        ret = DM_DAT_NOMEM;
    }
    if (ret != DAT_SUCCESS)
        ia->ops->ia.close(ia);
    return ret;
}

static DAT_RETURN ia_open(const char *name, bool is_threadsafe, DAT_COUNT qlen,
                          DAT_EVD_HANDLE *async_p, DAT_IA_HANDLE *ia_p)
{
    struct dm_prov_name *entry = dm_prov_find(name, is_threadsafe);
    struct dm_pia *ia;
    DAT_RETURN ret;

    if (entry == NULL)
        return DM_DAT(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
    if (qlen < 0 || qlen > DM_EVD_QLEN_MAX)
        return DM_DAT_ARG(2);
    if (async_p == NULL)
        return DM_DAT_ARG(3);
    if (ia_p == NULL)
        return DM_DAT_ARG(4);
    ia = ia_new(entry, is_threadsafe);
    if (ia == NULL)
        return DM_DAT_NOMEM;
    ret = ia_start(ia, entry->params, qlen, *async_p);
    if (ret != DAT_SUCCESS) {
        ia_free(ia);
        return ret;
    }
    *async_p = (DAT_EVD_HANDLE)ia->async_evd;
    *ia_p = (DAT_IA_HANDLE)ia;
    return DAT_SUCCESS;
}

DAT_RETURN dm_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                      DAT_IA_HANDLE *ia_p)
{
    return ia_open(name, false, qlen, async_p, ia_p);
}

DAT_RETURN dm_ia_open_safe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_p,
                           DAT_IA_HANDLE *ia_p)
{
    return ia_open(name, true, qlen, async_p, ia_p);
}

DAT_RETURN dm_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_p, DAT_IA_ATTR_MASK ia_mask,
                       DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr)
{
    struct dm_pia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);

    if (ia == NULL)
        return DM_DAT_BAD(IA);
    if (ia_mask != 0 && ia_attr == NULL)
        return DM_DAT_ARG(4);
    if (mask != 0 && attr == NULL)
        return DM_DAT_ARG(6);
    if (async_p != NULL)
        *async_p = (DAT_EVD_HANDLE)ia->async_evd;
    if (ia_attr != NULL && ia_mask != 0)
        dm_ia_attr_fill(ia, ia_attr);
    if (attr != NULL && mask != 0)
        dm_provider_attr_fill(ia, attr);
    return DAT_SUCCESS;
}

/* No instance can take over for another one, be it of the same name. */
DAT_RETURN dm_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer_p)
{
    if (dm_obj_get(ia, DAT_HANDLE_TYPE_IA) == NULL)
        return DM_DAT_BAD(IA);
    if (name == NULL)
        return DM_DAT_ARG(2);
    if (answer_p == NULL)
        return DM_DAT_ARG(3);
    *answer_p = DAT_FALSE;
    return DAT_SUCCESS;
}

static bool ia_is_in_use(struct dm_pia *ia)
{
    for (int type = 0; type < DM_OBJ_N_TYPES; type++) {
        int n = dm_obj_count(ia, (DAT_HANDLE_TYPE)type);

        if (type == DAT_HANDLE_TYPE_EVD && !ia->is_async_shared)
            n -= ia->async_evd->n_refs > 0 ? 0 : 1;
        if (n > 0)
            return true;
    }
    return false;
}

/* Destroy all objects of a type. */
#define DESTROY_ALL(ia, handle_type, ctype, member, destroy)                                       \
    while (!dm_list_is_empty(&(ia)->objs[handle_type]))                                            \
    destroy(dm_container_of((ia)->objs[handle_type].next, ctype, member))

static void close_objects(struct dm_pia *ia)
{
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_RSP, struct dm_sp, obj.link, dm_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_PSP, struct dm_sp, obj.link, dm_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_CSP, struct dm_sp, obj.link, dm_sp_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_EP, struct dm_ep, obj.link, dm_ep_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_RMR, struct dm_rmr, obj.link, dm_rmr_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_SRQ, struct dm_srq, obj.link, dm_srq_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_LMR, struct dm_lmr, obj.link, dm_lmr_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_PZ, struct dm_pz, obj.link, dm_obj_free);
    if (ia->is_async_shared)
        ia->async_evd->n_refs--;
}

DAT_RETURN dm_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
    struct dm_pia *ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);

    if (ia == NULL)
        return DM_DAT_BAD(IA);
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
        return DM_DAT_ARG(2);
    if (ia->has_thread && pthread_equal(pthread_self(), ia->thread)) /* in an agent */
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    pthread_mutex_lock(&ia->lock);
    if (flags == DAT_CLOSE_GRACEFUL_FLAG && ia_is_in_use(ia)) {
        pthread_mutex_unlock(&ia->lock);
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
    }
    if (ia->ops->ia.disconnect != NULL)
        ia->ops->ia.disconnect(ia);
    close_objects(ia);
    pthread_mutex_unlock(&ia->lock);
    dm_prov_fork_del(ia);
    /* Until it has stopped the provider may still add events. */
    ia->ops->ia.stop(ia);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_EVD, struct dm_evd, obj.link, dm_evd_destroy);
    DESTROY_ALL(ia, DAT_HANDLE_TYPE_CNO, struct dm_cno, obj.link, dm_cno_destroy);
    ia->ops->ia.close(ia);
    ia_free(ia);
    return DAT_SUCCESS;
}
