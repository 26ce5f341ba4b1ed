/*
 * Requests: posting, their order, their completion.
 *
 * Invariants: a request is in ep->sent from when it is posted to the fabric (or
 * has failed before) until everything before it has completed; ep->queue holds
 * those behind, which wait for the connection, for space or for a read. What a
 * read brings is there before anything behind it begins.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "providers/net/key.h"
#include "providers/ofi/ctrl.h"
#include "providers/ofi/progress.h"
#include "providers/ofi/rdma.h"
#include "providers/ofi/rkey.h"

enum { QUIET_MAX = 131072, QUIET_PART = 4, READS_MAX = 16 };

/* ---- completing ---- */

static void ofi_dto_complete(struct dm_ofi_ep *ep, const struct dm_dto *dto,
                             DAT_DTO_COMPLETION_STATUS status, uint64_t len)
{
    if (dto->kind == DM_OP_BIND)
        dm_net_rmr_bound(dto->bind);
    if (status == DAT_DTO_SUCCESS && (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return;
    if (dm_dto_complete(&ep->ep, dto, status,
                        len)) /* else nobody will dequeue it: the slot is free again */
        ep->n_signalled++;
}

static bool ofi_dto_has_slot(const struct dm_ofi_ep *ep)
{
    uint32_t n = ep->n_used + ep->n_signalled -
                 atomic_load_explicit(&ep->ep.n_request_reaped, memory_order_acquire);

    return n < (uint32_t)ep->ep.attr.max_request_dtos;
}

/* Take a request out of its list and complete it. */
static void dto_retire(struct dm_ofi_ep *ep, struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    dm_list_del(&op->link);
    ep->n_used -= 1 + op->n_unsignalled;
    ofi_dto_complete(ep, &op->dto, status, status == DAT_DTO_SUCCESS ? op->len : 0);
    dm_ofi_op_free(dm_ofi_ia_of(ep), op);
}

/* Complete what is over at the head, up to the first that has failed: behind
 * it everything is flushed when the connection has ended. */
static void dto_reap(struct dm_ofi_ep *ep)
{
    while (!dm_list_is_empty(&ep->sent)) {
        struct dm_ofi_op *op = dm_container_of(ep->sent.next, struct dm_ofi_op, link);
        DAT_DTO_COMPLETION_STATUS status = op->status;

        if (!op->is_done)
            return;
        dto_retire(ep, op, status);
        if (status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED && ep->conn != NULL) {
            ep->is_failing = true;
            dm_ofi_conn_terminate(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
            return;
        }
    }
}

void dm_ofi_op_finish(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    struct dm_ofi_ep *ep = op->ep;

    if (op->is_counted)
        ep->n_reads--;
    op->is_counted = false;
    dm_ofi_rkey_ack(ep);
    op->is_done = true;
    op->status = status;
    dto_reap(ep);
    if (dm_list_is_empty(&ep->queue) && dm_list_is_empty(&ep->sent))
        dm_ofi_ep_drained(ep);
}

/* What an error of the fabric means. The other side refuses a request by
 * closing; only the first request can be the cause. */
static DAT_DTO_COMPLETION_STATUS dto_error_status(const struct dm_ofi_op *op)
{
    struct dm_ofi_ep *ep = op->ep;
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_ERR_FLUSHED;

    if (ep->conn == NULL || ep->is_failing || ep->sent.next != &op->link)
        return status;
    if (!dm_dto_is_send(&op->dto) && dm_ofi_rkey_is_invalid(ep, op->dto.remote.rmr_context))
        status = DAT_DTO_ERR_REMOTE_ACCESS;
    ep->is_failing = status != DAT_DTO_ERR_FLUSHED;
    return status;
}

static void dto_op_done(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_op *op = dm_container_of(ctx, struct dm_ofi_op, ctx);
    struct dm_ofi_ep *ep = op->ep;

    op->n_pending--;
    if (ep == NULL) {
        if (op->n_pending == 0)
            free(op->more); /* its slab goes with the instance */
        op->more = NULL;
        return;
    }
    if (done->err != 0 && op->status == DAT_DTO_SUCCESS) {
        op->status = dto_error_status(op);
        /* Cancelled is what the end of the connection has cancelled; that end
         * is reported in its own way. */
        if (done->err != FI_ECANCELED && ep->conn != NULL)
            dm_ofi_conn_fail(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
    }
    if (op->n_pending > 0 || !op->is_posted)
        return;
    dm_ofi_op_finish(op, op->status);
    if (ep->conn != NULL)
        dm_ofi_dto_push(ep);
}

/* ---- order ---- */

/* Does it have to wait for what is under way? Reads have to now and then: the
 * fabric answers them before it does anything else, so that a peer would not
 * get a word in. */
static bool dto_must_wait(const struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    if (ep->n_reads == 0)
        return false;
    return !dm_dto_is_read(dto) || ep->n_inval_due > 0 || ep->n_reads_in_row >= READS_MAX ||
           (dto->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) != 0;
}

static bool dto_is_open(const struct dm_ofi_ep *ep)
{
    return ep->conn != NULL && ep->conn->state == DM_CONN_UP && !ep->is_failing &&
           (atomic_load(&ep->ep.state) == DAT_EP_STATE_CONNECTED || ep->ep.is_draining);
}

/* Move it to the sent ones, which it is or will be in a moment. */
static void dto_mark_sent(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    dm_list_add_tail(&ep->sent, &op->link);
    op->n_unsignalled = ep->n_unsignalled;
    ep->n_unsignalled = 0;
    ep->must_signal = false;
    if (dm_dto_is_read(&op->dto) || dm_dto_is_atomic(&op->dto)) {
        op->is_counted = true;
        ep->n_reads_in_row = ep->n_reads == 0 ? 1 : ep->n_reads_in_row + 1;
        ep->n_reads++;
    }
}

/* Post the first of the queue to the fabric. False: it has to wait. */
static bool dto_start(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
    int err;

    op->ctx.done = dto_op_done;
    status = op->status;
    err = status != DAT_DTO_SUCCESS ? -FI_EACCES : dm_ofi_issue(ep, &op->dto, op, &status);
    if (err == -FI_EAGAIN)
        dm_ofi_wait_for_space(ep);
    if (err == -FI_EAGAIN || err == -FI_EBUSY)
        return false;
    dm_list_del(&op->link);
    dto_mark_sent(ep, op);
    op->is_posted = true;
    if (err != 0) {
        op->status = status;
        ep->is_failing = true;
        if (op->n_pending == 0)
            dm_ofi_op_finish(op, status);
    } else if (op->n_pending == 0 && !dm_dto_is_atomic(&op->dto)) {
        dm_ofi_op_finish(op, DAT_DTO_SUCCESS); /* it needed no fabric */
    }
    return true;
}

void dm_ofi_dto_push(struct dm_ofi_ep *ep)
{
    while (!dm_list_is_empty(&ep->queue) && dto_is_open(ep)) {
        struct dm_ofi_op *op = dm_container_of(ep->queue.next, struct dm_ofi_op, link);

        if (dto_must_wait(ep, &op->dto))
            return; /* dto_op_done() goes on */
        if (!dto_start(ep, op))
            return;
    }
}

struct dm_ofi_op *dm_ofi_op_find(struct dm_ofi_ep *ep, uint32_t id)
{
    struct dm_list *const lists[2] = {&ep->sent, &ep->queue};

    for (int i = 0; i < 2; i++) {
        dm_list_for_each (it, lists[i]) {
            struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, link);

            if (op->is_requested && op->id == id)
                return op;
        }
    }
    return NULL;
}

void dm_ofi_dto_nak(struct dm_ofi_ep *ep)
{
    dm_list_for_each (it, &ep->sent) {
        struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, link);

        if (op->is_done)
            continue;
        op->status = dm_dto_is_send(&op->dto) || op->dto.kind == DM_OP_WRITE_IMMED
                         ? DAT_DTO_ERR_REMOTE_RESPONDER
                         : DAT_DTO_ERR_REMOTE_ACCESS;
        ep->is_failing = true;
        return;
    }
}

void dm_ofi_dto_ack(struct dm_ofi_ep *ep, uint32_t n)
{
    struct dm_list *it = ep->sent.next;

    while (it != &ep->sent) {
        struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, link);

        it = it->next;
        if (!op->needs_ack || op->is_done || (int32_t)(n - op->id) < 0)
            continue;
        op->needs_ack = false;
        op->n_pending--;
        if (op->n_pending > 0)
            continue;
        dm_ofi_op_finish(op, op->status);
        it = ep->sent.next; /* it may be gone, and others */
    }
    if (ep->conn != NULL)
        dm_ofi_dto_push(ep);
}

void dm_ofi_op_refuse(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    op->status = status;
}

bool dm_ofi_op_uses(const struct dm_ofi_op *op, uint32_t key)
{
    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        if (op->dto.seg[i].lmr_context == key && op->dto.seg[i].segment_length > 0)
            return true;
    return false;
}

bool dm_ofi_dto_is_using(const struct dm_ofi_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->sent) {
        const struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, link);

        if (op->n_pending > 0 && dm_ofi_op_uses(op, key))
            return true;
    }
    return false;
}

/* The fabric has forgotten the endpoint. */
void dm_ofi_dto_flush(struct dm_ofi_ep *ep)
{
    struct dm_list *const lists[2] = {&ep->sent, &ep->queue};

    for (int i = 0; i < 2; i++) {
        while (!dm_list_is_empty(lists[i])) {
            struct dm_ofi_op *op = dm_container_of(lists[i]->next, struct dm_ofi_op, link);
            DAT_DTO_COMPLETION_STATUS status = op->status;

            if (!op->is_done && status == DAT_DTO_SUCCESS)
                status = DAT_DTO_ERR_FLUSHED;
            if (op->n_pending == 0 || (op->n_pending == 1 && (op->needs_ack || op->n_sinks > 0))) {
                dto_retire(ep, op, status);
                continue;
            }
            /* Not reported: it may still be some day. */
            dm_list_del(&op->link);
            op->ep = NULL;
            ofi_dto_complete(ep, &op->dto, status, 0);
        }
    }
    ep->n_used = 0;
    ep->n_unsignalled = 0;
    ep->must_signal = false;
    ep->n_reads = 0;
    ep->is_failing = false;
    ep->is_ack_due = false;
}

/* ---- posting ---- */

/* May it be unsignalled? Small data, that leave the memory
 * soon, and not too many in a row. */
static bool dto_can_be_unsignalled(const struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    uint64_t len = 0;

    if (dto->kind != DM_OP_WRITE || (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) == 0 ||
        dto->n_seg > DM_OFI_OP_SEGS || ep->must_signal ||
        ep->n_unsignalled >= (uint32_t)ep->ep.attr.max_request_dtos / QUIET_PART)
        return false;
    for (uint32_t i = 0; i < dto->n_seg; i++)
        len += dto->seg[i].segment_length;
    return len <= QUIET_MAX;
}

static DAT_RETURN ofi_dto_enqueue(struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    struct dm_ofi_op *op = dm_ofi_op_new(ep, dm_ofi_ia_of(ep), dto);

    if (op == NULL)
        return DM_DAT_NOMEM;
    ep->n_used++;
    dm_list_add_tail(&ep->queue, &op->link);
    dm_ofi_dto_push(ep);
    return DAT_SUCCESS;
}

static DAT_RETURN dto_post_open(struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    DAT_DTO_COMPLETION_STATUS status;

    if (dm_list_is_empty(&ep->queue) && dto_is_open(ep) && !dto_must_wait(ep, dto) &&
        dto_can_be_unsignalled(ep, dto) && dm_ofi_issue(ep, dto, NULL, &status) == 0) {
        ep->n_used++;
        ep->n_unsignalled++;
        return DAT_SUCCESS;
    }
    return ofi_dto_enqueue(ep, dto);
}

static DAT_RETURN ofi_dto_post_locked(struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    bool is_late;
    int state;

    if (ep->ep.obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_EP))
        return DM_DAT_BAD(EP);
    state = atomic_load(&ep->ep.state);
    if (state == DAT_EP_STATE_CONNECTED && !ofi_dto_has_slot(ep)) {
        (void)dm_ofi_progress(dm_ofi_ia_of(ep)); /* perhaps something is over */
        state = atomic_load(&ep->ep.state);
    }
    /* Behind a failure that the consumer has not seen yet: to be flushed. */
    is_late = state == DAT_EP_STATE_DISCONNECT_PENDING && ep->conn != NULL &&
              (ep->is_failing || ep->conn->end.is_nak_sent || ep->conn->end.is_peer_terminated);
    if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED && !is_late)
        return dm_ep_bad_state(state);
    /* What is unsignalled is with the fabric: it must not block the last slots. */
    if (!ofi_dto_has_slot(ep) && ep->n_unsignalled > 0 && !ep->must_signal) {
        ep->n_used -= ep->n_unsignalled;
        ep->n_unsignalled = 0;
        ep->must_signal = true;
    }
    if (!ofi_dto_has_slot(ep))
        return DM_DAT_NOMEM;
    if (state == DAT_EP_STATE_CONNECTED || is_late)
        return dto_post_open(ep, dto);
    ofi_dto_complete(ep, dto, DAT_DTO_ERR_FLUSHED, 0);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_post(struct dm_ep *ep, const struct dm_dto *dto)
{
    struct dm_pia *ia = ep->obj.ia;
    DAT_RETURN ret;

    pthread_mutex_lock(&ia->lock);
    ret = ofi_dto_post_locked((struct dm_ofi_ep *)ep, dto);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

static DAT_RETURN dto_post_checked(DAT_EP_HANDLE handle, struct dm_dto *dto, DAT_COUNT n,
                                   const DAT_RMR_TRIPLET *remote)
{
    DAT_RETURN ret = dm_dto_check(handle, dto, n, remote);

    return ret == DAT_SUCCESS ? dm_ofi_post((struct dm_ep *)handle, dto) : ret;
}

DAT_RETURN dm_ofi_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_SEND, .flags = flags, .cookie = cookie, .seg = seg};

    return dto_post_checked(ep, &dto, n, NULL);
}

DAT_RETURN dm_ofi_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_WRITE, .flags = flags, .cookie = cookie, .seg = seg};

    return dto_post_checked(ep, &dto, n, remote);
}

DAT_RETURN dm_ofi_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_READ, .flags = flags, .cookie = cookie, .seg = seg};

    return dto_post_checked(ep, &dto, n, remote);
}
