/*
 * Protection zones.
 */
#include "providers/common/pz.h"

DAT_RETURN dm_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_p)
{
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_pz *pz;

    if (ia == NULL)
        return DM_DAT_BAD(IA);
    if (pz_p == NULL)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&ia->lock);
    pz = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_PZ, sizeof(*pz));
    if (pz != NULL)
        pz->id = ++ia->last_pz_id;
    pthread_mutex_unlock(&ia->lock);
    if (pz == NULL)
        return DM_DAT_NOMEM;
    *pz_p = (DAT_PZ_HANDLE)pz;
    return DAT_SUCCESS;
}

DAT_RETURN dm_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
    struct dm_pz *pz = dm_obj_get(handle, DAT_HANDLE_TYPE_PZ);

    (void)mask;
    if (pz == NULL)
        return DM_DAT_BAD(PZ);
    if (param == NULL)
        return DM_DAT_ARG(3);
    param->ia_handle = dm_obj_ia_handle(pz->obj.ia);
    return DAT_SUCCESS;
}

DAT_RETURN dm_pz_free(DAT_PZ_HANDLE handle)
{
    struct dm_pz *pz = dm_obj_get(handle, DAT_HANDLE_TYPE_PZ);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (pz == NULL)
        return DM_DAT_BAD(PZ);
    ia = pz->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (pz->n_refs > 0)
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
    else
        dm_obj_free(pz);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
