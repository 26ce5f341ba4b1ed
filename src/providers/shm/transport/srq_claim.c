/*
 * Shared receive queues from the side of those who take from them, and what
 * the owner does with receives that were taken and not completed.
 *
 * A taker copies nothing before it owns the descriptor: it claims it with one
 * compare-and-swap of the descriptor's state word, which records the position
 * and the claimer, then helps the head on. It gives the descriptor back before
 * it publishes the completion, so that who dequeues that can post at once.
 * Claims are made with the busy word odd and the link up, so once the owner
 * has taken the link down and waited, none are added and those that are left
 * are the owner's to flush.
 */
#include "providers/shm/srq.h"

#include <string.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/recv.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/transport/quiesce.h"

uint64_t dm_shm_desc_state(uint64_t pos, uint32_t owner, enum dm_desc_phase phase)
{
    return pos << DM_SLOT_POS_SHIFT | (uint64_t)owner << 2 | (uint64_t)phase;
}

static _Atomic uint64_t *order_at(struct dm_shm_hdr *hdr, const struct dm_shm_link_srq *srq,
                                  uint64_t pos)
{
    return (_Atomic uint64_t *)(void *)((char *)hdr + srq->order) + (pos & srq->order_mask);
}

static struct dm_shm_desc *desc_at(struct dm_shm_hdr *hdr, const struct dm_shm_link_srq *srq,
                                   uint32_t idx)
{
    return (void *)((char *)hdr + srq->descs + idx * srq->stride);
}

/* The descriptor at the head in *idx_p, the head in *pos_p; false when there
 * is none. It may have been claimed already. */
static bool srq_head(struct dm_shm_hdr *hdr, struct dm_shm_link_srq *srq, uint64_t *pos_p,
                     uint32_t *idx_p)
{
    for (;;) {
        uint64_t pos = atomic_load_explicit(&srq->head, memory_order_acquire);
        uint64_t word = atomic_load(order_at(hdr, srq, pos));

        *pos_p = pos;
        *idx_p = (uint32_t)(word & (((uint64_t)1 << DM_SLOT_POS_SHIFT) - 1));
        if (word >> DM_SLOT_POS_SHIFT == (pos & (UINT64_MAX >> DM_SLOT_POS_SHIFT)) &&
            *idx_p < srq->n_desc)
            return true;
        if (atomic_load(&srq->head) == pos)
            return false;
    }
}

/* The busy word is odd and the queue stays where it is. */
static bool srq_claim_head(struct dm_shm_ep *ep)
{
    struct dm_shm_hdr *hdr = ep->peer->hdr;
    struct dm_shm_link_srq *srq = ep->peer_recv.srq;
    struct dm_shm_desc *desc;
    uint64_t pos;
    uint32_t idx;
    size_t len;
    bool is_ours = false;

    if (!dm_shm_peer_srq_ok(ep->peer, srq))
        return false;
    do {
        uint64_t state;

        if (!srq_head(hdr, srq, &pos, &idx))
            return false;
        desc = desc_at(hdr, srq, idx);
        state = dm_shm_desc_state(pos, 0, DM_DESC_POSTED);
        is_ours = atomic_compare_exchange_strong(
            &desc->state, &state, dm_shm_desc_state(pos, ep->peer_owner, DM_DESC_CLAIMED));
        state = pos;
        atomic_compare_exchange_strong(&srq->head, &state, pos + 1);
    } while (!is_ours);

    len = sizeof(desc->recv) + desc->recv.n_seg * sizeof(DAT_LMR_TRIPLET);
    if (len > sizeof(ep->claim.recv) || sizeof(desc->state) + len > srq->stride)
        len = 0; /* malformed: nothing fits into that */
    memset(ep->claim.recv, 0, sizeof(desc->recv));
    memcpy(ep->claim.recv, &desc->recv, len);
    ep->claim.pos = pos;
    ep->claim.idx = idx;
    ep->claim.is_held = true;
    return true;
}

/* Fire the watermark if it is armed and has this value. */
static void mark_fire(struct dm_shm_ep *ep, _Atomic uint32_t *mark, uint32_t value)
{
    if (atomic_compare_exchange_strong(mark, &value, (value & ~DM_MARK_ARMED) | DM_MARK_FIRED))
        ep->is_mark_due = true;
}

/* One more has been claimed: is a watermark passed? */
static void marks_count(struct dm_shm_ep *ep)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    uint32_t n_taken = atomic_load_explicit(&peer->n_taken, memory_order_relaxed) + 1;
    uint32_t low = atomic_load(&ep->peer_recv.srq->low);
    uint32_t soft = atomic_load_explicit(&peer->soft, memory_order_relaxed);
    uint64_t n_left = atomic_load(&ep->peer_recv.srq->tail) - (ep->claim.pos + 1);

    atomic_store_explicit(&peer->n_taken, n_taken, memory_order_relaxed);
    if ((low & DM_MARK_ARMED) != 0 && n_left < (low & DM_MARK_NONE))
        mark_fire(ep, &ep->peer_recv.srq->low, low);
    if ((soft & DM_MARK_ARMED) != 0 &&
        n_taken - atomic_load(&peer->n_reaped) > (soft & DM_MARK_NONE))
        mark_fire(ep, &peer->soft, soft);
}

bool dm_shm_srq_is_refused(struct dm_shm_ep *ep)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    uint32_t hard;

    if (ep->peer_recv.srq == NULL || ep->claim.is_held)
        return false;
    hard = atomic_load(&peer->hard);
    return hard != 0 && atomic_load_explicit(&peer->n_taken, memory_order_relaxed) -
                                atomic_load(&peer->n_reaped) >=
                            (hard & DM_MARK_NONE);
}

bool dm_shm_srq_claim(struct dm_shm_ep *ep)
{
    if (ep->claim.is_held)
        return true;
    if (dm_shm_srq_is_refused(ep))
        return false;
    dm_shm_busy_begin(ep);
    if (dm_shm_is_up(ep) && atomic_load(&ep->peer_recv.srq->is_open) != 0 && srq_claim_head(ep))
        marks_count(ep);
    dm_shm_busy_end(ep);
    return ep->claim.is_held;
}

void dm_shm_srq_release(struct dm_shm_ep *ep)
{
    struct dm_shm_desc *desc = desc_at(ep->peer->hdr, ep->peer_recv.srq, ep->claim.idx);

    if (!dm_shm_peer_srq_ok(ep->peer, ep->peer_recv.srq) ||
        ep->claim.idx >= ep->peer_recv.srq->n_desc) {
        ep->claim.is_held = false;
        return;
    }
    atomic_store_explicit(&desc->state, dm_shm_desc_state(ep->claim.pos, 0, DM_DESC_FREE),
                          memory_order_release);
    ep->claim.is_held = false;
}

static struct dm_shm_hdr *own_hdr(struct dm_shm_ep *ep)
{
    return dm_shm_ia_of(ep)->seg.hdr;
}

/* Nobody else may be left to move the head past what a dead process claimed. */
static void srq_help_head(struct dm_shm_ep *ep)
{
    struct dm_shm_hdr *hdr = own_hdr(ep);
    struct dm_shm_link_srq *srq = ep->srq->sh;
    uint64_t pos;
    uint32_t idx;

    while (srq_head(hdr, srq, &pos, &idx) &&
           atomic_load(&desc_at(hdr, srq, idx)->state) != dm_shm_desc_state(pos, 0, DM_DESC_POSTED))
        atomic_compare_exchange_strong(&srq->head, &pos, pos + 1);
}

static bool desc_is_claimed_by(const struct dm_shm_desc *desc, uint32_t owner)
{
    uint64_t mask = dm_shm_desc_state(0, DM_EVD_OWNER_MAX, (enum dm_desc_phase)3);

    return (atomic_load(&desc->state) & mask) == dm_shm_desc_state(0, owner, DM_DESC_CLAIMED);
}

bool dm_shm_srq_has_claim(struct dm_shm_ep *ep, uint32_t owner)
{
    struct dm_shm_link_srq *srq = ep->srq->sh;

    for (uint32_t i = 0; i < srq->n_desc; i++)
        if (desc_is_claimed_by(desc_at(own_hdr(ep), srq, i), owner))
            return true;
    return false;
}

void dm_shm_srq_reclaim(struct dm_shm_ep *ep, uint32_t owner)
{
    struct dm_shm_link_srq *srq = ep->srq->sh;

    for (uint32_t i = 0; i < srq->n_desc; i++) {
        struct dm_shm_desc *desc = desc_at(own_hdr(ep), srq, i);
        uint64_t pos = atomic_load(&desc->state) >> DM_SLOT_POS_SHIFT;
        uint64_t cookie;

        if (!desc_is_claimed_by(desc, owner))
            continue;
        srq_help_head(ep);
        cookie = desc->recv.cookie; /* who posts may have the descriptor from the next line on */
        atomic_store(&desc->state, dm_shm_desc_state(pos, 0, DM_DESC_FREE));
        dm_shm_recv_flush_one(ep, cookie);
    }
}

void dm_shm_srq_notify(struct dm_shm_srq *srq)
{
    if (atomic_exchange(&srq->sh->is_stalled, 0) == 0)
        return;
    dm_list_for_each (it, &srq->srq.obj.ia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        if (ep->srq == srq && ep->conn != NULL && atomic_exchange(&ep->sh->is_stalled, 0) != 0)
            dm_shm_ctrl_send_type(ep->conn, DM_CTRL_NOTIFY);
    }
}

/* Has it fired and not been reported yet? */
static bool mark_has_fired(_Atomic uint32_t *mark)
{
    uint32_t value = atomic_load(mark);

    return (value & DM_MARK_FIRED) != 0 &&
           atomic_compare_exchange_strong(mark, &value, value & ~DM_MARK_FIRED);
}

void dm_shm_srq_mark_check(struct dm_shm_srq *srq)
{
    if (mark_has_fired(&srq->sh->low))
        dm_evd_add_async(srq->srq.obj.ia->async_evd, DM_MARK_EVENT, (DAT_HANDLE)srq,
                         DAT_SRQ_LOW_WATERMARK_EVENT);
}

void dm_shm_marks_check(struct dm_shm_ep *ep)
{
    if (ep->srq == NULL)
        return;
    dm_shm_srq_mark_check(ep->srq);
    if (mark_has_fired(&ep->sh->soft))
        dm_evd_add_async(ep->ep.obj.ia->async_evd, DM_MARK_EVENT, (DAT_HANDLE)ep,
                         DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}
