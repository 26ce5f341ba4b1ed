/*
 * Receives: posting them, and, from the peer's side, taking them and reporting
 * their completion.
 *
 * Invariant: recv_tail is written by the owner only, recv_head by the peer
 * only while it is connected with its busy word odd, and by the owner once the
 * connection is over.
 */
#include "providers/shm/recv.h"

#include <string.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/srq.h"
#include "providers/shm/transport/peer.h"

bool dm_shm_recv_alloc(struct dm_shm_ep *ep)
{
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);
    uint32_t n = 1;
    uint32_t stride = (uint32_t)(sizeof(struct dm_shm_recv) +
                                 (size_t)ep->ep.attr.max_recv_iov * sizeof(DAT_LMR_TRIPLET));

    if (ep->recv.mem != NULL)
        dm_shm_seg_free(&ia->seg, ep->recv.mem);
    ep->recv.mem = NULL;
    if (ep->ep.attr.max_recv_dtos == 0)
        return true;
    while (n < (uint32_t)ep->ep.attr.max_recv_dtos)
        n *= 2;
    ep->recv.mem = dm_shm_seg_alloc(&ia->seg, (size_t)n * stride);
    if (ep->recv.mem == NULL)
        return false;
    ep->sh->recvs = dm_shm_seg_offset(&ia->seg, ep->recv.mem);
    ep->sh->recv_mask = n - 1;
    ep->sh->recv_stride = stride;
    return true;
}

/* The receive is published: notify the peer if it waits for one. */
static void recv_posted(struct dm_shm_ep *ep)
{
    struct dm_pia *ia = ep->ep.obj.ia;

    if (dm_likely(atomic_load(&ep->sh->is_stalled) == 0 &&
                  atomic_load(&ep->ep.state) != DAT_EP_STATE_DISCONNECTED))
        return;
    pthread_mutex_lock(&ia->lock);
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_DISCONNECTED)
        dm_shm_recv_flush(ep);
    else if (atomic_exchange(&ep->sh->is_stalled, 0) != 0 && ep->conn != NULL)
        dm_shm_ctrl_send_type(ep->conn, DM_CTRL_NOTIFY);
    pthread_mutex_unlock(&ia->lock);
}

static DAT_RETURN recv_add(struct dm_shm_ep *ep, uint32_t n, const DAT_LMR_TRIPLET *seg,
                           DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    uint32_t used =
        ep->recv.n_posted - atomic_load_explicit(&ep->ep.n_recv_reaped, memory_order_acquire);
    struct dm_shm_recv *recv;

    if (used >= (uint32_t)ep->ep.attr.max_recv_dtos)
        return DM_DAT_NOMEM;
    recv = (struct dm_shm_recv *)(void *)(ep->recv.mem +
                                          (uint64_t)(ep->recv.tail & ep->sh->recv_mask) *
                                              ep->sh->recv_stride);
    recv->cookie = cookie.as_64;
    recv->n_seg = n;
    recv->flags = (uint32_t)flags;
    if (n > 0)
        memcpy(recv->seg, seg, n * sizeof(*seg));
    ep->recv.n_posted++;
    ep->recv.tail++;
    /* Sequentially consistent: before the look at is_stalled and state. */
    atomic_store(&ep->sh->recv_tail, ep->recv.tail);
    recv_posted(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)handle;
    DAT_RETURN ret = dm_recv_check(handle, n, seg, flags);

    if (ret != DAT_SUCCESS)
        return ret;
    if (ep->recv.mem == NULL) /* there was no memory for the queue */
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV);
    if (!ep->ep.obj.ia->is_threadsafe)
        return recv_add(ep, (uint32_t)n, seg, cookie, flags);
    pthread_mutex_lock(&ep->ep.recv_lock);
    ret = recv_add(ep, (uint32_t)n, seg, cookie, flags);
    pthread_mutex_unlock(&ep->ep.recv_lock);
    return ret;
}

void dm_shm_recv_flush_one(struct dm_shm_ep *ep, uint64_t cookie)
{
    DAT_DTO_COMPLETION_EVENT_DATA dto = {.ep_handle = (DAT_EP_HANDLE)ep,
                                         .user_cookie = {.as_64 = cookie},
                                         .status = DAT_DTO_ERR_FLUSHED,
                                         .operation = DAT_DTO_RECEIVE};

    dm_evd_add_dto(ep->ep.recv_evd, &dto, DM_TAG(ep->ep.obj.gen, DM_TAG_RECV));
}

void dm_shm_recv_flush(struct dm_shm_ep *ep)
{
    uint32_t head = atomic_load(&ep->sh->recv_head);
    uint32_t tail = atomic_load(&ep->sh->recv_tail);

    for (; head != tail; head++) {
        const struct dm_shm_recv *recv =
            (const void *)(ep->recv.mem +
                           (uint64_t)(head & ep->sh->recv_mask) * ep->sh->recv_stride);

        dm_shm_recv_flush_one(ep, recv->cookie);
    }
    atomic_store(&ep->sh->recv_head, tail);
}

void dm_shm_recv_intent_clear(struct dm_shm_ep *ep)
{
    atomic_store(&ep->sh->intent, DM_INTENT_NONE);
}

void dm_shm_recv_recover(struct dm_shm_ep *ep, uint32_t owner)
{
    struct dm_evd *evd = ep->ep.recv_evd;
    uint64_t note = atomic_load(&ep->sh->intent);
    bool is_off_queue = ep->srq != NULL ? !dm_shm_srq_has_claim(ep, owner)
                                        : DM_INTENT_IS(note, atomic_load(&ep->sh->recv_head) - 1);

    if (evd == NULL || note == DM_INTENT_NONE || !is_off_queue)
        return;
    if (DM_INTENT_POS(note) == DM_INTENT_FULL)
        dm_evd_overflow(evd);
    else if (dm_evd_ring_is_claimed(evd->ring, DM_INTENT_POS(note), owner))
        dm_shm_recv_flush_one(ep, ep->sh->intent_cookie);
    dm_shm_recv_intent_clear(ep);
}

/* The busy word is odd, or it will be checked again when it is. */
static inline const struct dm_shm_recv *recv_head(struct dm_shm_ep *ep, uint32_t head)
{
    return (const void *)(ep->peer_recv.descs +
                          (uint64_t)(head & ep->peer_recv.mask) * ep->peer_recv.stride);
}

bool dm_shm_recv_peek(struct dm_shm_ep *ep, struct dm_shm_target_recv *t)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;

    if (ep->peer_recv.srq != NULL) {
        t->recv = (const void *)ep->claim.recv;
        return dm_shm_srq_claim(ep);
    }
    t->number = atomic_load_explicit(&peer->recv_head, memory_order_relaxed);
    t->recv = recv_head(ep, t->number);
    return atomic_load_explicit(&peer->recv_tail, memory_order_acquire) != t->number &&
           dm_likely(t->recv->n_seg <= ep->peer_recv.max_iov);
}

bool dm_shm_recv_take(struct dm_shm_ep *ep, struct dm_shm_target_recv *t)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    uint64_t ring = atomic_load_explicit(&peer->recv_ring, memory_order_relaxed);

    /* Nobody else takes it, but the rings may be being moved. The one that is
     * there now stays until the busy word is even. */
    if (ring == 0)
        return false;
    t->ring = dm_shm_peer_ring(ep->peer, ring);
    if (ep->peer_recv.srq != NULL)
        return ep->claim.is_held && atomic_load(&ep->peer_recv.srq->is_open) != 0;
    return atomic_load_explicit(&peer->recv_tail, memory_order_acquire) != t->number;
}

/* Take it off the queue, after recording where its completion will be. */
static inline void recv_take_off(struct dm_shm_ep *ep, const struct dm_shm_target_recv *t,
                                 uint64_t cookie, uint64_t pos)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;

    peer->intent_cookie = cookie;
    atomic_store_explicit(&peer->intent, DM_INTENT(t->number, pos), memory_order_release);
    if (ep->peer_recv.srq != NULL)
        dm_shm_srq_release(ep);
    else
        atomic_store_explicit(&peer->recv_head, t->number + 1, memory_order_release);
}

void dm_shm_recv_done(struct dm_shm_ep *ep, const struct dm_shm_target_recv *t,
                      const struct dm_shm_recv_cqe *how, struct dm_shm_result *res)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    DAT_DTO_COMPLETION_EVENT_DATA dto = {.user_cookie = {.as_64 = t->recv->cookie},
                                         .status = how->status,
                                         .transfered_length = (DAT_SEG_LENGTH)how->len,
                                         .operation = how->operation,
                                         .rmr_context = how->rmr_context};
    uint64_t pos = DM_INTENT_FULL;
    struct dm_evd_slot *slot =
        dm_likely(t->ring != NULL) ? dm_evd_ring_claim(t->ring, ep->peer_owner, &pos) : NULL;
    enum dm_evd_added added = DM_EVD_FULL;

    memcpy(&dto.ep_handle, &peer->handle, sizeof(peer->handle));
    recv_take_off(ep, t, dto.user_cookie.as_64, pos);
    if (slot != NULL) {
        slot->item = dm_evd_item_dto(&dto, DM_TAG(peer->gen, DM_TAG_RECV));
        if (dm_unlikely(how->number != 0)) {
            slot->item.number = how->number;
            slot->item.ext = how->ext;
            slot->item.data[DM_ITEM_EXTRA] = how->extra;
        }
        added = dm_evd_ring_publish(t->ring, slot, pos, ep->peer_owner, how->is_quiet);
    }
    res->is_notify = added == DM_EVD_ADDED_AGENT || ep->is_mark_due;
    ep->is_mark_due = false;
    res->is_overflow = added == DM_EVD_FULL;
    if (added == DM_EVD_FULL)
        res->status = DAT_DTO_ERR_REMOTE_RESPONDER;
}
