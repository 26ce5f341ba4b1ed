/*
 * Shared receive queues: the owner's side (uDAPL 2.0, dat_srq_*), and the
 * watermarks.
 *
 * Invariant: a descriptor moves FREE -> POSTED by the owner only, and from
 * there to CLAIMED and FREE by whoever takes it. At most attr.max_recv_dtos
 * descriptors are not FREE; "outstanding" is their number, "available" that of
 * the POSTED ones. The ring has room for all descriptors, and the head cannot
 * pass one that is POSTED, so the slot at the tail is always free for who has
 * found a FREE descriptor.
 *
 * An SRQ and its endpoints have one PZ. The watermark given on creation is
 * what a query shows; dat_srq_set_lw() arms it for one event. The numbers of
 * the events are explained at DM_SHM_MARK_EVENT.
 */
#include "providers/shm/srq.h"

#include <string.h>

#include "providers/shm/calls.h"

#define BAD_SRQ DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)
#define NO_ROOM DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ)

static struct dm_shm_desc *desc_of(struct dm_srq *srq, uint32_t idx)
{
    return (void *)(srq->descs + idx * srq->sh->stride);
}

static bool is_free(struct dm_srq *srq, uint32_t idx)
{
    return (atomic_load_explicit(&desc_of(srq, idx)->state, memory_order_acquire) & 3u) ==
           DM_DESC_FREE;
}

/* Descriptors from first on that are not free. */
static uint32_t count_used(struct dm_srq *srq, uint32_t first)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < srq->sh->n_desc; i++)
        n += is_free(srq, i) ? 0 : 1;
    return n;
}

/* Room for n descriptors and their ring; what is posted moves there. False
 * when the segment is full. Nobody takes. */
static bool grow(struct dm_srq *srq, uint32_t n)
{
    struct dm_shm_seg *seg = &((struct dm_shm_ia *)srq->obj.ia)->seg;
    struct dm_shm_link_srq *sh = srq->sh;
    uint64_t n_order = 1;
    char *descs = dm_shm_seg_alloc(seg, n * sh->stride);
    _Atomic uint64_t *order;

    while (n_order < n)
        n_order *= 2;
    order = descs != NULL ? dm_shm_seg_alloc(seg, n_order * sizeof(*order)) : NULL;
    if (order == NULL) {
        if (descs != NULL)
            dm_shm_seg_free(seg, descs);
        return false;
    }
    for (uint64_t i = 0; i < n_order; i++)
        atomic_store_explicit(&order[i], UINT64_MAX, memory_order_relaxed);
    if (srq->descs != NULL) {
        memcpy(descs, srq->descs, sh->n_desc * sh->stride);
        for (uint64_t pos = atomic_load(&sh->head); pos != srq->tail; pos++)
            atomic_store(&order[pos & (n_order - 1)],
                         atomic_load(&srq->order[pos & sh->order_mask]));
        dm_shm_seg_free(seg, srq->descs);
        dm_shm_seg_free(seg, (void *)srq->order);
    }
    srq->descs = descs;
    srq->order = order;
    sh->descs = dm_shm_seg_offset(seg, descs);
    sh->order = dm_shm_seg_offset(seg, (void *)order);
    sh->order_mask = n_order - 1;
    sh->n_desc = n;
    return true;
}

static DAT_RETURN create_locked(struct dm_shm_ia *ia, struct dm_pz *pz, const DAT_SRQ_ATTR *attr,
                                struct dm_srq **srq_p)
{
    struct dm_srq *srq =
        dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));

    if (srq == NULL)
        return DM_DAT_NOMEM;
    srq->sh = dm_shm_seg_alloc(&ia->seg, sizeof(*srq->sh));
    if (srq->sh == NULL)
        goto err_obj;
    srq->attr = *attr;
    srq->sh->stride =
        sizeof(struct dm_shm_desc) + (uint64_t)attr->max_recv_iov * sizeof(DAT_LMR_TRIPLET);
    if (!grow(srq, (uint32_t)attr->max_recv_dtos))
        goto err_sh;
    srq->pz = pz;
    pz->n_refs++;
    pthread_mutex_init(&srq->post_lock, NULL);
    atomic_store(&srq->sh->is_open, 1);
    *srq_p = srq;
    return DAT_SUCCESS;

err_sh:
    dm_shm_seg_free(&ia->seg, srq->sh);
err_obj:
    dm_obj_free(srq);
    return NO_ROOM;
}

DAT_RETURN dm_shm_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
                             DAT_SRQ_HANDLE *srq_p)
{
    struct dm_shm_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_pz *pz = dm_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
    struct dm_srq *srq = NULL;
    DAT_RETURN ret;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (pz == NULL || pz->obj.ia != &ia->pia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (attr == NULL || attr->max_recv_dtos <= 0 || attr->max_recv_dtos > DM_DTO_MAX ||
        attr->max_recv_iov <= 0 || attr->max_recv_iov > DM_IOV_MAX || attr->low_watermark < 0 ||
        attr->low_watermark > attr->max_recv_dtos)
        return DM_DAT_ARG(3);
    if (srq_p == NULL)
        return DM_DAT_ARG(4);
    pthread_mutex_lock(&ia->pia.lock);
    ret = create_locked(ia, pz, attr, &srq);
    pthread_mutex_unlock(&ia->pia.lock);
    if (ret == DAT_SUCCESS)
        *srq_p = (DAT_SRQ_HANDLE)srq;
    return ret;
}

void dm_shm_srq_destroy(struct dm_srq *srq)
{
    struct dm_shm_seg *seg = &((struct dm_shm_ia *)srq->obj.ia)->seg;

    dm_shm_seg_free(seg, srq->descs);
    dm_shm_seg_free(seg, (void *)srq->order);
    dm_shm_seg_free(seg, srq->sh);
    srq->pz->n_refs--;
    pthread_mutex_destroy(&srq->post_lock);
    dm_obj_free(srq);
}

DAT_RETURN dm_shm_srq_free(DAT_SRQ_HANDLE handle)
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
        dm_shm_srq_destroy(srq);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

/* A descriptor to post; false if as many are outstanding as may be. */
static bool find_free(struct dm_srq *srq, uint32_t *idx_p)
{
    uint32_t max = (uint32_t)srq->attr.max_recv_dtos;

    /* After the queue was made smaller: what lies beyond counts as well. */
    if (dm_unlikely(max < srq->sh->n_desc)) {
        if (count_used(srq, max) > 0 && count_used(srq, 0) >= max)
            return false;
    }
    for (uint32_t i = 0; i < max; i++) {
        uint32_t idx = srq->cursor < max ? srq->cursor : 0;

        srq->cursor = idx + 1;
        if (is_free(srq, idx)) {
            *idx_p = idx;
            return true;
        }
    }
    return false;
}

static DAT_RETURN post(struct dm_srq *srq, uint32_t n, const DAT_LMR_TRIPLET *seg,
                       DAT_DTO_COOKIE cookie)
{
    struct dm_shm_link_srq *sh = srq->sh;
    struct dm_shm_desc *desc;
    uint32_t idx;

    if (!find_free(srq, &idx))
        return NO_ROOM;
    desc = desc_of(srq, idx);
    desc->recv.cookie = cookie.as_64;
    desc->recv.n_seg = n;
    desc->recv.flags = 0;
    if (n > 0)
        memcpy(desc->recv.seg, seg, n * sizeof(*seg));
    atomic_store_explicit(&desc->state, dm_shm_desc_state(srq->tail, 0, DM_DESC_POSTED),
                          memory_order_release);
    atomic_store_explicit(&srq->order[srq->tail & sh->order_mask],
                          srq->tail << DM_SLOT_POS_SHIFT | idx, memory_order_release);
    srq->tail++;
    /* Sequentially consistent: before the look at is_stalled. */
    atomic_store(&sh->tail, srq->tail);
    if (dm_unlikely(atomic_load(&sh->is_stalled) != 0)) {
        pthread_mutex_lock(&srq->obj.ia->lock);
        dm_shm_srq_poke(srq);
        pthread_mutex_unlock(&srq->obj.ia->lock);
    }
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie)
{
    struct dm_srq *srq = (struct dm_srq *)handle;
    DAT_RETURN ret;

    if (!dm_obj_is(srq, DAT_HANDLE_TYPE_SRQ))
        return BAD_SRQ;
    if (n < 0 || n > srq->attr.max_recv_iov)
        return DM_DAT_ARG(2);
    if (n > 0 && seg == NULL)
        return DM_DAT_ARG(3);
    if (!srq->obj.ia->is_threadsafe)
        return post(srq, (uint32_t)n, seg, cookie);
    pthread_mutex_lock(&srq->post_lock);
    ret = post(srq, (uint32_t)n, seg, cookie);
    pthread_mutex_unlock(&srq->post_lock);
    return ret;
}

DAT_RETURN dm_shm_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);

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
    pthread_mutex_lock(&srq->obj.ia->lock);
    param->available_dto_count =
        (DAT_COUNT)(atomic_load(&srq->sh->tail) - atomic_load(&srq->sh->head));
    param->outstanding_dto_count = (DAT_COUNT)count_used(srq, 0);
    pthread_mutex_unlock(&srq->obj.ia->lock);
    return DAT_SUCCESS;
}

static DAT_RETURN resize_locked(struct dm_srq *srq, DAT_COUNT n)
{
    DAT_RETURN ret = DAT_SUCCESS;

    if (n < (DAT_COUNT)count_used(srq, 0) || n < srq->attr.low_watermark)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    if ((uint32_t)n > srq->sh->n_desc) {
        atomic_store(&srq->sh->is_open, 0);
        if (!dm_shm_quiesce((struct dm_shm_ia *)srq->obj.ia, NULL))
            ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
        else if (!grow(srq, (uint32_t)n))
            ret = NO_ROOM;
        atomic_store(&srq->sh->is_open, 1);
        dm_shm_srq_poke(srq);
    }
    if (ret == DAT_SUCCESS)
        srq->attr.max_recv_dtos = n;
    return ret;
}

DAT_RETURN dm_shm_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT n)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);
    DAT_RETURN ret;

    if (srq == NULL)
        return BAD_SRQ;
    if (n <= 0 || n > DM_DTO_MAX)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&srq->post_lock);
    pthread_mutex_lock(&srq->obj.ia->lock);
    ret = resize_locked(srq, n);
    pthread_mutex_unlock(&srq->obj.ia->lock);
    pthread_mutex_unlock(&srq->post_lock);
    return ret;
}

DAT_RETURN dm_shm_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low)
{
    struct dm_srq *srq = dm_obj_get(handle, DAT_HANDLE_TYPE_SRQ);
    struct dm_shm_link_srq *sh;

    if (srq == NULL)
        return BAD_SRQ;
    if (low < 0 || low > srq->attr.max_recv_dtos)
        return DM_DAT_ARG(2);
    sh = srq->sh;
    pthread_mutex_lock(&srq->obj.ia->lock);
    dm_shm_srq_mark_check(srq);
    srq->attr.low_watermark = low;
    atomic_store(&sh->low, low > 0 ? (uint32_t)low | DM_MARK_ARMED : 0);
    /* It may be passed already. */
    if (atomic_load(&sh->tail) - atomic_load(&sh->head) < (uint64_t)low) {
        uint32_t armed = (uint32_t)low | DM_MARK_ARMED;

        atomic_compare_exchange_strong(&sh->low, &armed, (uint32_t)low | DM_MARK_FIRED);
        dm_shm_srq_mark_check(srq);
    }
    pthread_mutex_unlock(&srq->obj.ia->lock);
    return DAT_SUCCESS;
}

static bool is_mark(DAT_COUNT value)
{
    return value == DAT_WATERMARK_INFINITE || (value >= 0 && value <= DM_DTO_MAX);
}

static uint32_t mark_of(DAT_COUNT value)
{
    return value == DAT_WATERMARK_INFINITE ? 0 : (uint32_t)value | DM_MARK_ARMED;
}

/* ia->lock is held. */
static void marks_set(struct dm_sep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
    struct dm_evd *evd = ep->ep.recv_evd;
    bool is_safe = ep->ep.obj.ia->is_threadsafe && evd != NULL;

    if (is_safe) /* nobody dequeues in between */
        pthread_mutex_lock(&evd->lock);
    atomic_store(&ep->sh->n_reaped, atomic_load(&ep->ep.n_recv_reaped));
    atomic_store(&ep->ep.n_recv_shown, &ep->sh->n_reaped);
    if (is_safe)
        pthread_mutex_unlock(&evd->lock);
    ep->ep.attr.srq_soft_hw = soft;
    atomic_store(&ep->sh->hard, mark_of(hard));
    atomic_store(&ep->sh->soft, mark_of(soft));
}

void dm_shm_ep_marks_init(struct dm_sep *ep)
{
    DAT_COUNT soft = ep->ep.attr.srq_soft_hw;

    if (soft > 0)
        marks_set(ep, soft, DAT_WATERMARK_INFINITE);
}

DAT_RETURN dm_shm_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);

    if (ep == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (!is_mark(soft))
        return DM_DAT_ARG(2);
    if (!is_mark(hard))
        return DM_DAT_ARG(3);
    if (ep->srq == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RECV_WATERMARK);
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    dm_shm_marks_check(ep);
    marks_set(ep, soft, hard);
    /* It may be passed already. */
    if (soft != DAT_WATERMARK_INFINITE &&
        atomic_load(&ep->sh->n_taken) - atomic_load(&ep->sh->n_reaped) > (uint32_t)soft) {
        uint32_t armed = mark_of(soft);

        atomic_compare_exchange_strong(&ep->sh->soft, &armed, (uint32_t)soft | DM_MARK_FIRED);
        dm_shm_marks_check(ep);
    }
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *n_p, DAT_COUNT *span_p)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_COUNT n;

    if (ep == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    n = (DAT_COUNT)((ep->srq != NULL ? atomic_load(&ep->sh->n_taken) : ep->n_recv_posted) -
                    atomic_load(&ep->ep.n_recv_reaped));
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    if (n < 0)
        n = 0; /* of a peer that died before it had counted */
    if (n_p != NULL)
        *n_p = n;
    if (span_p != NULL)
        *span_p = n; /* messages arrive and complete in order */
    return DAT_SUCCESS;
}
