/*
 * Posting: the fast paths, and the queue of requests that have to wait.
 *
 * Invariant: is_sync is set only while the endpoint is connected and its queue
 * is empty, and no network is modelled. Then the poster executes requests itself, without a lock; what
 * cannot be done at once goes to the queue under ia->lock, and everything that
 * is posted later queues behind it.
 */
#include "providers/shm/dto.h"

#include <stdlib.h>
#include <string.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/srq.h"
#include "providers/shm/transport/quiesce.h"
#include "providers/shm/transport/stage.h"
#include "util/copy.h"

#define AHEAD_LEN  1024  /* bytes of a write after which the next one is expected, */
#define AHEAD_STEP 65536 /* at most so far behind it */

void dm_shm_ep_set_sync(struct dm_shm_ep *ep)
{
    bool is_sync = atomic_load(&ep->ep.state) == DAT_EP_STATE_CONNECTED && ep->n_queued == 0 &&
                   !dm_shm_ia_of(ep)->model.is_on;

    atomic_store_explicit(&ep->is_sync, is_sync, memory_order_release);
    atomic_store_explicit(&ep->is_fast, is_sync && !ep->need_fence && !ep->ep.obj.ia->is_threadsafe,
                          memory_order_release);
}

/* A request is over. is_locked: ia->lock is held. */
static void shm_dto_complete(struct dm_shm_ep *ep, const struct dm_shm_op *op,
                             DAT_DTO_COMPLETION_STATUS status, uint64_t len, bool is_locked)
{
    uint32_t *n = is_locked ? &ep->n_signalled_locked : &ep->n_signalled;

    if (dm_unlikely(op->dto.kind == DM_OP_BIND))
        dm_rmr_bound(op->dto.bind);
    if (status == DAT_DTO_SUCCESS && (op->dto.flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return;
    (*n)++;
    if (dm_unlikely(!dm_dto_complete(&ep->ep, &op->dto, status,
                                     len))) /* nobody will dequeue it: the slot is free again */
        (*n)--;
}

static bool shm_dto_has_slot(const struct dm_shm_ep *ep)
{
    uint32_t n = ep->n_signalled + ep->n_signalled_locked + ep->n_queued -
                 atomic_load_explicit(&ep->ep.n_request_reaped, memory_order_acquire);

    return n < (uint32_t)ep->ep.attr.max_request_dtos;
}

static void dto_free(struct dm_shm_ep *ep, struct dm_shm_op *op)
{
    dm_list_del(&op->link);
    ep->n_queued--;
    free(op->taken);
    free(op);
}

/* Send the peer what its rings cannot show; ia->lock is held. */
static void notify_peer(struct dm_shm_ep *ep, const struct dm_shm_result *res)
{
    if (ep->conn == NULL)
        return;
    if (res->is_overflow)
        dm_shm_ctrl_send_type(ep->conn, DM_CTRL_OVERFLOW);
    if (res->is_notify)
        dm_shm_ctrl_send_type(ep->conn, DM_CTRL_NOTIFY);
}

/* The request is over; break the connection if it failed. */
static bool dto_finish(struct dm_shm_ep *ep, const struct dm_shm_op *op,
                       const struct dm_shm_result *res)
{
    notify_peer(ep, res);
    shm_dto_complete(ep, op, res->status, res->len, true);
    if (dm_shm_model_runs(&dm_shm_ia_of(ep)->model))
        dm_shm_model_arrived(ep);
    if (res->status == DAT_DTO_SUCCESS)
        return true;
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_CONNECTED ||
        atomic_load(&ep->ep.state) == DAT_EP_STATE_DISCONNECT_PENDING)
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_BROKEN, DM_CTRL_BROKEN);
    return false;
}

bool dm_shm_dto_finish_head(struct dm_shm_ep *ep, const struct dm_shm_result *res)
{
    struct dm_shm_op *op = dm_container_of(ep->queue.next, struct dm_shm_op, link);
    bool is_ok;

    dm_list_del(&op->link);
    ep->n_queued--;
    is_ok = dto_finish(ep, op, res);
    free(op->taken);
    free(op);
    return is_ok;
}

/* Execute with the flag up that makes the peer notify us when it posts. */
static enum dm_shm_exec dto_exec_stalled(struct dm_shm_ep *ep, struct dm_shm_op *op,
                                         struct dm_shm_result *res)
{
    dm_shm_busy_begin(ep);
    if (dm_shm_is_up(ep)) {
        atomic_store(&ep->peer_sh->is_stalled, 1); /* sequentially consistent */
        if (ep->peer_recv.srq != NULL)
            atomic_store(&ep->peer_recv.srq->is_stalled, 1);
    }
    dm_shm_busy_end(ep);
    return dm_shm_exec(ep, op, true, res);
}

/* In virtual time: is it too early for the request? Then it is tried again when it is time. */
static bool dto_is_early(struct dm_shm_ep *ep, const struct dm_shm_op *op)
{
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);

    if (!dm_shm_model_runs(&ia->model) || op->due <= ia->model.now)
        return false;
    dm_shm_model_expect(ia, op->due);
    return true;
}

/* The peer has no receive: have it notify us, or try again later in virtual time. */
static enum dm_shm_exec dto_exec_later(struct dm_shm_ep *ep, struct dm_shm_op *op,
                                       struct dm_shm_result *res)
{
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);

    if (!dm_shm_model_runs(&ia->model))
        return dto_exec_stalled(ep, op, res);
    op->due = dm_shm_model_retry(ia);
    dm_shm_model_expect(ia, op->due);
    return DM_EXEC_NO_RECV;
}

void dm_shm_dto_push(struct dm_shm_ep *ep)
{
    while (!dm_list_is_empty(&ep->queue) && !ep->stage.is_busy && ep->conn != NULL) {
        struct dm_shm_op *op = dm_container_of(ep->queue.next, struct dm_shm_op, link);
        struct dm_shm_result res;
        enum dm_shm_exec exec;

        if (dto_is_early(ep, op))
            return;
        exec = dm_shm_exec(ep, op, true, &res);
        if (exec == DM_EXEC_NO_RECV)
            exec = dto_exec_later(ep, op, &res);
        if (exec == DM_EXEC_NO_RECV && dm_shm_srq_is_refused(ep)) {
            res.status = DAT_DTO_ERR_REMOTE_RESPONDER; /* and the connection breaks */
            exec = DM_EXEC_DONE;
        }
        if (exec == DM_EXEC_STAGE && dm_shm_stage_step(ep, op, &res))
            return;
        if (exec == DM_EXEC_NO_RECV || exec == DM_EXEC_MAP || exec == DM_EXEC_DOWN)
            return; /* goes on by NOTIFY, MAP_FD or the end of the connection */
        if (!dm_shm_dto_finish_head(ep, &res))
            return;
    }
    if (!dm_list_is_empty(&ep->queue))
        return;
    if (ep->ep.is_draining && ep->conn != NULL)
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_CTRL_DISCONNECT);
    dm_shm_ep_set_sync(ep);
}

void dm_shm_dto_flush(struct dm_shm_ep *ep)
{
    while (!dm_list_is_empty(&ep->queue)) {
        struct dm_shm_op *op = dm_container_of(ep->queue.next, struct dm_shm_op, link);

        shm_dto_complete(ep, op, DAT_DTO_ERR_FLUSHED, 0, true);
        dto_free(ep, op);
    }
    ep->stage.is_busy = false;
    ep->map_req.is_open = false;
}

static DAT_RETURN shm_dto_enqueue(struct dm_shm_ep *ep, const struct dm_shm_op *op)
{
    struct dm_shm_op *copy = malloc(sizeof(*copy) + op->dto.n_seg * sizeof(copy->copy[0]));

    if (copy == NULL)
        return DM_DAT_NOMEM;
    *copy = *op;
    if (op->dto.n_seg > 0)
        memcpy(copy->copy, op->dto.seg, op->dto.n_seg * sizeof(copy->copy[0]));
    copy->dto.seg = copy->copy;
    if (!dm_shm_rdma_take(ep, copy)) {
        free(copy);
        return DM_DAT_NOMEM;
    }
    if (dm_shm_model_runs(&dm_shm_ia_of(ep)->model))
        copy->due = dm_shm_model_due(ep, copy);
    dm_list_add_tail(&ep->queue, &copy->link);
    ep->n_queued++;
    dm_shm_ep_set_sync(ep);
    dm_shm_dto_push(ep);
    return DAT_SUCCESS;
}

/* ia->lock is held; res: the request has been executed already. */
static DAT_RETURN shm_dto_post_locked(struct dm_shm_ep *ep, const struct dm_shm_op *op,
                                      const struct dm_shm_result *res)
{
    int state;

    if (ep->ep.obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_EP))
        return DM_DAT_BAD(EP);
    if (res != NULL) {
        (void)dto_finish(ep, op, res);
        return DAT_SUCCESS;
    }
    dm_shm_ep_check_up(ep);
    state = atomic_load(&ep->ep.state);
    if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED)
        return dm_ep_bad_state(state);
    if (!shm_dto_has_slot(ep))
        return DM_DAT_NOMEM;
    if (state == DAT_EP_STATE_CONNECTED)
        return shm_dto_enqueue(ep, op);
    shm_dto_complete(ep, op, DAT_DTO_ERR_FLUSHED, 0, true);
    return DAT_SUCCESS;
}

static DAT_RETURN dto_post_unlocked(struct dm_shm_ep *ep, const struct dm_shm_op *op)
{
    struct dm_pia *ia = ep->ep.obj.ia;
    struct dm_shm_result res;
    enum dm_shm_exec exec = DM_EXEC_LOCK;
    DAT_RETURN ret = DAT_SUCCESS;

    if (atomic_load_explicit(&ep->is_sync, memory_order_acquire)) {
        if (!shm_dto_has_slot(ep))
            return DM_DAT_NOMEM;
        exec = dm_shm_exec(ep, op, false, &res);
        if (exec == DM_EXEC_DONE && res.status == DAT_DTO_SUCCESS && !res.is_notify) {
            shm_dto_complete(ep, op, DAT_DTO_SUCCESS, res.len, false);
            return DAT_SUCCESS;
        }
    }
    dm_shm_model_enter(dm_shm_ia_of(ep));
    pthread_mutex_lock(&ia->lock);
    ret = shm_dto_post_locked(ep, op, exec == DM_EXEC_DONE ? &res : NULL);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

static DAT_RETURN dto_post_serial(struct dm_shm_ep *ep, const struct dm_shm_op *op)
{
    DAT_RETURN ret;

    if (!ep->ep.obj.ia->is_threadsafe)
        return dto_post_unlocked(ep, op);
    pthread_mutex_lock(&ep->ep.post_lock);
    ret = dto_post_unlocked(ep, op);
    pthread_mutex_unlock(&ep->ep.post_lock);
    return ret;
}

DAT_RETURN dm_shm_post(struct dm_ep *ep, const struct dm_dto *dto)
{
    struct dm_shm_op op = {.dto = *dto};

    return dto_post_serial((struct dm_shm_ep *)ep, &op);
}

static DM_NOINLINE DAT_RETURN dto_post(DAT_EP_HANDLE handle, enum dm_dto_kind kind, DAT_COUNT n,
                                       const DAT_LMR_TRIPLET *seg, DAT_DTO_COOKIE cookie,
                                       const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
    struct dm_shm_op op = {.dto = {.kind = kind, .flags = flags, .cookie = cookie, .seg = seg}};
    DAT_RETURN ret = dm_dto_check(handle, &op.dto, n, remote);

    return ret == DAT_SUCCESS ? dto_post_serial((struct dm_shm_ep *)handle, &op) : ret;
}

DAT_RETURN dm_shm_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    return dto_post(ep, DM_OP_SEND, n, seg, cookie, NULL, flags);
}

/*
 * Short writes often follow each other at equal distances, into the slots of a ring. The lines of the next one
 * are prefetched now: they come from the other core, all at once, while the caller makes the data.
 */
static DM_ALWAYS_INLINE void prefetch_next(struct dm_shm_ep *ep, char *end, uint64_t len)
{
    uintptr_t step = (uintptr_t)end - (uintptr_t)ep->last_end;

    ep->last_end = end;
    if (step > AHEAD_STEP)
        return;
    for (uint64_t at = 1; at <= len; at += DM_CACHE_LINE)
        dm_prefetch_write(end + step - at);
}

/* One segment and mapped memory, everything known already: just a copy. */
static DM_ALWAYS_INLINE bool copy_fast(struct dm_shm_ep *ep, const DAT_LMR_TRIPLET *seg,
                                       const DAT_RMR_TRIPLET *remote, bool is_write)
{
    uint32_t local = is_write ? DAT_MEM_PRIV_LOCAL_READ_FLAG : DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    uint32_t afar = is_write ? DAT_MEM_PRIV_REMOTE_WRITE_FLAG : DAT_MEM_PRIV_REMOTE_READ_FLAG;
    const struct dm_shm_key *entry = &ep->keys[seg->lmr_context & DM_SHM_KEY_IDX];
    const struct dm_shm_rkey *f = &ep->rkeys[remote->rmr_context % DM_SHM_RKEYS];
    uint64_t len = seg->segment_length;
    uint64_t at = seg->virtual_address - entry->va;
    uint64_t to = remote->virtual_address - f->va;
    char *here;
    bool is_done = false;

    if (entry->key != seg->lmr_context || entry->pz != ep->pz_id || (entry->priv & local) == 0 ||
        at > entry->len || len > entry->len - at || f->key != remote->rmr_context ||
        f->data == NULL || (f->priv & afar) == 0 || to > f->len || len > f->len - to || len == 0)
        return false;
    at += entry->addr;
    memcpy(&here, &at, sizeof(here));
    atomic_store_explicit(&ep->sh->busy, ep->busy + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (dm_likely(atomic_load_explicit(&f->entry->serial, memory_order_relaxed) == f->serial &&
                  atomic_load_explicit(&entry->serial, memory_order_relaxed) != 0 &&
                  dm_shm_is_up(ep))) {
        if (is_write) {
            dm_shm_copy_last(&ep->bulk, f->data + to, here, len);
            if (len <= AHEAD_LEN)
                prefetch_next(ep, f->data + to + len, len);
        } else {
            dm_copy(here, f->data + to, len);
        }
        is_done = true;
    }
    ep->busy += 2;
    atomic_store_explicit(&ep->sh->busy, ep->busy, memory_order_release);
    return is_done;
}

/* May the fast path be tried for a request with these arguments? */
static DM_ALWAYS_INLINE bool is_fast(struct dm_shm_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *seg,
                                     const DAT_RMR_TRIPLET *remote)
{
    return dm_likely(atomic_load_explicit(&ep->is_fast, memory_order_acquire) && n == 1 &&
                     atomic_load_explicit(ep->alive, memory_order_relaxed) == ep->pid &&
                     seg != NULL && remote != NULL);
}

/* The same for a request that completes with an event. */
static DM_ALWAYS_INLINE bool complete_fast(struct dm_shm_ep *ep, DAT_DTOS operation,
                                           const DAT_LMR_TRIPLET *seg, DAT_DTO_COOKIE cookie,
                                           const DAT_RMR_TRIPLET *remote, bool is_write)
{
    DAT_DTO_COMPLETION_EVENT_DATA dto = {.ep_handle = (DAT_EP_HANDLE)ep,
                                         .user_cookie = cookie,
                                         .status = DAT_DTO_SUCCESS,
                                         .transfered_length = seg->segment_length,
                                         .operation = operation,
                                         .rmr_context = remote->rmr_context};
    struct dm_evd_item item;

    if (ep->ep.request_evd == NULL || !shm_dto_has_slot(ep) ||
        !copy_fast(ep, seg, remote, is_write))
        return false;
    item = dm_evd_item_dto(&dto, DM_TAG(ep->ep.obj.gen, DM_TAG_REQUEST));
    ep->n_signalled++;
    if (dm_unlikely(!dm_evd_add(ep->ep.request_evd, &item)))
        ep->n_signalled--;
    return true;
}

/* Not inlined: the suppressed write, which is the fastest, needs no stack. */
static DM_NOINLINE bool write_fast_signalled(struct dm_shm_ep *ep, const DAT_LMR_TRIPLET *seg,
                                             DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote)
{
    return complete_fast(ep, DAT_DTO_RDMA_WRITE, seg, cookie, remote, true);
}

DAT_RETURN dm_shm_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)handle;

    if (is_fast(ep, n, seg, remote)) {
        if (dm_likely((flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)) {
            if (dm_likely(copy_fast(ep, seg, remote, true)))
                return DAT_SUCCESS;
        } else if ((flags & DAT_COMPLETION_UNSIGNALLED_FLAG) == 0) {
            if (write_fast_signalled(ep, seg, cookie, remote))
                return DAT_SUCCESS;
        }
    }
    return dto_post(handle, DM_OP_WRITE, n, seg, cookie, remote, flags);
}

DAT_RETURN dm_shm_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)handle;

    if (is_fast(ep, n, seg, remote)) {
        if ((flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0) {
            if (shm_dto_has_slot(ep) && copy_fast(ep, seg, remote, false))
                return DAT_SUCCESS;
        } else if ((flags & DAT_COMPLETION_UNSIGNALLED_FLAG) == 0) {
            if (complete_fast(ep, DAT_DTO_RDMA_READ, seg, cookie, remote, false))
                return DAT_SUCCESS;
        }
    }
    return dto_post(handle, DM_OP_READ, n, seg, cookie, remote, flags);
}
