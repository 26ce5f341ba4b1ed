/*
 * RMRs: creating, binding, taking away.
 *
 * Invariant: rmr->key is an open context while the RMR is bound, and then
 * rmr->lmr counts it in n_binds, so it cannot be freed.
 */
#include "providers/ofi/rmr.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/calls.h"

#define BAD_RMR DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)

static const unsigned priv_known = DAT_MEM_PRIV_ALL_FLAG | (unsigned)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
static const unsigned priv_remote = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
                                    (unsigned)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

static DAT_RETURN create(DAT_PZ_HANDLE pz_handle, DAT_RMR_SCOPE scope, DAT_RMR_HANDLE *rmr_p)
{
    struct dm_pz *pz = dm_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
    struct dm_rmr *rmr;
    struct dm_pia *ia;

    if (pz == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (rmr_p == NULL)
        return DM_DAT_ARG(2);
    ia = pz->obj.ia;
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

DAT_RETURN dm_ofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p)
{
    return create(pz, DAT_RMR_SCOPE_PZ, rmr_p);
}

DAT_RETURN dm_ofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr_p)
{
    return create(pz, DAT_RMR_SCOPE_EP, rmr_p);
}

DAT_RETURN dm_ofi_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
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

static void unbind(struct dm_rmr *rmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)rmr->obj.ia;

    if (rmr->key == 0)
        return;
    dm_ofi_key_shut(ia, rmr->key);
    dm_ofi_key_free(ia, rmr->key);
    rmr->key = 0;
    rmr->lmr->n_binds--;
    rmr->lmr = NULL;
    rmr->ep = NULL;
}

void dm_ofi_rmr_destroy(struct dm_rmr *rmr)
{
    unbind(rmr);
    rmr->pz->n_refs--;
    dm_obj_free(rmr);
}

DAT_RETURN dm_ofi_rmr_free(DAT_RMR_HANDLE handle)
{
    struct dm_rmr *rmr = dm_obj_get(handle, DAT_HANDLE_TYPE_RMR);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (rmr == NULL)
        return BAD_RMR;
    ia = rmr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (rmr->n_pending > 0) {
        ret = DM_DAT(DAT_INVALID_STATE, 0);
    } else {
        if (rmr->key != 0) { /* a peer that stands still loses its connection */
            dm_ofi_key_hide((struct dm_ofi_ia *)ia, rmr->key);
            (void)dm_ofi_far_wait((struct dm_ofi_ia *)ia, rmr->pz, rmr->key);
        }
        dm_ofi_rmr_destroy(rmr);
    }
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

/* May this window be opened now? */
static bool is_allowed(const struct dm_oep *ep, const struct dm_ofi_bind *bind,
                       const DAT_LMR_TRIPLET *triplet)
{
    const struct dm_lmr *lmr = bind->lmr;
    uint64_t offset;
    unsigned need = 0;

    if (bind->rmr->pz != ep->ep.pz)
        return false;
    if (bind->key == 0)
        return true;
    if (lmr->obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_LMR) || lmr->obj.gen != bind->lmr_gen ||
        lmr->key != triplet->lmr_context || lmr->pz != bind->rmr->pz)
        return false;
    offset = triplet->virtual_address - lmr->va;
    if (offset > lmr->len || triplet->segment_length > lmr->len - offset)
        return false;
    /* What peers may do, we must be allowed to do ourselves; everybody may
     * read his own region, see lmr.c. */
    if (((unsigned)bind->priv & ~(unsigned)DAT_MEM_PRIV_REMOTE_READ_FLAG & priv_remote) != 0)
        need = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    return ((unsigned)lmr->priv & need) == need;
}

/* Show the window to peers. */
static bool open_window(struct dm_oep *ep, struct dm_ofi_bind *bind, const DAT_LMR_TRIPLET *triplet)
{
    struct dm_rmr *rmr = bind->rmr;
    struct dm_lmr *lmr = bind->lmr;
    struct dm_ofi_region region = {.key = bind->key,
                                   .pz = rmr->pz,
                                   .is_window = true,
                                   .only = rmr->scope == DAT_RMR_SCOPE_EP ? ep : NULL,
                                   .va = triplet->virtual_address,
                                   .len = triplet->segment_length,
                                   .addr = lmr->addr + (triplet->virtual_address - lmr->va),
                                   .priv = (unsigned)bind->priv & priv_remote};

    if (bind->va_type == DAT_VA_TYPE_ZB)
        region.va = 0;
    if (!dm_ofi_key_open(dm_ofi_ia_of(ep), &region))
        return false;
    unbind(rmr);
    rmr->key = bind->key;
    rmr->lmr = lmr;
    rmr->ep = region.only;
    rmr->triplet = *triplet;
    rmr->priv = bind->priv;
    rmr->va_type = bind->va_type;
    lmr->n_binds++;
    bind->key = 0;
    return true;
}

int dm_ofi_rmr_exec(struct dm_oep *ep, const struct dm_ofi_dto *dto)
{
    struct dm_ofi_ia *ia = dm_ofi_ia_of(ep);
    struct dm_rmr *rmr = dto->bind->rmr;

    if (!is_allowed(ep, dto->bind, dto->seg))
        return -FI_EINVAL;
    /* A write that is under way may arrive until the bind has completed; if it
     * found the window shut, the fabric would break the connection. */
    if (rmr->key != 0)
        dm_ofi_key_hide(ia, rmr->key);
    if (rmr->key != 0 && !dm_ofi_far_is_confirmed(ia, rmr->pz))
        return -FI_EBUSY;
    if (dto->bind->key != 0)
        return open_window(ep, dto->bind, dto->seg) ? 0 : -FI_ENOMEM;
    unbind(rmr);
    return 0;
}

void dm_ofi_rmr_bound(const struct dm_ofi_dto *dto)
{
    struct dm_ofi_bind *bind = dto->bind;

    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)bind->rmr->obj.ia;

    bind->rmr->n_pending--;
    if (bind->rmr->key != 0 && dm_ofi_key_region(ia, bind->rmr->key) == NULL)
        unbind(bind->rmr); /* flushed half-way */
    if (bind->key != 0)
        dm_ofi_key_free(ia, bind->key);
    free(bind);
}

void dm_ofi_rmr_ep_down(struct dm_oep *ep)
{
    dm_list_for_each (it, &ep->ep.obj.ia->objs[DAT_HANDLE_TYPE_RMR]) {
        struct dm_rmr *rmr = dm_container_of(it, struct dm_rmr, obj.link);

        if (rmr->key != 0 && rmr->ep == ep)
            unbind(rmr);
    }
}

bool dm_ofi_rmr_invalidate(struct dm_oep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->ep.obj.ia->objs[DAT_HANDLE_TYPE_RMR]) {
        struct dm_rmr *rmr = dm_container_of(it, struct dm_rmr, obj.link);

        if (rmr->key != key || key == 0)
            continue;
        if (rmr->pz != ep->ep.pz || (rmr->scope == DAT_RMR_SCOPE_EP && rmr->ep != ep))
            return false;
        unbind(rmr);
        return true;
    }
    return false;
}

/* Reserve what the bind needs; ia->lock is held. */
static DAT_RETURN bind_new(const struct dm_ofi_bind *want, bool is_unbind,
                           struct dm_ofi_bind **bind_p)
{
    struct dm_ofi_bind *bind = malloc(sizeof(*bind));

    if (bind == NULL)
        return DM_DAT_NOMEM;
    *bind = *want;
    if (!is_unbind) {
        bind->key = dm_ofi_key_new((struct dm_ofi_ia *)bind->rmr->obj.ia);
        if (bind->key == 0) {
            free(bind);
            return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
        }
    }
    bind->rmr->n_pending++;
    *bind_p = bind;
    return DAT_SUCCESS;
}

static DAT_RETURN bind_check(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                             struct dm_ofi_bind *want)
{
    want->rmr = dm_obj_get(rmr, DAT_HANDLE_TYPE_RMR);
    if (want->rmr == NULL)
        return BAD_RMR;
    if (triplet == NULL)
        return DM_DAT_ARG(3);
    if (((unsigned)want->priv & ~priv_known) != 0)
        return DM_DAT_ARG(4);
    if (want->va_type != DAT_VA_TYPE_VA && want->va_type != DAT_VA_TYPE_ZB)
        return DM_DAT_ARG(5);
    if (triplet->segment_length == 0)
        return DAT_SUCCESS;
    want->lmr = dm_obj_get(lmr, DAT_HANDLE_TYPE_LMR);
    if (want->lmr == NULL || want->lmr->obj.ia != want->rmr->obj.ia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    want->lmr_gen = want->lmr->obj.gen;
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
                           DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
                           DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
                           DAT_RMR_CONTEXT *context_p)
{
    struct dm_oep *ep = dm_obj_get(ep_handle, DAT_HANDLE_TYPE_EP);
    struct dm_ofi_bind want = {.priv = priv, .va_type = va_type};
    struct dm_ofi_dto dto = {.kind = DM_OP_BIND, .flags = flags, .n_seg = 1, .seg = triplet};
    DAT_RETURN ret = bind_check(rmr, lmr, triplet, &want);
    struct dm_pia *ia;

    if (ret != DAT_SUCCESS)
        return ret;
    ia = want.rmr->obj.ia;
    if (ep == NULL || ep->ep.obj.ia != ia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    memcpy(&dto.cookie, &cookie, sizeof(dto.cookie));
    pthread_mutex_lock(&ia->lock);
    ret = bind_new(&want, triplet->segment_length == 0, &dto.bind);
    pthread_mutex_unlock(&ia->lock);
    if (ret != DAT_SUCCESS)
        return ret;
    dto.remote.virtual_address = (uint64_t)(uintptr_t)want.rmr; /* for the completion */
    if (context_p != NULL)
        *context_p = dto.bind->key; /* before anybody can see the completion */
    ret = dm_ofi_post(ep, &dto);
    if (ret == DAT_SUCCESS)
        return DAT_SUCCESS;
    pthread_mutex_lock(&ia->lock);
    dm_ofi_rmr_bound(&dto);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
