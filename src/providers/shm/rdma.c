/*
 * Posting: the fast paths, and the queue of requests that have to wait.
 *
 * Invariant: is_sync is set only while the endpoint is connected and its queue
 * is empty. Then the poster executes requests itself, without a lock; what
 * cannot be done at once goes to the queue under ia->lock, and everything that
 * is posted later queues behind it.
 */
#include "providers/shm/rdma.h"

#include <stdlib.h>
#include <string.h>

#include "providers/shm/calls.h"
#include "providers/shm/msg.h"

#define BAD_EP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

void dm_shm_ep_set_sync(struct dm_sep *ep)
{
    bool is_sync = atomic_load(&ep->ep.state) == DAT_EP_STATE_CONNECTED && ep->n_queued == 0;

    atomic_store_explicit(&ep->is_sync, is_sync, memory_order_release);
    atomic_store_explicit(&ep->is_fast, is_sync && !ep->need_fence && !ep->ep.obj.ia->is_threadsafe,
                          memory_order_release);
}

static const DAT_DTOS operations[] = {
    [DM_OP_SEND] = DAT_DTO_SEND,
    [DM_OP_WRITE] = DAT_DTO_RDMA_WRITE,
    [DM_OP_READ] = DAT_DTO_RDMA_READ,
};

/* A request is over. is_locked: ia->lock is held. */
static void complete(struct dm_sep *ep, const struct dm_shm_op *op,
                     DAT_DTO_COMPLETION_STATUS status, uint64_t len, bool is_locked)
{
    DAT_DTO_COMPLETION_EVENT_DATA dto = {.ep_handle = (DAT_EP_HANDLE)ep,
                                         .user_cookie = op->cookie,
                                         .status = status,
                                         .transfered_length = (DAT_SEG_LENGTH)len,
                                         .operation = operations[op->kind],
                                         .rmr_context = op->remote.rmr_context};

    if (status == DAT_DTO_SUCCESS && (op->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return;
    if (is_locked)
        ep->n_signalled_locked++;
    else
        ep->n_signalled++;
    dm_evd_add_dto(ep->ep.request_evd, &dto, DM_TAG(ep->ep.obj.gen, DM_TAG_REQUEST));
}

static bool has_room(const struct dm_sep *ep)
{
    uint32_t n = ep->n_signalled + ep->n_signalled_locked + ep->n_queued -
                 atomic_load_explicit(&ep->ep.n_request_reaped, memory_order_acquire);

    return n < (uint32_t)ep->ep.attr.max_request_dtos;
}

static void queue_del(struct dm_sep *ep, struct dm_shm_op *op)
{
    dm_list_del(&op->link);
    ep->n_queued--;
    free(op);
}

/* Tell the peer what its rings could not say; ia->lock is held. */
static void tell_peer(struct dm_sep *ep, const struct dm_shm_result *res)
{
    if (ep->conn == NULL)
        return;
    if (res->is_overflow)
        dm_shm_msg_simple(ep->conn, DM_MSG_OVERFLOW);
    if (res->is_poke)
        dm_shm_msg_simple(ep->conn, DM_MSG_POKE);
}

/* The request is over; break the connection if it failed. */
static bool finish(struct dm_sep *ep, const struct dm_shm_op *op, const struct dm_shm_result *res)
{
    tell_peer(ep, res);
    complete(ep, op, res->status, res->len, true);
    if (res->status == DAT_DTO_SUCCESS)
        return true;
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_CONNECTED ||
        atomic_load(&ep->ep.state) == DAT_EP_STATE_DISCONNECT_PENDING)
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_BROKEN, DM_MSG_BROKEN);
    return false;
}

bool dm_shm_finish_head(struct dm_sep *ep, const struct dm_shm_result *res)
{
    struct dm_shm_op *op = dm_container_of(ep->queue.next, struct dm_shm_op, link);
    bool is_ok;

    dm_list_del(&op->link);
    ep->n_queued--;
    is_ok = finish(ep, op, res);
    free(op);
    return is_ok;
}

/* Execute with the flag up that makes the peer poke us when it posts. */
static enum dm_shm_exec exec_stalled(struct dm_sep *ep, struct dm_shm_op *op,
                                     struct dm_shm_result *res)
{
    atomic_store(&ep->peer_sh->is_stalled, 1); /* sequentially consistent */
    return dm_shm_exec(ep, op, true, res);
}

void dm_shm_drain(struct dm_sep *ep)
{
    while (!dm_list_is_empty(&ep->queue) && !ep->is_stage_busy && ep->conn != NULL) {
        struct dm_shm_op *op = dm_container_of(ep->queue.next, struct dm_shm_op, link);
        struct dm_shm_result res;
        enum dm_shm_exec exec = dm_shm_exec(ep, op, true, &res);

        if (exec == DM_EXEC_NO_RECV)
            exec = exec_stalled(ep, op, &res);
        if (exec == DM_EXEC_STAGE && dm_shm_stage_step(ep, op, &res))
            return;
        if (exec == DM_EXEC_NO_RECV || exec == DM_EXEC_MAP || exec == DM_EXEC_DOWN)
            return; /* goes on by POKE, MAP_FD or the end of the connection */
        if (!dm_shm_finish_head(ep, &res))
            return;
    }
    if (!dm_list_is_empty(&ep->queue))
        return;
    if (ep->is_draining_out && ep->conn != NULL)
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_MSG_BYE);
    dm_shm_ep_set_sync(ep);
}

void dm_shm_flush_queue(struct dm_sep *ep)
{
    while (!dm_list_is_empty(&ep->queue)) {
        struct dm_shm_op *op = dm_container_of(ep->queue.next, struct dm_shm_op, link);

        complete(ep, op, DAT_DTO_ERR_FLUSHED, 0, true);
        queue_del(ep, op);
    }
    ep->is_stage_busy = false;
    ep->is_map_asked = false;
}

static DAT_RETURN enqueue(struct dm_sep *ep, const struct dm_shm_op *op)
{
    struct dm_shm_op *copy = malloc(sizeof(*copy) + op->n_seg * sizeof(copy->copy[0]));

    if (copy == NULL)
        return DM_DAT_NOMEM;
    *copy = *op;
    if (op->n_seg > 0)
        memcpy(copy->copy, op->seg, op->n_seg * sizeof(copy->copy[0]));
    copy->seg = copy->copy;
    dm_list_add_tail(&ep->queue, &copy->link);
    ep->n_queued++;
    dm_shm_ep_set_sync(ep);
    dm_shm_drain(ep);
    return DAT_SUCCESS;
}

/* ia->lock is held; res: the request has been executed already. */
static DAT_RETURN post_locked(struct dm_sep *ep, const struct dm_shm_op *op,
                              const struct dm_shm_result *res)
{
    int state;

    if (ep->ep.obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_EP))
        return BAD_EP;
    if (res != NULL) {
        (void)finish(ep, op, res);
        return DAT_SUCCESS;
    }
    dm_shm_ep_check_up(ep);
    state = atomic_load(&ep->ep.state);
    if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED)
        return dm_ep_bad_state(state);
    if (!has_room(ep))
        return DM_DAT_NOMEM;
    if (state == DAT_EP_STATE_CONNECTED)
        return enqueue(ep, op);
    complete(ep, op, DAT_DTO_ERR_FLUSHED, 0, true);
    return DAT_SUCCESS;
}

static DAT_RETURN post_any(struct dm_sep *ep, const struct dm_shm_op *op)
{
    struct dm_pia *ia = ep->ep.obj.ia;
    struct dm_shm_result res;
    enum dm_shm_exec exec = DM_EXEC_LOCK;
    DAT_RETURN ret = DAT_SUCCESS;

    if (atomic_load_explicit(&ep->is_sync, memory_order_acquire)) {
        if (!has_room(ep))
            return DM_DAT_NOMEM;
        exec = dm_shm_exec(ep, op, false, &res);
        if (exec == DM_EXEC_DONE && res.status == DAT_DTO_SUCCESS && !res.is_poke) {
            complete(ep, op, DAT_DTO_SUCCESS, res.len, false);
            return DAT_SUCCESS;
        }
    }
    pthread_mutex_lock(&ia->lock);
    ret = post_locked(ep, op, exec == DM_EXEC_DONE ? &res : NULL);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

static DAT_RETURN post(DAT_EP_HANDLE handle, enum dm_shm_op_kind kind, DAT_COUNT n,
                       const DAT_LMR_TRIPLET *seg, DAT_DTO_COOKIE cookie,
                       const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
    struct dm_sep *ep = (struct dm_sep *)handle;
    struct dm_shm_op op = {.kind = kind, .flags = flags, .cookie = cookie, .seg = seg};
    DAT_RETURN ret;

    if (!dm_obj_is(ep, DAT_HANDLE_TYPE_EP))
        return BAD_EP;
    if (n < 0 || n > DM_IOV_MAX)
        return DM_DAT_ARG(2);
    if (n > 0 && seg == NULL)
        return DM_DAT_ARG(3);
    if (kind != DM_OP_SEND && remote == NULL && n > 0)
        return DM_DAT_ARG(5);
    if (ep->ep.request_evd == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_REQUEST);
    op.n_seg = (uint32_t)n;
    if (remote != NULL)
        op.remote = *remote;
    if (!ep->ep.obj.ia->is_threadsafe)
        return post_any(ep, &op);
    pthread_mutex_lock(&ep->post_lock);
    ret = post_any(ep, &op);
    pthread_mutex_unlock(&ep->post_lock);
    return ret;
}

DAT_RETURN dm_shm_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    return post(ep, DM_OP_SEND, n, seg, cookie, NULL, flags);
}

DAT_RETURN dm_shm_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags)
{
    return post(ep, DM_OP_READ, n, seg, cookie, remote, flags);
}

/* One segment into mapped memory, everything known already: just stores. */
static inline bool write_fast(struct dm_sep *ep, const DAT_LMR_TRIPLET *seg,
                              const DAT_RMR_TRIPLET *remote)
{
    const struct dm_shm_key *entry = &ep->keys[seg->lmr_context & DM_SHM_KEY_IDX];
    const struct dm_shm_found *f = &ep->found[remote->rmr_context % DM_SHM_FOUND_N];
    uint64_t len = seg->segment_length;
    uint64_t at = seg->virtual_address - entry->va;
    uint64_t to = remote->virtual_address - f->va;
    const char *from;
    bool is_done = false;

    if (entry->key != seg->lmr_context || entry->pz != ep->pz_id ||
        (entry->priv & DAT_MEM_PRIV_LOCAL_READ_FLAG) == 0 || at > entry->len ||
        len > entry->len - at || f->key != remote->rmr_context || f->data == NULL ||
        (f->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) == 0 || to > f->len || len > f->len - to ||
        len == 0)
        return false;
    memcpy(&from, &seg->virtual_address, sizeof(from));
    atomic_store_explicit(&ep->sh->busy, ep->busy + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (dm_likely(atomic_load_explicit(&f->entry->serial, memory_order_relaxed) == f->serial &&
                  atomic_load_explicit(&entry->serial, memory_order_relaxed) != 0 &&
                  dm_shm_is_up(ep))) {
        dm_shm_copy_last(&ep->bulk, f->data + to, from, len);
        is_done = true;
    }
    ep->busy += 2;
    atomic_store_explicit(&ep->sh->busy, ep->busy, memory_order_release);
    return is_done;
}

DAT_RETURN dm_shm_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags)
{
    struct dm_sep *ep = (struct dm_sep *)handle;

    if (dm_likely(atomic_load_explicit(&ep->is_fast, memory_order_acquire) && n == 1 &&
                  (flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0 &&
                  atomic_load_explicit(ep->alive, memory_order_relaxed) == ep->pid && seg != NULL &&
                  remote != NULL && write_fast(ep, seg, remote)))
        return DAT_SUCCESS;
    return post(handle, DM_OP_WRITE, n, seg, cookie, remote, flags);
}

/* The receive is published; see who has been waiting for it. */
static void recv_posted(struct dm_sep *ep)
{
    struct dm_pia *ia = ep->ep.obj.ia;

    if (dm_likely(atomic_load(&ep->sh->is_stalled) == 0 &&
                  atomic_load(&ep->ep.state) != DAT_EP_STATE_DISCONNECTED))
        return;
    pthread_mutex_lock(&ia->lock);
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_DISCONNECTED)
        dm_shm_ep_flush_recvs(ep);
    else if (atomic_exchange(&ep->sh->is_stalled, 0) != 0 && ep->conn != NULL)
        dm_shm_msg_simple(ep->conn, DM_MSG_POKE);
    pthread_mutex_unlock(&ia->lock);
}

static DAT_RETURN recv_add(struct dm_sep *ep, uint32_t n, const DAT_LMR_TRIPLET *seg,
                           DAT_DTO_COOKIE cookie)
{
    uint32_t used =
        ep->n_recv_posted - atomic_load_explicit(&ep->ep.n_recv_reaped, memory_order_acquire);
    struct dm_shm_recv *recv;

    if (used >= (uint32_t)ep->ep.attr.max_recv_dtos)
        return DM_DAT_NOMEM;
    recv =
        (struct dm_shm_recv *)(void *)(ep->recvs + (uint64_t)(ep->recv_tail & ep->sh->recv_mask) *
                                                       ep->sh->recv_stride);
    recv->cookie = cookie.as_64;
    recv->n_seg = n;
    if (n > 0)
        memcpy(recv->seg, seg, n * sizeof(*seg));
    ep->n_recv_posted++;
    ep->recv_tail++;
    /* Sequentially consistent: before the look at is_stalled and state. */
    atomic_store(&ep->sh->recv_tail, ep->recv_tail);
    recv_posted(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_sep *ep = (struct dm_sep *)handle;
    DAT_RETURN ret;

    (void)flags;
    if (!dm_obj_is(ep, DAT_HANDLE_TYPE_EP))
        return BAD_EP;
    if (ep->ep.recv_evd == NULL || ep->recvs == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV);
    if (n < 0 || n > ep->ep.attr.max_recv_iov)
        return DM_DAT_ARG(2);
    if (n > 0 && seg == NULL)
        return DM_DAT_ARG(3);
    if (!ep->ep.obj.ia->is_threadsafe)
        return recv_add(ep, (uint32_t)n, seg, cookie);
    pthread_mutex_lock(&ep->recv_lock);
    ret = recv_add(ep, (uint32_t)n, seg, cookie);
    pthread_mutex_unlock(&ep->recv_lock);
    return ret;
}
