/*
 * RMRs: creating, binding, taking away.
 */
#include "providers/common/rmr.h"

#include <stdlib.h>
#include <string.h>

#include "providers/common/provider.h"

#define BAD_RMR DM_DAT_BAD(RMR)

static DAT_RETURN rmr_new(DAT_PZ_HANDLE pz_handle, DAT_RMR_SCOPE scope, DAT_RMR_HANDLE *rmr_p)
{
    struct dm_pz *pz = dm_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
    struct dm_rmr *rmr;
    struct dm_pia *ia;

    if (pz == NULL)
        return DM_DAT_BAD(PZ);
    if (rmr_p == NULL)
        return DM_DAT_ARG(2);
    ia = pz->obj.ia;
    if (ia->ops->mem.key_new == NULL)
        return DM_DAT(DAT_NOT_IMPLEMENTED, 0);
    pthread_mutex_lock(&ia->lock);
    rmr = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_RMR, sizeof(*rmr));
    if (rmr != NULL) {
        rmr->pz = pz;
        rmr->scope = scope;
        pz->n_refs++;
    }
    pthread_mutex_unlock(&ia->lock);
    if (rmr == NULL)
        return DM_DAT_NOMEM;
    *rmr_p = (DAT_RMR_HANDLE)rmr;
    return DAT_SUCCESS;
}

DAT_RETURN dm_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p)
{
    return rmr_new(pz, DAT_RMR_SCOPE_PZ, rmr_p);
}

DAT_RETURN dm_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p)
{
    return rmr_new(pz, DAT_RMR_SCOPE_EP, rmr_p);
}

DAT_RETURN dm_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
    struct dm_rmr *rmr = dm_obj_get(handle, DAT_HANDLE_TYPE_RMR);

    (void)mask;
    if (rmr == NULL)
        return BAD_RMR;
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(rmr->obj.ia);
    param->pz_handle = rmr->pz;
    param->rmr_scope = rmr->scope;
    pthread_mutex_lock(&rmr->obj.ia->lock);
    if (rmr->key != 0) {
        param->lmr_triplet = rmr->triplet;
        param->mem_priv = rmr->priv;
        param->rmr_context = rmr->key;
        param->va_type = rmr->va_type;
    }
    pthread_mutex_unlock(&rmr->obj.ia->lock);
    return DAT_SUCCESS;
}

void dm_rmr_shut(struct dm_rmr *rmr)
{
    if (rmr->key == 0)
        return;
    rmr->obj.ia->ops->mem.rmr_shut(rmr);
    rmr->key = 0;
    rmr->lmr->n_binds--;
    rmr->lmr = NULL;
    rmr->ep = NULL;
}

void dm_rmr_unbind(struct dm_rmr *rmr)
{
    /* A peer that stands still may be left in it: the LMR cannot be freed then. */
    if (rmr->key != 0)
        rmr->obj.ia->ops->mem.rmr_hide(rmr);
    dm_rmr_shut(rmr);
}

void dm_rmr_destroy(struct dm_rmr *rmr)
{
    dm_rmr_unbind(rmr);
    rmr->pz->n_refs--;
    dm_obj_free(rmr);
}

DAT_RETURN dm_rmr_free(DAT_RMR_HANDLE handle)
{
    struct dm_rmr *rmr = dm_obj_get(handle, DAT_HANDLE_TYPE_RMR);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (rmr == NULL)
        return BAD_RMR;
    ia = rmr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (rmr->n_pending > 0)
        ret = DM_DAT(DAT_INVALID_STATE, 0);
    else
        dm_rmr_destroy(rmr);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

bool dm_rmr_is_allowed(const struct dm_ep *ep, const struct dm_bind *bind,
                       const DAT_LMR_TRIPLET *triplet)
{
    const struct dm_lmr *lmr = bind->lmr;
    uint64_t offset;
    unsigned need = 0;

    if (bind->rmr->pz != ep->pz)
        return false;
    if (bind->key == 0)
        return true;
    if (lmr->obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_LMR) || lmr->obj.gen != bind->lmr_gen ||
        lmr->is_hidden || lmr->key != triplet->lmr_context || lmr->pz != bind->rmr->pz)
        return false;
    offset = triplet->virtual_address - lmr->va;
    if (offset > lmr->len || triplet->segment_length > lmr->len - offset)
        return false;
    /* What peers may do, we must be allowed to do ourselves; everybody may
     * read his own region, see lmr.c. */
    if (((unsigned)bind->priv & ~(unsigned)DAT_MEM_PRIV_REMOTE_READ_FLAG & DM_PRIV_REMOTE) != 0)
        need = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    return ((unsigned)lmr->priv & need) == need;
}

struct dm_window dm_rmr_window(struct dm_ep *ep, const struct dm_bind *bind,
                               const DAT_LMR_TRIPLET *triplet)
{
    const struct dm_lmr *lmr = bind->lmr;
    struct dm_window window = {.va = triplet->virtual_address,
                               .len = triplet->segment_length,
                               .addr = lmr->addr + (triplet->virtual_address - lmr->va),
                               .priv = (unsigned)bind->priv & DM_PRIV_REMOTE};

    if (bind->va_type == DAT_VA_TYPE_ZB)
        window.va = 0;
    if (bind->rmr->scope == DAT_RMR_SCOPE_EP)
        window.only = ep;
    return window;
}

void dm_rmr_set(struct dm_ep *ep, struct dm_bind *bind, const DAT_LMR_TRIPLET *triplet)
{
    struct dm_rmr *rmr = bind->rmr;

    rmr->key = bind->key;
    rmr->lmr = bind->lmr;
    rmr->ep = rmr->scope == DAT_RMR_SCOPE_EP ? ep : NULL;
    rmr->triplet = *triplet;
    rmr->priv = bind->priv;
    rmr->va_type = bind->va_type;
    rmr->lmr->n_binds++;
    bind->key = 0;
}

void dm_rmr_bound(struct dm_bind *bind)
{
    struct dm_pia *ia = bind->rmr->obj.ia;

    bind->rmr->n_pending--;
    if (bind->key != 0)
        ia->ops->mem.key_free(ia, bind->key);
    free(bind);
}

void dm_rmr_ep_down(struct dm_ep *ep)
{
    dm_list_for_each (it, &ep->obj.ia->objs[DAT_HANDLE_TYPE_RMR]) {
        struct dm_rmr *rmr = dm_container_of(it, struct dm_rmr, obj.link);

        if (rmr->key != 0 && rmr->ep == ep)
            dm_rmr_shut(rmr);
    }
}

bool dm_rmr_invalidate(struct dm_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->obj.ia->objs[DAT_HANDLE_TYPE_RMR]) {
        struct dm_rmr *rmr = dm_container_of(it, struct dm_rmr, obj.link);

        if (rmr->key != key || key == 0)
            continue;
        if (rmr->pz != ep->pz || (rmr->scope == DAT_RMR_SCOPE_EP && rmr->ep != ep))
            return false;
        dm_rmr_shut(rmr);
        return true;
    }
    return false;
}

/* Reserve what the bind needs; ia->lock is held. */
static DAT_RETURN bind_new(const struct dm_bind *want, bool is_unbind, struct dm_bind **bind_p)
{
    struct dm_bind *bind = malloc(sizeof(*bind));

    if (bind == NULL)
        return DM_DAT_NOMEM;
    *bind = *want;
    if (!is_unbind) {
        bind->key = bind->rmr->obj.ia->ops->mem.key_new(bind->rmr->obj.ia);
        if (bind->key == 0) {
            free(bind);
            return DM_DAT_NO_REGION;
        }
    }
    bind->rmr->n_pending++;
    *bind_p = bind;
    return DAT_SUCCESS;
}

static DAT_RETURN bind_check(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                             struct dm_bind *want)
{
    want->rmr = dm_obj_get(rmr, DAT_HANDLE_TYPE_RMR);
    if (want->rmr == NULL)
        return BAD_RMR;
    if (triplet == NULL)
        return DM_DAT_ARG(3);
    if (((unsigned)want->priv & ~DM_PRIV_ALL) != 0)
        return DM_DAT_ARG(4);
    if (want->va_type != DAT_VA_TYPE_VA && want->va_type != DAT_VA_TYPE_ZB)
        return DM_DAT_ARG(5);
    if (triplet->segment_length == 0)
        return DAT_SUCCESS;
    want->lmr = dm_obj_get(lmr, DAT_HANDLE_TYPE_LMR);
    if (want->lmr == NULL || want->lmr->obj.ia != want->rmr->obj.ia)
        return DM_DAT_BAD(LMR);
    want->lmr_gen = want->lmr->obj.gen;
    return DAT_SUCCESS;
}

DAT_RETURN dm_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                       DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
                       DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                       DAT_RMR_CONTEXT *context_p)
{
    struct dm_ep *ep = dm_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
    struct dm_bind want = {.priv = priv, .va_type = va_type};
    struct dm_dto dto = {.kind = DM_OP_BIND, .flags = flags, .n_seg = 1, .seg = triplet};
    DAT_RETURN ret = bind_check(rmr, lmr, triplet, &want);
    struct dm_pia *ia;

    if (ret != DAT_SUCCESS)
        return ret;
    ia = want.rmr->obj.ia;
    if (ep == NULL || ep->obj.ia != ia)
        return DM_DAT_BAD(EP);
    memcpy(&dto.cookie, &cookie, sizeof(dto.cookie));
    pthread_mutex_lock(&ia->lock);
    ret = bind_new(&want, triplet->segment_length == 0, &dto.bind);
    pthread_mutex_unlock(&ia->lock);
    if (ret != DAT_SUCCESS)
        return ret;
    dto.remote.virtual_address = (uint64_t)(uintptr_t)want.rmr; /* for the completion */
    if (context_p != NULL)
        *context_p = dto.bind->key; /* before anybody can see the completion */
    ret = dm_dto_post(ep, &dto);
    if (ret == DAT_SUCCESS)
        return DAT_SUCCESS;
    pthread_mutex_lock(&ia->lock);
    dm_rmr_bound(dto.bind);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
