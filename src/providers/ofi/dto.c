/*
 * Requests: posting, their order, their completion.
 *
 * Invariants: a request is in ep->base.sent from when it is posted to the fabric (or
 * has failed before) until everything before it has completed; ep->base.queue holds
 * those behind, which wait for the connection, for space or for a read. What a
 * read brings is there before anything behind it begins.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "providers/net/op.h"
#include "providers/net/transport.h"
#include "providers/ofi/ctrl.h"
#include "providers/ofi/rdma.h"
#include "providers/ofi/rkey.h"

enum { QUIET_MAX = 131072, QUIET_PART = 4, READS_MAX = 16 };

/* ---- completing ---- */

/* Take a request out of its list and complete it. */
static void dto_retire(struct dm_ofi_ep *ep, struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    dm_list_del(&op->base.link);
    ep->base.n_used -= 1 + op->n_unsignalled;
    dm_net_dto_complete(&ep->base, &op->base.dto, status,
                        status == DAT_DTO_SUCCESS ? op->base.len : 0);
    dm_ofi_op_free(op);
}

/* Complete what is over at the head, up to the first that has failed: behind
 * it everything is flushed when the connection has ended. */
static void dto_reap(struct dm_ofi_ep *ep)
{
    while (!dm_list_is_empty(&ep->base.sent)) {
        struct dm_ofi_op *op = dm_container_of(ep->base.sent.next, struct dm_ofi_op, base.link);
        DAT_DTO_COMPLETION_STATUS status = op->base.status;

        if (!op->is_done)
            return;
        dto_retire(ep, op, status);
        if (status != DAT_DTO_SUCCESS && status != DAT_DTO_ERR_FLUSHED && ep->base.conn != NULL) {
            ep->base.is_failing = true;
            dm_net_conn_terminate(ep->base.conn, DAT_CONNECTION_EVENT_BROKEN);
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
    op->base.status = status;
    dto_reap(ep);
    if (dm_list_is_empty(&ep->base.queue) && dm_list_is_empty(&ep->base.sent))
        dm_net_ep_drained(&ep->base);
}

/* What an error of the fabric means. The other side refuses a request by
 * closing; only the first request can be the cause. */
static DAT_DTO_COMPLETION_STATUS dto_error_status(const struct dm_ofi_op *op)
{
    struct dm_ofi_ep *ep = op->ep;
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_ERR_FLUSHED;

    if (ep->base.conn == NULL || ep->base.is_failing || ep->base.sent.next != &op->base.link)
        return status;
    if (!dm_dto_is_send(&op->base.dto) &&
        dm_ofi_rkey_is_invalid(ep, op->base.dto.remote.rmr_context))
        status = DAT_DTO_ERR_REMOTE_ACCESS;
    ep->base.is_failing = status != DAT_DTO_ERR_FLUSHED;
    return status;
}

static void dto_op_done(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_op *op = dm_container_of(ctx, struct dm_ofi_op, ctx);
    struct dm_ofi_ep *ep = op->ep;

    op->n_pending--;
    if (ep == NULL) {
        if (op->n_pending == 0)
            free(op->base.more); /* its slab goes with the instance */
        op->base.more = NULL;
        return;
    }
    if (done->err != 0 && op->base.status == DAT_DTO_SUCCESS) {
        op->base.status = dto_error_status(op);
        /* Cancelled is what the end of the connection has cancelled; that end
         * is reported in its own way. */
        if (done->err != FI_ECANCELED && ep->base.conn != NULL)
            dm_net_conn_fail(ep->base.conn, DAT_CONNECTION_EVENT_BROKEN);
    }
    if (op->n_pending > 0 || !op->is_posted)
        return;
    dm_ofi_op_finish(op, op->base.status);
    if (ep->base.conn != NULL)
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
    return ep->base.conn != NULL && ep->base.conn->state == DM_CONN_UP && !ep->base.is_failing &&
           (atomic_load(&ep->base.ep.state) == DAT_EP_STATE_CONNECTED || ep->base.ep.is_draining);
}

/* Move it to the sent ones, which it is or will be in a moment. */
static void dto_mark_sent(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    dm_list_add_tail(&ep->base.sent, &op->base.link);
    op->n_unsignalled = ep->n_unsignalled;
    ep->n_unsignalled = 0;
    ep->must_signal = false;
    if (dm_dto_is_read(&op->base.dto) || dm_dto_is_atomic(&op->base.dto)) {
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
    status = op->base.status;
    err = status != DAT_DTO_SUCCESS ? -FI_EACCES : dm_ofi_issue(ep, &op->base.dto, op, &status);
    if (err == -FI_EAGAIN)
        dm_net_ep_wait(&ep->base);
    if (err == -FI_EAGAIN || err == -FI_EBUSY)
        return false;
    dm_list_del(&op->base.link);
    dto_mark_sent(ep, op);
    op->is_posted = true;
    if (err != 0) {
        op->base.status = status;
        ep->base.is_failing = true;
        if (op->n_pending == 0)
            dm_ofi_op_finish(op, status);
    } else if (op->n_pending == 0 && !dm_dto_is_atomic(&op->base.dto)) {
        dm_ofi_op_finish(op, DAT_DTO_SUCCESS); /* it needed no fabric */
    }
    return true;
}

void dm_ofi_dto_push(struct dm_ofi_ep *ep)
{
    while (!dm_list_is_empty(&ep->base.queue) && dto_is_open(ep)) {
        struct dm_ofi_op *op = dm_container_of(ep->base.queue.next, struct dm_ofi_op, base.link);

        if (dto_must_wait(ep, &op->base.dto))
            return; /* dto_op_done() goes on */
        if (!dto_start(ep, op))
            return;
    }
}

struct dm_ofi_op *dm_ofi_op_find(struct dm_ofi_ep *ep, uint32_t id)
{
    struct dm_list *const lists[2] = {&ep->base.sent, &ep->base.queue};

    for (int i = 0; i < 2; i++) {
        dm_list_for_each (it, lists[i]) {
            struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, base.link);

            if (op->is_requested && op->id == id)
                return op;
        }
    }
    return NULL;
}

void dm_ofi_dto_nak(struct dm_ofi_ep *ep)
{
    dm_list_for_each (it, &ep->base.sent) {
        struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, base.link);

        if (op->is_done)
            continue;
        op->base.status = dm_dto_is_send(&op->base.dto) || op->base.dto.kind == DM_OP_WRITE_IMMED
                              ? DAT_DTO_ERR_REMOTE_RESPONDER
                              : DAT_DTO_ERR_REMOTE_ACCESS;
        ep->base.is_failing = true;
        return;
    }
}

void dm_ofi_dto_ack(struct dm_ofi_ep *ep, uint32_t n)
{
    struct dm_list *it = ep->base.sent.next;

    while (it != &ep->base.sent) {
        struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, base.link);

        it = it->next;
        if (!op->needs_ack || op->is_done || (int32_t)(n - op->id) < 0)
            continue;
        op->needs_ack = false;
        op->n_pending--;
        if (op->n_pending > 0)
            continue;
        dm_ofi_op_finish(op, op->base.status);
        it = ep->base.sent.next; /* it may be gone, and others */
    }
    if (ep->base.conn != NULL)
        dm_ofi_dto_push(ep);
}

void dm_ofi_op_refuse(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    op->base.status = status;
}

bool dm_ofi_dto_is_using(const struct dm_ofi_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->base.sent) {
        const struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, base.link);

        if (op->n_pending > 0 && dm_net_op_uses(&op->base, key))
            return true;
    }
    return false;
}

/* The fabric has forgotten the endpoint. */
void dm_ofi_dto_flush(struct dm_ofi_ep *ep)
{
    struct dm_list *const lists[2] = {&ep->base.sent, &ep->base.queue};

    for (int i = 0; i < 2; i++) {
        while (!dm_list_is_empty(lists[i])) {
            struct dm_ofi_op *op = dm_container_of(lists[i]->next, struct dm_ofi_op, base.link);
            DAT_DTO_COMPLETION_STATUS status = op->base.status;

            if (!op->is_done && status == DAT_DTO_SUCCESS)
                status = DAT_DTO_ERR_FLUSHED;
            if (op->n_pending == 0 || (op->n_pending == 1 && (op->needs_ack || op->n_sinks > 0))) {
                dto_retire(ep, op, status);
                continue;
            }
            /* Not reported: it may still be some day. */
            dm_list_del(&op->base.link);
            op->ep = NULL;
            dm_net_dto_complete(&ep->base, &op->base.dto, status, 0);
        }
    }
    ep->base.n_used = 0;
    ep->n_unsignalled = 0;
    ep->must_signal = false;
    ep->n_reads = 0;
    ep->base.is_failing = false;
    ep->is_ack_due = false;
}

/* ---- posting ---- */

/* May it be unsignalled? Small data, that leave the memory
 * soon, and not too many in a row. */
static bool dto_can_be_unsignalled(const struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    uint64_t len = 0;

    if (dto->kind != DM_OP_WRITE || (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) == 0 ||
        dto->n_seg > DM_NET_OP_SEGS || ep->must_signal ||
        ep->n_unsignalled >= (uint32_t)ep->base.ep.attr.max_request_dtos / QUIET_PART)
        return false;
    for (uint32_t i = 0; i < dto->n_seg; i++)
        len += dto->seg[i].segment_length;
    return len <= QUIET_MAX;
}

static DAT_RETURN ofi_dto_enqueue(struct dm_ofi_ep *ep, const struct dm_dto *dto)
{
    struct dm_net_op *op = dm_transport_op_new(&dm_ofi_ia_of(ep)->net, dto);

    if (op == NULL)
        return DM_DAT_NOMEM;
    ((struct dm_ofi_op *)op)->ep = ep;
    ep->base.n_used++;
    dm_list_add_tail(&ep->base.queue, &op->link);
    dm_ofi_dto_push(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_transport_post(struct dm_net_ep *any, const struct dm_dto *dto)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;
    DAT_DTO_COMPLETION_STATUS status;

    if (dm_list_is_empty(&any->queue) && dto_is_open(ep) && !dto_must_wait(ep, dto) &&
        dto_can_be_unsignalled(ep, dto) && dm_ofi_issue(ep, dto, NULL, &status) == 0) {
        any->n_used++;
        ep->n_unsignalled++;
        return DAT_SUCCESS;
    }
    return ofi_dto_enqueue(ep, dto);
}

/* What is unsignalled is with the fabric: it must not block the last slots. */
void dm_ofi_ep_reclaim(struct dm_net_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    (void)dm_net_of(any)->ops->round(dm_net_of(any), true); /* perhaps something is over */
    if (dm_net_ep_has_slot(any) || ep->n_unsignalled == 0 || ep->must_signal)
        return;
    any->n_used -= ep->n_unsignalled;
    ep->n_unsignalled = 0;
    ep->must_signal = true;
}
