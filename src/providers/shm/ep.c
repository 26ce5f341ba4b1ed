/*
 * Endpoints: life cycle, and the beginning and end of a connection as far as
 * the queues are concerned.
 */
#include "providers/shm/ep.h"

#include <string.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/dto.h"
#include "providers/shm/recv.h"
#include "providers/shm/srq.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/transport/quiesce.h"

/* Where the peer reports its events. */
static void ep_publish_rings(struct dm_shm_ep *ep)
{
    struct dm_shm_seg *seg = &dm_shm_ia_of(ep)->seg;

    atomic_store(&ep->sh->recv_ring,
                 ep->ep.recv_evd != NULL ? dm_shm_seg_offset(seg, ep->ep.recv_evd->ring) : 0);
    atomic_store(&ep->sh->conn_ring,
                 ep->ep.connect_evd != NULL ? dm_shm_seg_offset(seg, ep->ep.connect_evd->ring) : 0);
}

/* Show the peer what the endpoint is made of. */
static void ep_publish(struct dm_shm_ep *ep)
{
    ep->pz_id = ep->ep.pz != NULL ? ep->ep.pz->id : 0;
    ep->sh->pz = ep->pz_id;
    ep->sh->handle = (uint64_t)(uintptr_t)ep;
    ep->sh->gen = ep->ep.obj.gen & DM_TAG_GEN_MASK;
    ep->sh->recv_notify = ep->ep.attr.recv_completion_flags;
    ep_publish_rings(ep);
}

DAT_RETURN dm_shm_ep_create(struct dm_ep *any)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)any->obj.ia;
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;

    ep->keys = ia->seg.hdr->keys;
    ep->pid = ia->pia.pid;
    ep->alive = ia->pia.alive;
    dm_list_init(&ep->queue);
    ep->sh = dm_shm_seg_alloc(&ia->seg, sizeof(*ep->sh));
    if (ep->sh == NULL)
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
    if (!dm_shm_recv_alloc(ep)) {
        dm_shm_seg_free(&ia->seg, ep->sh);
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
    }
    ep->srq = (struct dm_shm_srq *)any->srq;
    if (ep->srq != NULL)
        ep->sh->srq = dm_shm_seg_offset(&ia->seg, ep->srq->sh);
    dm_shm_recv_intent_clear(ep);
    dm_shm_ep_marks_init(ep);
    ep_publish(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_ep_modified(struct dm_ep *any, bool is_queue_new)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;

    ep_publish(ep);
    dm_shm_ep_marks_init(ep);
    if (is_queue_new && !dm_shm_recv_alloc(ep))
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
    return DAT_SUCCESS;
}

void dm_shm_ep_is_idle(struct dm_ep *any, bool *is_recv_idle_p, bool *is_request_idle_p)
{
    const struct dm_shm_ep *ep = (const struct dm_shm_ep *)any;

    *is_recv_idle_p = atomic_load(&ep->sh->recv_head) == atomic_load(&ep->sh->recv_tail);
    *is_request_idle_p = ep->n_queued == 0;
}

static void ep_drop_peer(struct dm_shm_ep *ep)
{
    ep->peer_sh = NULL;
    if (ep->peer != NULL)
        dm_shm_peer_put(dm_shm_ia_of(ep), ep->peer);
    ep->peer = NULL;
}

void dm_shm_ep_reset(struct dm_ep *any)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;

    ep_drop_peer(ep);
    ep_publish(ep);
    ep->recv.n_posted = 0;
    ep->n_signalled = 0;
    ep->n_signalled_locked = 0;
    atomic_store(&ep->sh->n_taken, 0);
    atomic_store(&ep->sh->n_reaped, 0);
    dm_shm_recv_intent_clear(ep);
    atomic_store(&ep->sh->is_stalled, 0);
}

static void ep_down_end(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event);

/* The counter of dequeued receives in the segment goes. */
static void ep_hide_reaped(struct dm_shm_ep *ep)
{
    struct dm_evd *evd = ep->ep.recv_evd;

    if (atomic_load(&ep->ep.n_recv_shown) == NULL)
        return;
    if (evd != NULL && ep->ep.obj.ia->is_threadsafe)
        pthread_mutex_lock(&evd->lock); /* somebody may be dequeuing */
    atomic_store(&ep->ep.n_recv_shown, NULL);
    if (evd != NULL && ep->ep.obj.ia->is_threadsafe)
        pthread_mutex_unlock(&evd->lock);
}

void dm_shm_ep_destroy(struct dm_ep *any)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;
    struct dm_shm_seg *seg = &dm_shm_ia_of(ep)->seg;

    if (ep->conn != NULL)
        dm_shm_ep_down(ep, 0, DM_CTRL_DISCONNECT);
    if (ep->conn != NULL) { /* dying, and everything is to be closed */
        (void)dm_shm_quiesce(dm_shm_ia_of(ep), ep);
        ep_down_end(ep, 0);
    }
    dm_shm_recv_flush(ep);
    ep_drop_peer(ep);
    if (ep->recv.mem != NULL)
        dm_shm_seg_free(seg, ep->recv.mem);
    if (ep->stage.buf != NULL)
        dm_shm_seg_free(seg, ep->stage.buf);
    ep_hide_reaped(ep);
    dm_shm_seg_free(seg, ep->sh);
}

/* Break the connection; false: its peer has been in the middle of a transfer
 * for seconds, and may still write to the receives' buffers. */
bool dm_shm_ep_close(struct dm_ep *any)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;

    if (ep->conn == NULL)
        return true;
    ep->conn->last_event = 0; /* of a disconnect that is pending */
    dm_shm_ep_down(ep, 0, DM_CTRL_DISCONNECT);
    if (ep->conn != NULL)
        (void)dm_shm_quiesce(dm_shm_ia_of(ep), ep);
    return !dm_shm_ep_down_retry(ep);
}

/* What a dead peer has left in our rings and queues. One that lives has left
 * nothing, as it is not in the middle of an operation. */
static void ep_invalidate_claims(struct dm_shm_ep *ep)
{
    struct dm_shm_conn *conn = ep->conn;

    dm_shm_recv_recover(ep, conn->owner);
    if (!conn->is_peer_gone && (ep->peer_sh == NULL || (atomic_load(&ep->peer_sh->busy) & 1) == 0))
        return;
    if (ep->ep.recv_evd != NULL)
        dm_evd_ring_invalidate(ep->ep.recv_evd->ring, ep->ep.recv_evd->head, conn->owner);
    if (ep->ep.connect_evd != NULL)
        dm_evd_ring_invalidate(ep->ep.connect_evd->ring, ep->ep.connect_evd->head, conn->owner);
}

bool dm_shm_evd_moved(struct dm_pia *pia, struct dm_evd *evd, bool is_before)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    dm_list_for_each (it, &pia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        if (!is_before)
            ep_publish_rings(ep);
        else if (ep->ep.recv_evd == evd)
            atomic_store(&ep->sh->recv_ring, 0);
        if (ep->ep.connect_evd == evd && is_before)
            atomic_store(&ep->sh->conn_ring, 0);
        if (!is_before && ep->ep.recv_evd == evd && ep->conn != NULL &&
            atomic_exchange(&ep->sh->is_stalled, 0) != 0)
            dm_shm_ctrl_send_type(ep->conn, DM_CTRL_NOTIFY);
    }
    if (!is_before)
        return true;
    if (!dm_shm_quiesce(ia, NULL))
        return false;
    dm_list_for_each (it, &pia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        if (ep->ep.recv_evd != evd)
            continue;
        if (ep->conn != NULL)
            ep_invalidate_claims(ep);
        dm_shm_recv_intent_clear(ep);
    }
    return true;
}

/* Where the peer's receives are; what it declares has been checked. */
static void ep_find_peer_recvs(struct dm_shm_ep *ep)
{
    uint32_t stride = ep->peer_sh->recv_stride;
    uint32_t n;

    ep->peer_recv.descs = (char *)ep->peer->hdr + ep->peer_sh->recvs;
    ep->peer_recv.mask = ep->peer_sh->recv_mask;
    ep->peer_recv.stride = stride;
    if (ep->peer_sh->recvs == 0) { /* none: any place will do */
        ep->peer_recv.mask = 0;
        stride = sizeof(struct dm_shm_recv);
    }
    n = (uint32_t)((stride - sizeof(struct dm_shm_recv)) / sizeof(DAT_LMR_TRIPLET));
    ep->peer_recv.max_iov = n < DM_IOV_MAX ? n : DM_IOV_MAX;
}

void dm_shm_ep_attach(struct dm_shm_ep *ep, struct dm_shm_conn *conn)
{
    ep->conn = conn;
    conn->ep = ep;
    if (conn->state != DM_CONN_REQUESTED) /* of an active one the first time */
        dm_shm_ctrl_ring_clear(conn);
    if (conn->peer == NULL)
        return;
    dm_shm_peer_hold(conn->peer);
    ep_drop_peer(ep);
    ep->peer = conn->peer;
    ep->peer_sh = (struct dm_shm_link_ep *)(void *)((char *)conn->peer->hdr + conn->peer_ep);
    ep_find_peer_recvs(ep);
    ep->peer_up = dm_shm_link_word(conn->peer_id, DM_LINK_UP);
    ep->peer_owner = conn->peer_owner;
    ep->peer_recv.srq = NULL;
    if (ep->peer_sh->srq != 0)
        ep->peer_recv.srq = (void *)((char *)conn->peer->hdr + ep->peer_sh->srq);
    ep->claim.is_held = false;
    ep->is_mark_due = false;
    ep->peer_only = DM_SHM_ONLY(conn->peer_ep);
    memset(ep->rkeys, 0, sizeof(ep->rkeys));
    /* Any valid address, so that a lookup need not ask. */
    for (int i = 0; i < DM_SHM_RKEYS; i++)
        ep->rkeys[i].entry = conn->peer->hdr->keys;
    ep->need_fence = !dm_shm_ia_of(ep)->seg.hdr->has_membarrier || !conn->peer->hdr->has_membarrier;
}

void dm_shm_ep_established(struct dm_shm_ep *ep)
{
    ep->conn->state = DM_CONN_UP;
    ep->conn->was_up = true;
    atomic_store(&ep->ep.state, DAT_EP_STATE_CONNECTED);
    dm_shm_ep_set_sync(ep);
}

void dm_shm_ep_refresh(struct dm_ep *ep)
{
    dm_shm_ep_check_up((struct dm_shm_ep *)ep);
}

bool dm_shm_ep_has_received(struct dm_ep *any)
{
    const struct dm_shm_ep *ep = (const struct dm_shm_ep *)any;

    return ep->conn == NULL || ep->peer_sh == NULL ||
           atomic_load(&ep->peer_sh->busy) > ep->sh->up_busy;
}

void dm_shm_ep_check_up(struct dm_shm_ep *ep)
{
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_COMPLETION_PENDING && ep->conn != NULL &&
        atomic_load(&ep->sh->link) == dm_shm_link_word(ep->conn->id, DM_LINK_UP))
        dm_shm_ep_established(ep);
}

/* The peer will not touch our memory any more: flush everything. */
static void ep_down_end(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event)
{
    struct dm_shm_conn *conn = ep->conn;
    bool was_up = conn != NULL && conn->was_up;

    atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECTED);
    if (conn != NULL) {
        ep_invalidate_claims(ep);
        if (ep->srq != NULL)
            dm_shm_srq_reclaim(ep, conn->owner);
        dm_shm_conn_close(conn);
    }
    dm_shm_dto_flush(ep);
    dm_shm_recv_flush(ep);
    dm_shm_marks_check(ep);
    if (ep->srq != NULL && event != 0 && was_up) /* no more receives of the SRQ come from it */
        dm_evd_add_async(ep->ep.obj.ia->async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                         DAT_EP_TRANSFER_TO_ERROR);
    if (event != 0)
        dm_evd_add_conn(ep->ep.connect_evd, event, (DAT_EP_HANDLE)ep, NULL, 0);
}

void dm_shm_ep_down(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event, uint32_t msg)
{
    struct dm_shm_conn *conn = ep->conn;
    uint64_t link = atomic_exchange(&ep->sh->link, DM_LINK_DOWN);

    if (conn != NULL && conn->state == DM_CONN_ACCEPTED &&
        link == dm_shm_link_word(conn->id, DM_LINK_UP))
        conn->was_up = true; /* the peer has confirmed, and has no socket any more */
    dm_rmr_ep_down(&ep->ep);
    ep->ep.is_draining = false;
    if (conn != NULL && conn->state != DM_CONN_QUIESCING) {
        atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
        dm_shm_ep_set_sync(ep);
        conn->last_event = event;
        if (msg != DM_CTRL_NONE)
            dm_shm_ctrl_send_type(conn, (enum dm_shm_ctrl_type)msg);
        conn->state = DM_CONN_QUIESCING;
        dm_shm_src_watch(conn->ia, &conn->src);
    }
    if (conn == NULL)
        ep_down_end(ep, event);
    else if (dm_shm_is_quiet(ep))
        ep_down_end(ep, conn->last_event);
    else
        dm_shm_kick(ep->ep.obj.ia); /* which tries again and again */
}

bool dm_shm_ep_down_retry(struct dm_shm_ep *ep)
{
    if (ep->conn != NULL && ep->conn->state == DM_CONN_QUIESCING && dm_shm_is_quiet(ep))
        ep_down_end(ep, ep->conn->last_event);
    return ep->conn != NULL;
}
