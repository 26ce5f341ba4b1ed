/*
 * Endpoints: life cycle, and the beginning and end of a connection as far as
 * the queues are concerned.
 */
#include "providers/shm/calls.h"

#include <string.h>

#include "providers/shm/msg.h"
#include "providers/shm/rmr.h"

#define BAD_EP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

/* Where the peer reports its events. */
static void publish_rings(struct dm_sep *ep)
{
    struct dm_shm_seg *seg = &dm_shm_ia_of(ep)->seg;

    atomic_store(&ep->sh->recv_ring,
                 ep->ep.recv_evd != NULL ? dm_shm_seg_offset(seg, ep->ep.recv_evd->ring) : 0);
    atomic_store(&ep->sh->conn_ring,
                 ep->ep.connect_evd != NULL ? dm_shm_seg_offset(seg, ep->ep.connect_evd->ring) : 0);
}

/* Show the peer what the endpoint is made of. */
static void publish(struct dm_sep *ep)
{
    ep->pz_id = ep->ep.pz != NULL ? ep->ep.pz->id : 0;
    ep->sh->pz = ep->pz_id;
    ep->sh->handle = (uint64_t)(uintptr_t)ep;
    ep->sh->gen = ep->ep.obj.gen & DM_TAG_GEN_MASK;
    ep->sh->recv_notify = ep->ep.attr.recv_completion_flags;
    publish_rings(ep);
}

static DAT_RETURN create_locked(struct dm_shm_ia *ia, const struct dm_ep *want,
                                struct dm_sep **ep_p)
{
    struct dm_sep *ep = dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_EP, sizeof(*ep));

    if (ep == NULL)
        return DM_DAT_NOMEM;
    ep->ep.pz = want->pz;
    ep->ep.recv_evd = want->recv_evd;
    ep->ep.request_evd = want->request_evd;
    ep->ep.connect_evd = want->connect_evd;
    ep->ep.attr = want->attr;
    atomic_store(&ep->ep.state, DAT_EP_STATE_UNCONNECTED);
    ep->keys = ia->seg.hdr->keys;
    ep->pid = ia->pia.pid;
    ep->alive = ia->pia.alive;
    dm_list_init(&ep->queue);
    ep->sh = dm_shm_seg_alloc(&ia->seg, sizeof(*ep->sh));
    if (ep->sh == NULL || !dm_shm_recvs_alloc(ep)) {
        if (ep->sh != NULL)
            dm_shm_seg_free(&ia->seg, ep->sh);
        dm_obj_free(ep);
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
    }
    pthread_mutex_init(&ep->post_lock, NULL);
    pthread_mutex_init(&ep->recv_lock, NULL);
    if (want->srq != DAT_HANDLE_NULL) {
        ep->ep.srq = want->srq;
        ep->srq = want->srq;
        ep->srq->n_refs++;
        ep->sh->srq = dm_shm_seg_offset(&ia->seg, ep->srq->sh);
    }
    dm_shm_recv_renote(ep);
    dm_shm_ep_marks_init(ep);
    publish(ep);
    dm_ep_hold(&ep->ep);
    *ep_p = ep;
    return DAT_SUCCESS;
}

static DAT_RETURN create(struct dm_shm_ia *ia, const DAT_HANDLE handles[4], struct dm_ep *want,
                         const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    struct dm_sep *ep = NULL;
    DAT_RETURN ret;

    ret = dm_ep_create_check(&ia->pia, handles, attr, ep_p, want);
    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->pia.lock);
    ret = create_locked(ia, want, &ep);
    pthread_mutex_unlock(&ia->pia.lock);
    if (ret == DAT_SUCCESS)
        *ep_p = (DAT_EP_HANDLE)ep;
    return ret;
}

DAT_RETURN dm_shm_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                            DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                            const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    const DAT_HANDLE handles[4] = {pz, recv_evd, request_evd, connect_evd};
    struct dm_shm_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_ep want;

    memset(&want, 0, sizeof(want));
    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    return create(ia, handles, &want, attr, ep_p);
}

DAT_RETURN dm_shm_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
                                     DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
                                     DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq_handle,
                                     const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_p)
{
    const DAT_HANDLE handles[4] = {pz, recv_evd, request_evd, connect_evd};
    struct dm_shm_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_srq *srq = dm_obj_get(srq_handle, DAT_HANDLE_TYPE_SRQ);
    struct dm_ep want;

    memset(&want, 0, sizeof(want));
    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (srq == NULL || srq->obj.ia != &ia->pia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
    /* Receives are checked against the endpoint's PZ, so it is the SRQ's. */
    if (pz != (DAT_PZ_HANDLE)srq->pz)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (recv_evd == DAT_HANDLE_NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
    want.srq = (DAT_SRQ_HANDLE)srq;
    return create(ia, handles, &want, attr, ep_p);
}

DAT_RETURN dm_shm_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);

    if (ep == NULL)
        return BAD_EP;
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    dm_shm_ep_check_up(ep);
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return dm_ep_query(handle, mask, param);
}

static DAT_RETURN modify_locked(struct dm_sep *ep, const struct dm_ep *want)
{
    int state = atomic_load(&ep->ep.state);
    bool is_queue_same = want->attr.max_recv_dtos == ep->ep.attr.max_recv_dtos &&
                         want->attr.max_recv_iov == ep->ep.attr.max_recv_iov;

    if (state != DAT_EP_STATE_UNCONNECTED)
        return dm_ep_bad_state(state);
    if (!is_queue_same && ep->recv_tail != atomic_load(&ep->sh->recv_head))
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
    dm_ep_modify(&ep->ep, want);
    publish(ep);
    dm_shm_ep_marks_init(ep);
    if (!is_queue_same && !dm_shm_recvs_alloc(ep))
        return DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_ep want;
    struct dm_pia *ia;
    DAT_RETURN ret;

    if (ep == NULL)
        return BAD_EP;
    ia = ep->ep.obj.ia;
    ret = dm_ep_modify_check(&ep->ep, ep->srq != NULL ? ep->srq->pz : NULL, mask, param, &want);
    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->lock);
    ret = modify_locked(ep, &want);
    if (ret == DAT_SUCCESS && (mask & DAT_EP_FIELD_COMM) != 0)
        ep->ep.comm = param->comm;
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_shm_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state_p,
                                DAT_BOOLEAN *recv_idle_p, DAT_BOOLEAN *request_idle_p)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_pia *ia;

    if (ep == NULL)
        return BAD_EP;
    ia = ep->ep.obj.ia;
    pthread_mutex_lock(&ia->lock);
    dm_shm_ep_check_up(ep);
    if (state_p != NULL)
        *state_p = (DAT_EP_STATE)atomic_load(&ep->ep.state);
    if (recv_idle_p != NULL)
        *recv_idle_p = atomic_load(&ep->sh->recv_head) == atomic_load(&ep->sh->recv_tail)
                           ? DAT_TRUE
                           : DAT_FALSE;
    if (request_idle_p != NULL)
        *request_idle_p = ep->n_queued == 0 ? DAT_TRUE : DAT_FALSE;
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

static void drop_peer(struct dm_sep *ep)
{
    ep->peer_sh = NULL;
    if (ep->peer != NULL)
        dm_shm_peer_put(dm_shm_ia_of(ep), ep->peer);
    ep->peer = NULL;
}

DAT_RETURN dm_shm_ep_reset(DAT_EP_HANDLE handle)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;
    int state;

    if (ep == NULL)
        return BAD_EP;
    ia = ep->ep.obj.ia;
    if (ia->is_threadsafe) { /* others may be posting, and find it gone */
        pthread_mutex_lock(&ep->post_lock);
        pthread_mutex_lock(&ep->recv_lock);
    }
    pthread_mutex_lock(&ia->lock);
    state = atomic_load(&ep->ep.state);
    if (state == DAT_EP_STATE_DISCONNECTED) {
        drop_peer(ep);
        /* Completions still queued belong to the life before. */
        ep->ep.obj.gen++;
        publish(ep);
        ep->n_recv_posted = 0;
        ep->n_signalled = 0;
        ep->n_signalled_locked = 0;
        atomic_store(&ep->ep.n_recv_reaped, 0);
        atomic_store(&ep->ep.n_request_reaped, 0);
        atomic_store(&ep->sh->n_taken, 0);
        atomic_store(&ep->sh->n_reaped, 0);
        dm_shm_recv_renote(ep);
        atomic_store(&ep->sh->is_stalled, 0);
        atomic_store(&ep->ep.state, DAT_EP_STATE_UNCONNECTED);
    } else if (state != DAT_EP_STATE_UNCONNECTED) {
        ret = dm_ep_bad_state(state);
    }
    pthread_mutex_unlock(&ia->lock);
    if (ia->is_threadsafe) {
        pthread_mutex_unlock(&ep->recv_lock);
        pthread_mutex_unlock(&ep->post_lock);
    }
    return ret;
}

static void down_end(struct dm_sep *ep, DAT_EVENT_NUMBER event);

/* The counter of dequeued receives in the segment goes. */
static void hide_reaped(struct dm_sep *ep)
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

void dm_shm_ep_destroy(struct dm_sep *ep)
{
    struct dm_shm_seg *seg = &dm_shm_ia_of(ep)->seg;

    if (ep->conn != NULL)
        dm_shm_ep_down(ep, 0, DM_MSG_BYE);
    if (ep->conn != NULL) { /* dying, and everything is to be closed */
        (void)dm_shm_quiesce(dm_shm_ia_of(ep), ep);
        down_end(ep, 0);
    }
    dm_shm_ep_flush_recvs(ep);
    drop_peer(ep);
    if (ep->recvs != NULL)
        dm_shm_seg_free(seg, ep->recvs);
    if (ep->stage != NULL)
        dm_shm_seg_free(seg, ep->stage);
    hide_reaped(ep);
    dm_shm_seg_free(seg, ep->sh);
    dm_ep_release(&ep->ep);
    if (ep->srq != NULL)
        ep->srq->n_refs--;
    pthread_mutex_destroy(&ep->post_lock);
    pthread_mutex_destroy(&ep->recv_lock);
    dm_obj_free(ep);
}

/* Break the connection; false: its peer has been in the middle of a transfer
 * for seconds, and may still write to the receives' buffers. */
static bool end_connection(struct dm_sep *ep)
{
    if (ep->conn == NULL)
        return true;
    ep->conn->last_event = 0; /* of a disconnect that is pending */
    dm_shm_ep_down(ep, 0, DM_MSG_BYE);
    if (ep->conn != NULL)
        (void)dm_shm_quiesce(dm_shm_ia_of(ep), ep);
    return !dm_shm_ep_dying(ep);
}

DAT_RETURN dm_shm_ep_free(DAT_EP_HANDLE handle)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;
    int state;

    if (ep == NULL)
        return BAD_EP;
    ia = ep->ep.obj.ia;
    pthread_mutex_lock(&ia->lock);
    state = atomic_load(&ep->ep.state);
    if (state == DAT_EP_STATE_RESERVED || state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
        state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
        ret = dm_ep_bad_state(state);
    else if (!end_connection(ep))
        ret = dm_ep_bad_state(DAT_EP_STATE_DISCONNECT_PENDING);
    else
        dm_shm_ep_destroy(ep);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

/* What a dead peer has left in our rings and queues. One that lives has left
 * nothing, as it is not in the middle of an operation. */
static void bury(struct dm_sep *ep)
{
    struct dm_shm_conn *conn = ep->conn;

    dm_shm_recv_recover(ep, conn->owner);
    if (!conn->is_peer_gone && (ep->peer_sh == NULL || (atomic_load(&ep->peer_sh->busy) & 1) == 0))
        return;
    if (ep->ep.recv_evd != NULL)
        dm_evd_ring_bury(ep->ep.recv_evd->ring, ep->ep.recv_evd->head, conn->owner);
    if (ep->ep.connect_evd != NULL)
        dm_evd_ring_bury(ep->ep.connect_evd->ring, ep->ep.connect_evd->head, conn->owner);
}

bool dm_shm_evd_moved(struct dm_pia *pia, struct dm_evd *evd, bool is_before)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    dm_list_for_each (it, &pia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_sep *ep = dm_container_of(it, struct dm_sep, ep.obj.link);

        if (!is_before)
            publish_rings(ep);
        else if (ep->ep.recv_evd == evd)
            atomic_store(&ep->sh->recv_ring, 0);
        if (ep->ep.connect_evd == evd && is_before)
            atomic_store(&ep->sh->conn_ring, 0);
        if (!is_before && ep->ep.recv_evd == evd && ep->conn != NULL &&
            atomic_exchange(&ep->sh->is_stalled, 0) != 0)
            dm_shm_msg_simple(ep->conn, DM_MSG_POKE);
    }
    if (!is_before)
        return true;
    if (!dm_shm_quiesce(ia, NULL))
        return false;
    dm_list_for_each (it, &pia->objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_sep *ep = dm_container_of(it, struct dm_sep, ep.obj.link);

        if (ep->ep.recv_evd != evd)
            continue;
        if (ep->conn != NULL)
            bury(ep);
        dm_shm_recv_renote(ep);
    }
    return true;
}

/* Where the peer's receives are, as it says and as has been checked. */
static void find_recvs(struct dm_sep *ep)
{
    uint32_t stride = ep->peer_sh->recv_stride;
    uint32_t n;

    ep->peer_recvs = (char *)ep->peer->hdr + ep->peer_sh->recvs;
    ep->peer_recv_mask = ep->peer_sh->recv_mask;
    ep->peer_recv_stride = stride;
    if (ep->peer_sh->recvs == 0) { /* none: any place will do */
        ep->peer_recv_mask = 0;
        stride = sizeof(struct dm_shm_recv);
    }
    n = (uint32_t)((stride - sizeof(struct dm_shm_recv)) / sizeof(DAT_LMR_TRIPLET));
    ep->peer_recv_iov = n < DM_IOV_MAX ? n : DM_IOV_MAX;
}

void dm_shm_ep_attach(struct dm_sep *ep, struct dm_shm_conn *conn)
{
    ep->conn = conn;
    conn->ep = ep;
    if (conn->peer == NULL)
        return;
    dm_shm_peer_hold(conn->peer);
    drop_peer(ep);
    ep->peer = conn->peer;
    ep->peer_sh = (struct dm_shm_link_ep *)(void *)((char *)conn->peer->hdr + conn->peer_ep);
    find_recvs(ep);
    ep->peer_owner = conn->peer_owner;
    ep->peer_srq = NULL;
    if (ep->peer_sh->srq != 0)
        ep->peer_srq = (void *)((char *)conn->peer->hdr + ep->peer_sh->srq);
    ep->has_taken = false;
    ep->is_mark_due = false;
    ep->peer_only = DM_SHM_ONLY(conn->peer_ep);
    memset(ep->found, 0, sizeof(ep->found));
    /* Any valid address, so that a lookup need not ask. */
    for (int i = 0; i < DM_SHM_FOUND_N; i++)
        ep->found[i].entry = conn->peer->hdr->keys;
    ep->need_fence = !dm_shm_ia_of(ep)->seg.hdr->has_membarrier || !conn->peer->hdr->has_membarrier;
}

void dm_shm_ep_established(struct dm_sep *ep)
{
    ep->conn->state = DM_CONN_UP;
    ep->conn->was_up = true;
    atomic_store(&ep->ep.state, DAT_EP_STATE_CONNECTED);
    dm_shm_ep_set_sync(ep);
}

void dm_shm_ep_check_up(struct dm_sep *ep)
{
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_COMPLETION_PENDING && ep->conn != NULL &&
        atomic_load(&ep->sh->link) == DM_LINK_UP)
        dm_shm_ep_established(ep);
}

/* The peer will not touch our memory any more: flush everything. */
static void down_end(struct dm_sep *ep, DAT_EVENT_NUMBER event)
{
    struct dm_shm_conn *conn = ep->conn;
    bool was_up = conn != NULL && conn->was_up;

    atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECTED);
    if (conn != NULL) {
        bury(ep);
        if (ep->srq != NULL)
            dm_shm_srq_reclaim(ep, conn->owner);
        dm_shm_conn_close(conn);
    }
    dm_shm_flush_queue(ep);
    dm_shm_ep_flush_recvs(ep);
    dm_shm_marks_check(ep);
    if (ep->srq != NULL && event != 0 && was_up) /* no more receives of the SRQ come from it */
        dm_evd_add_async(ep->ep.obj.ia->async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                         DAT_EP_TRANSFER_TO_ERROR);
    if (event != 0)
        dm_evd_add_conn(ep->ep.connect_evd, event, (DAT_EP_HANDLE)ep, NULL, 0);
}

void dm_shm_ep_down(struct dm_sep *ep, DAT_EVENT_NUMBER event, uint32_t msg)
{
    struct dm_shm_conn *conn = ep->conn;

    atomic_store(&ep->sh->link, DM_LINK_DOWN);
    dm_shm_rmr_ep_down(ep);
    ep->is_draining_out = false;
    if (conn != NULL && conn->state != DM_CONN_DYING) {
        atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
        dm_shm_ep_set_sync(ep);
        conn->last_event = event;
        if (msg != DM_MSG_NONE)
            dm_shm_msg_simple(conn, (enum dm_shm_msg_type)msg);
        conn->state = DM_CONN_DYING;
    }
    if (conn == NULL)
        down_end(ep, event);
    else if (dm_shm_is_quiet(ep))
        down_end(ep, conn->last_event);
    else
        dm_shm_kick(ep->ep.obj.ia); /* which tries again and again */
}

bool dm_shm_ep_dying(struct dm_sep *ep)
{
    if (ep->conn != NULL && ep->conn->state == DM_CONN_DYING && dm_shm_is_quiet(ep))
        down_end(ep, ep->conn->last_event);
    return ep->conn != NULL;
}
