/*
 * Requests: posting, their order, their completion.
 *
 * Invariants: a request is in ep->sent from when it is handed to the fabric (or
 * has failed before) until everything before it has completed; ep->queue holds
 * those behind, which wait for the connection, for room or for a read. What a
 * read brings is there before anything behind it begins.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "providers/ofi/rmr.h"

enum { OPS_PER_CHUNK = 32, QUIET_MAX = 131072, QUIET_PART = 4, READS_MAX = 16 };

struct op_chunk {
    struct dm_list link;
    struct dm_ofi_op ops[OPS_PER_CHUNK];
};

/* ---- memory ---- */

static bool ops_grow(struct dm_ofi_ia *ia)
{
    struct op_chunk *chunk = malloc(sizeof(*chunk));

    if (chunk == NULL)
        return false;
    dm_list_add_tail(&ia->op_chunks, &chunk->link);
    for (int i = 0; i < OPS_PER_CHUNK; i++)
        dm_list_add_tail(&ia->ops, &chunk->ops[i].link);
    return true;
}

struct dm_ofi_op *dm_ofi_op_new(struct dm_ofi_ep *ep, struct dm_ofi_ia *ia,
                                const struct dm_dto *dto)
{
    struct dm_ofi_op *op;
    DAT_LMR_TRIPLET *seg;

    if (dm_list_is_empty(&ia->ops) && !ops_grow(ia))
        return NULL;
    op = dm_container_of(ia->ops.prev, struct dm_ofi_op, link);
    seg = op->few;
    op->more = NULL;
    if (dto->n_seg > DM_OFI_OP_SEGS) {
        op->more = malloc(dto->n_seg * sizeof(*seg));
        if (op->more == NULL)
            return NULL;
        seg = op->more;
    }
    dm_list_del(&op->link);
    op->ep = ep;
    op->dto = *dto;
    op->dto.seg = seg;
    if (dto->n_seg > 0)
        memcpy(seg, dto->seg, dto->n_seg * sizeof(*seg));
    op->is_done = false;
    op->is_handed = false;
    op->is_counted = false;
    op->is_asked = false;
    op->is_granted = false;
    op->is_bad = false;
    op->is_acked = false;
    op->id = 0;
    op->n_fabric = 0;
    op->n_quiet = 0;
    op->status = DAT_DTO_SUCCESS;
    op->len = 0;
    op->pos = 0;
    op->bounce = NULL;
    op->sinks = NULL;
    op->n_sinks = 0;
    return op;
}

void dm_ofi_op_free(struct dm_ofi_ia *ia, struct dm_ofi_op *op)
{
    while (op->n_sinks > 0)
        fi_close(&op->sinks[--op->n_sinks]->fid);
    free(op->sinks);
    free(op->more);
    free(op->bounce);
    op->sinks = NULL;
    op->more = NULL;
    op->bounce = NULL;
    dm_list_add_tail(&ia->ops, &op->link);
}

bool dm_ofi_excess_map(struct dm_ofi_ia *ia)
{
    void *mem;

    if (ia->excess != NULL)
        return true;
    mem = mmap(NULL, DM_OFI_EXCESS_LEN, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mem == MAP_FAILED)
        return false;
    ia->excess = mem;
    return true;
}

void dm_ofi_ops_close(struct dm_ofi_ia *ia)
{
    if (ia->excess != NULL)
        munmap(ia->excess, DM_OFI_EXCESS_LEN);
    ia->excess = NULL;
    while (!dm_list_is_empty(&ia->op_chunks)) {
        struct op_chunk *chunk = dm_container_of(ia->op_chunks.next, struct op_chunk, link);

        dm_list_del(&chunk->link);
        free(chunk);
    }
    dm_list_init(&ia->ops);
}

/* ---- completing ---- */

static void complete(struct dm_ofi_ep *ep, const struct dm_dto *dto,
                     DAT_DTO_COMPLETION_STATUS status, uint64_t len)
{
    struct dm_evd_item item;
    bool is_in;

    if (dto->kind == DM_OP_BIND)
        dm_ofi_rmr_bound(dto->bind);
    if (status == DAT_DTO_SUCCESS && (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return;
    item = dm_dto_item(&ep->ep, dto, status, len);
    if (status == DAT_DTO_SUCCESS && dm_dto_is_quiet(&ep->ep, dto))
        is_in = dm_evd_add_quiet(ep->ep.request_evd, &item);
    else
        is_in = dm_evd_add(ep->ep.request_evd, &item);
    if (is_in) /* else nobody will dequeue it: the slot is free again */
        ep->n_signalled++;
}

static bool has_room(const struct dm_ofi_ep *ep)
{
    uint32_t n = ep->n_used + ep->n_signalled -
                 atomic_load_explicit(&ep->ep.n_request_reaped, memory_order_acquire);

    return n < (uint32_t)ep->ep.attr.max_request_dtos;
}

/* Take a request out of its list and complete it. */
static void retire(struct dm_ofi_ep *ep, struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    dm_list_del(&op->link);
    ep->n_used -= 1 + op->n_quiet;
    complete(ep, &op->dto, status, status == DAT_DTO_SUCCESS ? op->len : 0);
    dm_ofi_op_free(dm_ofi_ia_of(ep), op);
}

/* Complete what is over at the head, up to the first that has failed: behind
 * it everything is flushed when the connection has ended. */
static void reap(struct dm_ofi_ep *ep)
{
    while (!dm_list_is_empty(&ep->sent)) {
        struct dm_ofi_op *op = dm_container_of(ep->sent.next, struct dm_ofi_op, link);
        DAT_DTO_COMPLETION_STATUS status = op->status;

        if (!op->is_done)
            return;
        retire(ep, op, status);
        if (status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED && ep->conn != NULL) {
            ep->is_failing = true;
            dm_ofi_conn_break(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
            return;
        }
    }
}

void dm_ofi_op_over(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    struct dm_ofi_ep *ep = op->ep;

    if (op->is_counted)
        ep->n_reads--;
    op->is_counted = false;
    dm_ofi_far_confirm(ep);
    op->is_done = true;
    op->status = status;
    reap(ep);
    if (dm_list_is_empty(&ep->queue) && dm_list_is_empty(&ep->sent))
        dm_ofi_ep_drained(ep);
}

/* What an error of the fabric means. That the other side does not want a
 * request it says by closing; only the first request can be the cause. */
static DAT_DTO_COMPLETION_STATUS status_of(const struct dm_ofi_op *op)
{
    struct dm_ofi_ep *ep = op->ep;
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_ERR_FLUSHED;

    if (ep->conn == NULL || ep->is_failing || ep->sent.next != &op->link)
        return status;
    if (!dm_dto_is_send(&op->dto) && dm_ofi_far_is_gone(ep, op->dto.remote.rmr_context))
        status = DAT_DTO_ERR_REMOTE_ACCESS;
    ep->is_failing = status != DAT_DTO_ERR_FLUSHED;
    return status;
}

static void op_done(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_op *op = dm_container_of(ctx, struct dm_ofi_op, ctx);
    struct dm_ofi_ep *ep = op->ep;

    op->n_fabric--;
    if (ep == NULL) {
        if (op->n_fabric == 0)
            free(op->more); /* its slab goes with the instance */
        op->more = NULL;
        return;
    }
    if (done->err != 0 && op->status == DAT_DTO_SUCCESS) {
        op->status = status_of(op);
        /* Cancelled is what the end of the connection has cancelled; that end
         * is reported in its own way. */
        if (done->err != FI_ECANCELED && ep->conn != NULL)
            dm_ofi_conn_fail(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
    }
    if (op->n_fabric > 0 || !op->is_handed)
        return;
    dm_ofi_op_over(op, op->status);
    if (ep->conn != NULL)
        dm_ofi_push(ep);
}

/* ---- order ---- */

/* Does it have to wait for what is under way? Reads have to now and then: the
 * fabric answers them before it does anything else, so that a peer would not
 * get a word in. */
static bool must_wait(const struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    if (ep->n_reads == 0)
        return false;
    return !dm_dto_is_read(dto) || ep->n_gone_due > 0 || ep->n_row >= READS_MAX ||
           (dto->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) != 0;
}

static bool is_open(const struct dm_ofi_ep *ep)
{
    return ep->conn != NULL && ep->conn->state == DM_CONN_UP && !ep->is_failing &&
           (atomic_load(&ep->ep.state) == DAT_EP_STATE_CONNECTED || ep->ep.is_draining);
}

void dm_ofi_wait_for_room(struct dm_ofi_ep *ep)
{
    if (ep->is_waiting)
        return;
    ep->is_waiting = true;
    dm_list_add_tail(&dm_ofi_ia_of(ep)->waiting, &ep->link_waiting);
}

/* Put it among the sent ones, which it is or will be in a moment. */
static void count_in(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    dm_list_add_tail(&ep->sent, &op->link);
    op->n_quiet = ep->n_quiet;
    ep->n_quiet = 0;
    ep->is_loud = false;
    if (dm_dto_is_read(&op->dto) || dm_dto_is_atomic(&op->dto)) {
        op->is_counted = true;
        ep->n_row = ep->n_reads == 0 ? 1 : ep->n_row + 1;
        ep->n_reads++;
    }
}

/* Hand the first of the queue to the fabric. False: it has to wait. */
static bool start(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
    int err;

    op->ctx.done = op_done;
    status = op->status;
    err = status != DAT_DTO_SUCCESS ? -FI_EACCES : dm_ofi_issue(ep, &op->dto, op, &status);
    if (err == -FI_EAGAIN)
        dm_ofi_wait_for_room(ep);
    if (err == -FI_EAGAIN || err == -FI_EBUSY)
        return false;
    dm_list_del(&op->link);
    count_in(ep, op);
    op->is_handed = true;
    if (err != 0) {
        op->status = status;
        ep->is_failing = true;
        if (op->n_fabric == 0)
            dm_ofi_op_over(op, status);
    } else if (op->n_fabric == 0 && !dm_dto_is_atomic(&op->dto)) {
        dm_ofi_op_over(op, DAT_DTO_SUCCESS); /* it was ours alone */
    }
    return true;
}

void dm_ofi_push(struct dm_ofi_ep *ep)
{
    while (!dm_list_is_empty(&ep->queue) && is_open(ep)) {
        struct dm_ofi_op *op = dm_container_of(ep->queue.next, struct dm_ofi_op, link);

        if (must_wait(ep, &op->dto))
            return; /* op_done() goes on */
        if (!start(ep, op))
            return;
    }
}

void dm_ofi_ep_push_all(struct dm_ofi_ia *ia)
{
    struct dm_list waiting;

    dm_list_init(&waiting);
    while (!dm_list_is_empty(&ia->waiting)) {
        struct dm_list *it = ia->waiting.next;

        dm_list_del(it);
        dm_list_add_tail(&waiting, it);
    }
    while (!dm_list_is_empty(&waiting)) {
        struct dm_ofi_ep *ep = dm_container_of(waiting.next, struct dm_ofi_ep, link_waiting);

        dm_list_del(&ep->link_waiting);
        ep->is_waiting = false;
        while (!dm_list_is_empty(&ep->mails) && ep->conn != NULL) {
            struct dm_ofi_letter *letter =
                dm_container_of(ep->mails.next, struct dm_ofi_letter, link);

            if (!dm_ofi_mail_send(ep->conn, &letter->mail)) {
                dm_ofi_wait_for_room(ep);
                break;
            }
            dm_list_del(&letter->link);
            free(letter);
        }
        if (ep->is_ack_due && ep->conn != NULL)
            dm_ofi_conn_taken(ep->conn);
        ep->is_ack_due = false;
        dm_ofi_recvs_push(ep);
        dm_ofi_push(ep);
    }
}

void dm_ofi_mail_post(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_letter *letter;

    if (ep->conn == NULL || (dm_list_is_empty(&ep->mails) && dm_ofi_mail_send(ep->conn, mail)))
        return;
    letter = malloc(sizeof(*letter));
    if (letter == NULL) {
        dm_ofi_conn_fail(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
        return;
    }
    letter->mail = *mail;
    dm_list_add_tail(&ep->mails, &letter->link);
    dm_ofi_wait_for_room(ep);
}

struct dm_ofi_op *dm_ofi_op_find(struct dm_ofi_ep *ep, uint32_t id)
{
    struct dm_list *const lists[2] = {&ep->sent, &ep->queue};

    for (int i = 0; i < 2; i++) {
        dm_list_for_each (it, lists[i]) {
            struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, link);

            if (op->is_asked && op->id == id)
                return op;
        }
    }
    return NULL;
}

void dm_ofi_ep_blamed(struct dm_ofi_ep *ep)
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

void dm_ofi_ep_taken(struct dm_ofi_ep *ep, uint32_t n)
{
    struct dm_list *it = ep->sent.next;

    while (it != &ep->sent) {
        struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, link);

        it = it->next;
        if (!op->is_acked || op->is_done || (int32_t)(n - op->id) < 0)
            continue;
        op->is_acked = false;
        op->n_fabric--;
        if (op->n_fabric > 0)
            continue;
        dm_ofi_op_over(op, op->status);
        it = ep->sent.next; /* it may be gone, and others */
    }
    if (ep->conn != NULL)
        dm_ofi_push(ep);
}

void dm_ofi_op_refuse(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    op->status = status;
}

static bool uses(const struct dm_ofi_op *op, uint32_t key)
{
    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        if (op->dto.seg[i].lmr_context == key && op->dto.seg[i].segment_length > 0)
            return true;
    return false;
}

bool dm_ofi_ep_is_using(const struct dm_ofi_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->sent) {
        const struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, link);

        if (op->n_fabric > 0 && uses(op, key))
            return true;
    }
    return false;
}

void dm_ofi_ep_up(struct dm_ofi_ep *ep)
{
    dm_ofi_push(ep);
}

/* The fabric has forgotten the endpoint. */
static void flush_requests(struct dm_ofi_ep *ep)
{
    struct dm_list *const lists[2] = {&ep->sent, &ep->queue};

    for (int i = 0; i < 2; i++) {
        while (!dm_list_is_empty(lists[i])) {
            struct dm_ofi_op *op = dm_container_of(lists[i]->next, struct dm_ofi_op, link);
            DAT_DTO_COMPLETION_STATUS status = op->status;

            if (!op->is_done && status == DAT_DTO_SUCCESS)
                status = DAT_DTO_ERR_FLUSHED;
            if (op->n_fabric == 0 || (op->n_fabric == 1 && (op->is_acked || op->n_sinks > 0))) {
                retire(ep, op, status);
                continue;
            }
            /* Not reported: it may still be some day. */
            dm_list_del(&op->link);
            op->ep = NULL;
            complete(ep, &op->dto, status, 0);
        }
    }
    ep->n_used = 0;
    ep->n_quiet = 0;
    ep->is_loud = false;
    ep->n_reads = 0;
    ep->is_failing = false;
    ep->is_ack_due = false;
}

void dm_ofi_ep_flush(struct dm_ofi_ep *ep)
{
    ep->is_handed = false;
    flush_requests(ep);
    dm_ofi_recvs_flush(ep);
    dm_rmr_ep_down(&ep->ep);
    while (!dm_list_is_empty(&ep->mails)) {
        struct dm_ofi_letter *letter = dm_container_of(ep->mails.next, struct dm_ofi_letter, link);

        dm_list_del(&letter->link);
        free(letter);
    }
    if (ep->is_waiting)
        dm_list_del(&ep->link_waiting);
    ep->is_waiting = false;
    dm_ofi_srq_forget(ep);
    dm_ofi_far_forget(ep);
    ep->n_gone_due = 0;
    dm_ofi_far_confirmed(ep, UINT64_MAX);
}

/* ---- posting ---- */

/* May it go without a report of the fabric? Small data, that leave the memory
 * soon, and not too many in a row. */
static bool can_be_quiet(const struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    uint64_t len = 0;

    if (dto->kind != DM_OP_WRITE || (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) == 0 ||
        dto->n_seg > DM_OFI_OP_SEGS || ep->is_loud ||
        ep->n_quiet >= (uint32_t)ep->ep.attr.max_request_dtos / QUIET_PART)
        return false;
    for (uint32_t i = 0; i < dto->n_seg; i++)
        len += dto->seg[i].segment_length;
    return len <= QUIET_MAX;
}

static DAT_RETURN enqueue(struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    struct dm_ofi_op *op = dm_ofi_op_new(ep, dm_ofi_ia_of(ep), dto);

    if (op == NULL)
        return DM_DAT_NOMEM;
    ep->n_used++;
    dm_list_add_tail(&ep->queue, &op->link);
    dm_ofi_push(ep);
    return DAT_SUCCESS;
}

static DAT_RETURN post_open(struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    DAT_DTO_COMPLETION_STATUS status;

    if (dm_list_is_empty(&ep->queue) && is_open(ep) && !must_wait(ep, dto) &&
        can_be_quiet(ep, dto) && dm_ofi_issue(ep, dto, NULL, &status) == 0) {
        ep->n_used++;
        ep->n_quiet++;
        return DAT_SUCCESS;
    }
    return enqueue(ep, dto);
}

static DAT_RETURN post_locked(struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    bool is_late;
    int state;

    if (ep->ep.obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_EP))
        return DM_DAT_BAD(EP);
    state = atomic_load(&ep->ep.state);
    if (state == DAT_EP_STATE_CONNECTED && !has_room(ep)) {
        (void)dm_ofi_progress(dm_ofi_ia_of(ep)); /* perhaps something is over */
        state = atomic_load(&ep->ep.state);
    }
    /* Behind a failure that the consumer has not seen yet: to be flushed. */
    is_late = state == DAT_EP_STATE_DISCONNECT_PENDING && ep->conn != NULL &&
              (ep->is_failing || ep->conn->is_blaming || ep->conn->said_broken);
    if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED && !is_late)
        return dm_ep_bad_state(state);
    /* What is quiet is with the fabric: it must not block the last slots. */
    if (!has_room(ep) && ep->n_quiet > 0 && !ep->is_loud) {
        ep->n_used -= ep->n_quiet;
        ep->n_quiet = 0;
        ep->is_loud = true;
    }
    if (!has_room(ep))
        return DM_DAT_NOMEM;
    if (state == DAT_EP_STATE_CONNECTED || is_late)
        return post_open(ep, dto);
    complete(ep, dto, DAT_DTO_ERR_FLUSHED, 0);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_post(struct dm_ep *ep, const struct dm_dto *dto)
{
    struct dm_pia *ia = ep->obj.ia;
    DAT_RETURN ret;

    pthread_mutex_lock(&ia->lock);
    ret = post_locked((struct dm_ofi_ep *)ep, dto);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

static DAT_RETURN post_checked(DAT_EP_HANDLE handle, struct dm_dto *dto, DAT_COUNT n,
                               const DAT_RMR_TRIPLET *remote)
{
    DAT_RETURN ret = dm_dto_check(handle, dto, n, remote);

    return ret == DAT_SUCCESS ? dm_ofi_post((struct dm_ep *)handle, dto) : ret;
}

DAT_RETURN dm_ofi_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_SEND, .flags = flags, .cookie = cookie, .seg = seg};

    return post_checked(ep, &dto, n, NULL);
}

DAT_RETURN dm_ofi_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_WRITE, .flags = flags, .cookie = cookie, .seg = seg};

    return post_checked(ep, &dto, n, remote);
}

DAT_RETURN dm_ofi_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_READ, .flags = flags, .cookie = cookie, .seg = seg};

    return post_checked(ep, &dto, n, remote);
}
