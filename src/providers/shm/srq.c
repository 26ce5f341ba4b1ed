/*
 * Shared receive queues: the owner's side (uDAPL 2.0, dat_srq_*), and the
 * watermarks.
 *
 * Invariant: a descriptor moves FREE -> POSTED by the owner only, and from
 * there to CLAIMED and FREE by whoever takes it. At most attr.max_recv_dtos
 * descriptors are not FREE; "outstanding" is their number, "available" that of
 * the POSTED ones. The ring has space for all descriptors, and the head cannot
 * pass one that is POSTED, so the slot at the tail is always free for who has
 * found a FREE descriptor.
 *
 * The numbers of the watermarks' events are explained at DM_MARK_EVENT.
 */
#include "providers/shm/srq.h"

#include <string.h>

#include "providers/shm/transport/quiesce.h"

static struct dm_shm_desc *desc_of(struct dm_shm_srq *srq, uint32_t idx)
{
    return (void *)(srq->descs + idx * srq->sh->stride);
}

static bool desc_is_free(struct dm_shm_srq *srq, uint32_t idx)
{
    return (atomic_load_explicit(&desc_of(srq, idx)->state, memory_order_acquire) & 3u) ==
           DM_DESC_FREE;
}

/* Descriptors from first on that are not free. */
static uint32_t desc_count_used(struct dm_shm_srq *srq, uint32_t first)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < srq->sh->n_desc; i++)
        n += desc_is_free(srq, i) ? 0 : 1;
    return n;
}

/* Room for n descriptors and their ring; what is posted moves there. False
 * when the segment is full. Nobody takes. */
static bool srq_grow(struct dm_shm_srq *srq, uint32_t n)
{
    struct dm_shm_seg *seg = &((struct dm_shm_ia *)srq->srq.obj.ia)->seg;
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

DAT_RETURN dm_shm_srq_create(struct dm_srq *any)
{
    struct dm_shm_srq *srq = (struct dm_shm_srq *)any;
    struct dm_shm_seg *seg = &((struct dm_shm_ia *)any->obj.ia)->seg;

    srq->sh = dm_shm_seg_alloc(seg, sizeof(*srq->sh));
    if (srq->sh == NULL)
        return DM_DAT_NO_SRQ;
    srq->sh->stride =
        sizeof(struct dm_shm_desc) + (uint64_t)any->attr.max_recv_iov * sizeof(DAT_LMR_TRIPLET);
    if (!srq_grow(srq, (uint32_t)any->attr.max_recv_dtos)) {
        dm_shm_seg_free(seg, srq->sh);
        return DM_DAT_NO_SRQ;
    }
    atomic_store(&srq->sh->is_open, 1);
    return DAT_SUCCESS;
}

void dm_shm_srq_destroy(struct dm_srq *any)
{
    struct dm_shm_srq *srq = (struct dm_shm_srq *)any;
    struct dm_shm_seg *seg = &((struct dm_shm_ia *)any->obj.ia)->seg;

    dm_shm_seg_free(seg, srq->descs);
    dm_shm_seg_free(seg, (void *)srq->order);
    dm_shm_seg_free(seg, srq->sh);
}

/* A descriptor to post; false if as many are outstanding as may be. */
static bool desc_find_free(struct dm_shm_srq *srq, uint32_t *idx_p)
{
    uint32_t max = (uint32_t)srq->srq.attr.max_recv_dtos;

    /* After the queue was made smaller: what lies beyond counts as well. */
    if (dm_unlikely(max < srq->sh->n_desc)) {
        if (desc_count_used(srq, max) > 0 && desc_count_used(srq, 0) >= max)
            return false;
    }
    for (uint32_t i = 0; i < max; i++) {
        uint32_t idx = srq->cursor < max ? srq->cursor : 0;

        srq->cursor = idx + 1;
        if (desc_is_free(srq, idx)) {
            *idx_p = idx;
            return true;
        }
    }
    return false;
}

static DAT_RETURN srq_post(struct dm_shm_srq *srq, uint32_t n, const DAT_LMR_TRIPLET *seg,
                           DAT_DTO_COOKIE cookie)
{
    struct dm_shm_link_srq *sh = srq->sh;
    struct dm_shm_desc *desc;
    uint32_t idx;

    if (!desc_find_free(srq, &idx))
        return DM_DAT_NO_SRQ;
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
        pthread_mutex_lock(&srq->srq.obj.ia->lock);
        dm_shm_srq_notify(srq);
        pthread_mutex_unlock(&srq->srq.obj.ia->lock);
    }
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie)
{
    struct dm_shm_srq *srq = (struct dm_shm_srq *)handle;
    DAT_RETURN ret = dm_srq_post_check(handle, n, seg);

    if (ret != DAT_SUCCESS)
        return ret;
    if (!srq->srq.obj.ia->is_threadsafe)
        return srq_post(srq, (uint32_t)n, seg, cookie);
    pthread_mutex_lock(&srq->srq.post_lock);
    ret = srq_post(srq, (uint32_t)n, seg, cookie);
    pthread_mutex_unlock(&srq->srq.post_lock);
    return ret;
}

void dm_shm_srq_count(struct dm_srq *any, uint32_t *n_available_p, uint32_t *n_outstanding_p)
{
    struct dm_shm_srq *srq = (struct dm_shm_srq *)any;

    *n_available_p = (uint32_t)(atomic_load(&srq->sh->tail) - atomic_load(&srq->sh->head));
    *n_outstanding_p = desc_count_used(srq, 0);
}

DAT_RETURN dm_shm_srq_resize(struct dm_srq *any, DAT_COUNT n)
{
    struct dm_shm_srq *srq = (struct dm_shm_srq *)any;
    DAT_RETURN ret = DAT_SUCCESS;

    if ((uint32_t)n <= srq->sh->n_desc)
        return DAT_SUCCESS;
    atomic_store(&srq->sh->is_open, 0);
    if (!dm_shm_quiesce((struct dm_shm_ia *)any->obj.ia, NULL))
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
    else if (!srq_grow(srq, (uint32_t)n))
        ret = DM_DAT_NO_SRQ;
    atomic_store(&srq->sh->is_open, 1);
    dm_shm_srq_notify(srq);
    return ret;
}

void dm_shm_srq_set_low(struct dm_srq *any)
{
    struct dm_shm_srq *srq = (struct dm_shm_srq *)any;
    struct dm_shm_link_srq *sh = srq->sh;
    uint32_t low = (uint32_t)any->attr.low_watermark;
    uint32_t armed = low | DM_MARK_ARMED;

    dm_shm_srq_mark_check(srq); /* one that has fired before */
    atomic_store(&sh->low, low > 0 ? armed : 0);
    if (atomic_load(&sh->tail) - atomic_load(&sh->head) < low) {
        atomic_compare_exchange_strong(&sh->low, &armed, low | DM_MARK_FIRED);
        dm_shm_srq_mark_check(srq);
    }
}

static uint32_t mark_word(DAT_COUNT value)
{
    return value == DAT_WATERMARK_INFINITE ? 0 : (uint32_t)value | DM_MARK_ARMED;
}

/* ia->lock is held. */
static void marks_set(struct dm_shm_ep *ep, DAT_COUNT soft, DAT_COUNT hard)
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
    atomic_store(&ep->sh->hard, mark_word(hard));
    atomic_store(&ep->sh->soft, mark_word(soft));
}

void dm_shm_ep_marks_init(struct dm_shm_ep *ep)
{
    DAT_COUNT soft = ep->ep.attr.srq_soft_hw;

    if (soft > 0)
        marks_set(ep, soft, DAT_WATERMARK_INFINITE);
}

void dm_shm_ep_set_marks(struct dm_ep *any, DAT_COUNT soft, DAT_COUNT hard)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;

    dm_shm_marks_check(ep);
    marks_set(ep, soft, hard);
    if (soft != DAT_WATERMARK_INFINITE &&
        atomic_load(&ep->sh->n_taken) - atomic_load(&ep->sh->n_reaped) > (uint32_t)soft) {
        uint32_t armed = mark_word(soft);

        atomic_compare_exchange_strong(&ep->sh->soft, &armed, (uint32_t)soft | DM_MARK_FIRED);
        dm_shm_marks_check(ep);
    }
}

uint32_t dm_shm_ep_n_recvs(struct dm_ep *any)
{
    const struct dm_shm_ep *ep = (const struct dm_shm_ep *)any;

    return ep->srq != NULL ? atomic_load(&ep->sh->n_taken) : ep->recv.n_posted;
}
