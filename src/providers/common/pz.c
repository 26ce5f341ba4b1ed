/*
 * Protection zones, and queries of objects that need nothing else.
 */
#include "providers/common/ep.h"

#include <string.h>

#include "providers/common/init.h"

#define BAD_PZ DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ)

DAT_RETURN dm_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_p)
{
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_pz *pz;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
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
        return BAD_PZ;
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
        return BAD_PZ;
    ia = pz->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (pz->n_refs > 0)
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
    else
        dm_obj_free(pz);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
    struct dm_sp *sp = dm_obj_get(handle, DAT_HANDLE_TYPE_PSP);

    (void)mask;
    if (sp == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(sp->obj.ia);
    param->conn_qual = sp->qual;
    param->evd_handle = sp->evd;
    param->psp_flags = sp->flags;
    return DAT_SUCCESS;
}

DAT_RETURN dm_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
    struct dm_sp *sp = dm_obj_get(handle, DAT_HANDLE_TYPE_RSP);

    (void)mask;
    if (sp == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(sp->obj.ia);
    param->conn_qual = sp->qual;
    param->evd_handle = sp->evd;
    param->ep_handle = sp->ep;
    return DAT_SUCCESS;
}

DAT_RETURN dm_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
    struct dm_cr *cr = dm_obj_get(handle, DAT_HANDLE_TYPE_CR);

    (void)mask;
    if (cr == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote_addr;
    param->remote_port_qual = cr->remote_qual;
    param->private_data_size = cr->private_len;
    param->private_data = cr->private_data;
    param->local_ep_handle = cr->ep;
    return DAT_SUCCESS;
}

void dm_prov_table_common(DAT_PROVIDER *p)
{
    p->cno_create_func = dm_cno_create;
    p->cno_modify_agent_func = dm_cno_modify_agent;
    p->cno_fd_create_func = dm_cno_fd_create;
    p->cno_trigger_func = dm_cno_trigger;
    p->cno_query_func = dm_cno_query;
    p->cno_free_func = dm_cno_free;
    p->cno_wait_func = dm_cno_wait;
    p->cr_query_func = dm_cr_query;
    p->evd_create_func = dm_evd_create;
    p->evd_query_func = dm_evd_query;
    p->evd_modify_cno_func = dm_evd_modify_cno;
    p->evd_enable_func = dm_evd_enable;
    p->evd_disable_func = dm_evd_disable;
    p->evd_wait_func = dm_evd_wait;
    p->evd_resize_func = dm_evd_resize;
    p->evd_post_se_func = dm_evd_post_se;
    p->evd_dequeue_func = dm_evd_dequeue;
    p->evd_free_func = dm_evd_free;
    p->evd_set_unwaitable_func = dm_evd_set_unwaitable;
    p->evd_clear_unwaitable_func = dm_evd_clear_unwaitable;
    p->pz_create_func = dm_pz_create;
    p->pz_query_func = dm_pz_query;
    p->pz_free_func = dm_pz_free;
    p->psp_query_func = dm_psp_query;
    p->rsp_query_func = dm_rsp_query;
    p->ep_query_func = dm_ep_query;
}
