/*
 * The frames of a request: what goes to the peer for it.
 */
#include "providers/tcp/rdma.h"

/* Suppressed requests in a row that the peer need not acknowledge, beyond what it does by itself. */
enum { QUIET_MAX = 64 };

static const uint8_t types[] = {
    [DM_OP_SEND] = DM_TCP_SEND,           [DM_OP_WRITE] = DM_TCP_WRITE,
    [DM_OP_READ] = DM_TCP_READ,           [DM_OP_SEND_INVALIDATE] = DM_TCP_SEND_INVAL,
    [DM_OP_READ_TO_RMR] = DM_TCP_READ,    [DM_OP_WRITE_IMMED] = DM_TCP_WRITE_IMMED,
    [DM_OP_FETCH_ADD] = DM_TCP_FETCH_ADD, [DM_OP_CMP_SWAP] = DM_TCP_CMP_SWAP};

/* Does the peer have to say that it is over? */
static bool request_wants_ack(struct dm_tcp_ep *ep, const struct dm_dto *dto)
{
    if ((dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0 &&
        (++ep->n_quiet < QUIET_MAX || ep->last_number - ep->n_acked < QUIET_MAX))
        return false;
    ep->n_quiet = 0;
    return true;
}

/* A read: of nothing it is a write of nothing. */
static void head_read(const struct dm_tcp_op *op, struct dm_tcp_head *head)
{
    head->value = (uint32_t)op->base.len;
    if (op->base.len > 0)
        return;
    head->type = DM_TCP_WRITE;
    head->flags = DM_TCP_ACK_ME;
}

static void head_data(struct dm_tcp_ep *ep, const struct dm_tcp_op *op, struct dm_tcp_head *head)
{
    uint64_t left = op->base.len - op->base.pos;

    head->len = left < DM_TCP_PIECE_MAX ? (uint32_t)left : DM_TCP_PIECE_MAX;
    head->va += op->base.pos;
    if (dm_dto_is_send(&op->base.dto))
        head->va = op->base.len;
    else if (op->base.dto.kind == DM_OP_WRITE)
        head->value = (uint32_t)left;
    if (op->base.dto.kind == DM_OP_SEND_INVALIDATE)
        head->value = op->base.dto.invalidate;
    if (op->base.dto.kind == DM_OP_WRITE_IMMED)
        head->value = op->base.dto.immed;
    if (head->len < left) {
        head->flags |= DM_TCP_MORE;
        if (op->base.dto.kind == DM_OP_WRITE_IMMED) {
            head->type = DM_TCP_WRITE;
            head->value = (uint32_t)left;
        }
    } else if (request_wants_ack(ep, &op->base.dto)) {
        head->flags |= DM_TCP_ACK_ME;
    }
    if ((op->base.dto.flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) != 0)
        head->flags |= DM_TCP_SOLICITED;
}

void dm_tcp_request_head(struct dm_tcp_ep *ep, const struct dm_tcp_op *op, struct dm_tcp_head *head)
{
    *head = (struct dm_tcp_head){.type = types[op->base.dto.kind],
                                 .va = op->base.dto.remote.virtual_address,
                                 .key = op->base.dto.remote.rmr_context};
    if (dm_dto_is_read(&op->base.dto))
        head_read(op, head);
    else if (dm_dto_is_atomic(&op->base.dto))
        head->len = DM_TCP_OPERANDS_LEN;
    else
        head_data(ep, op, head);
}

uint32_t dm_tcp_request_data(const struct dm_tcp_op *op, uint32_t n, struct iovec *vec,
                             uint32_t max)
{
    const char *operands = (const char *)op->base.dto.operand;

    if (dm_likely(!dm_dto_is_atomic(&op->base.dto)))
        return dm_tcp_op_part(op, op->base.pos, n, vec, max);
    vec->iov_base = (char *)(uintptr_t)operands + (DM_TCP_OPERANDS_LEN - n);
    vec->iov_len = n;
    return 1;
}

bool dm_tcp_request_moved(struct dm_tcp_op *op, uint32_t n, uint32_t left)
{
    if (dm_dto_is_read(&op->base.dto) || dm_dto_is_atomic(&op->base.dto))
        return left == 0;
    op->base.pos += n;
    return op->base.pos == op->base.len;
}
