/*
 * Shared receive queues: the calls.
 */
#include "providers/common/srq.h"

#include <string.h>

#include "providers/common/provider.h"

#define BAD_SRQ DM_DAT_BAD(SRQ)

static DAT_RETURN srq_new(struct dm_pia *ia, struct dm_pz *pz, const DAT_SRQ_ATTR *attr,
                          struct dm_srq **srq_p)
{
    struct dm_srq *srq = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_SRQ, ia->ops->srq.size);
    DAT_RETURN ret;

    if (srq == NULL)
        return DM_DAT_NOMEM;
    srq->attr = *attr;
    srq->pz = pz;
    ret = ia->ops->srq.create(srq);
    if (ret != DAT_SUCCESS) {
        dm_obj_free(srq);
        return ret;
    }
    pz->n_refs++;
    pthread_mutex_init(&srq->post_lock, NULL);
    *srq_p = srq;
    return DAT_SUCCESS;
}

DAT_RETURN dm_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
                         DAT_SRQ_HANDLE *srq_p)
{
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_pz *pz = dm_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
    struct dm_srq *srq = NULL;
    DAT_RETURN ret;

    if (ia == NULL)
        return DM_DAT_BAD(IA);
    if (pz == NULL || pz->obj.ia != ia)
        return DM_DAT_BAD(PZ);
    if (attr == NULL || attr->max_recv_dtos <= 0 || attr->max_recv_dtos > DM_DTO_MAX ||
        attr->max_recv_iov <= 0 || attr->max_recv_iov > DM_IOV_MAX || attr->low_watermark < 0 ||
        attr->low_watermark > attr->max_recv_dtos)
        return DM_DAT_ARG(3);
    if (srq_p == NULL)
        return DM_DAT_ARG(4);
    if (ia->ops->srq.size == 0)
        return DM_DAT(DAT_NOT_IMPLEMENTED, 0);
    pthread_mutex_lock(&ia->lock);
    ret = srq_new(ia, pz, attr, &srq);
    pthread_mutex_unlock(&ia->lock);
    if (ret == DAT_SUCCESS)
        *srq_p = (DAT_SRQ_HANDLE)srq;
    return ret;
}

void dm_srq_destroy(struct dm_srq *srq)
{
    srq->obj.ia->ops->srq.destroy(srq);
    srq->pz->n_refs--;
    pthread_mutex_destroy(&srq->post_lock);
    dm_obj_free(srq);
}

DAT_RETURN dm_srq_free(DAT_SRQ_HANDLE handle)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (srq == NULL)
        return BAD_SRQ;
    ia = srq->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (srq->n_refs > 0)
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    else
        dm_srq_destroy(srq);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);
    uint32_t n_available;
    uint32_t n_outstanding;

    (void)mask;
    if (srq == NULL)
        return BAD_SRQ;
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(srq->obj.ia);
    param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
    param->pz_handle = srq->pz;
    param->max_recv_dtos = srq->attr.max_recv_dtos;
    param->max_recv_iov = srq->attr.max_recv_iov;
    param->low_watermark = srq->attr.low_watermark;
    /* A receive that is completed and posted again while they are counted would count twice. */
    pthread_mutex_lock(&srq->post_lock);
    pthread_mutex_lock(&srq->obj.ia->lock);
    srq->obj.ia->ops->srq.count(srq, &n_available, &n_outstanding);
    param->available_dto_count = (DAT_COUNT)n_available;
    param->outstanding_dto_count = (DAT_COUNT)n_outstanding;
    pthread_mutex_unlock(&srq->obj.ia->lock);
    pthread_mutex_unlock(&srq->post_lock);
    return DAT_SUCCESS;
}

static DAT_RETURN srq_resize_locked(struct dm_srq *srq, DAT_COUNT n)
{
    uint32_t n_available;
    uint32_t n_outstanding;
    DAT_RETURN ret;

    srq->obj.ia->ops->srq.count(srq, &n_available, &n_outstanding);
    if ((uint32_t)n < n_outstanding || n < srq->attr.low_watermark)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    ret = srq->obj.ia->ops->srq.resize(srq, n);
    if (ret == DAT_SUCCESS)
        srq->attr.max_recv_dtos = n;
    return ret;
}

DAT_RETURN dm_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT n)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);
    DAT_RETURN ret;

    if (srq == NULL)
        return BAD_SRQ;
    if (n <= 0 || n > DM_DTO_MAX)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&srq->post_lock);
    pthread_mutex_lock(&srq->obj.ia->lock);
    ret = srq_resize_locked(srq, n);
    pthread_mutex_unlock(&srq->obj.ia->lock);
    pthread_mutex_unlock(&srq->post_lock);
    return ret;
}

DAT_RETURN dm_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);

    if (srq == NULL)
        return BAD_SRQ;
    if (low < 0 || low > srq->attr.max_recv_dtos)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&srq->obj.ia->lock);
    srq->attr.low_watermark = low;
    srq->obj.ia->ops->srq.set_low(srq);
    pthread_mutex_unlock(&srq->obj.ia->lock);
    return DAT_SUCCESS;
}
