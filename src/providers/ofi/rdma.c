/*
 * Posting requests to the fabric.
 *
 * What a processor has to place (is_split) comes in two parts, the last one of
 * 8 bytes, which it stores after the rest. Data of more segments than the
 * fabric takes go in several requests.
 */
#include "providers/ofi/rdma.h"

#include <stdlib.h>
#include <string.h>

#include "providers/common/last.h"
#include "providers/ofi/ctrl.h"
#include "providers/ofi/key.h"
#include "providers/ofi/rkey.h"

/* Check the local segments; empty ones are left out. */
static bool rdma_local_check(const struct dm_ofi_ep *ep, const struct dm_dto *dto,
                             struct dm_ofi_local *local)
{
    local->n = 0;
    local->len = 0;
    for (uint32_t i = 0; i < dto->n_seg; i++) {
        const DAT_LMR_TRIPLET *seg = &dto->seg[i];
        char *mem;

        if (seg->segment_length == 0)
            continue;
        mem = dm_net_key_mem(&ep->base.ep, seg->lmr_context, seg->virtual_address,
                             seg->segment_length, dm_dto_local_privs[dto->kind]);
        if (mem == NULL)
            return false;
        local->vec[local->n].iov_base = mem;
        local->vec[local->n].iov_len = seg->segment_length;
        local->len += seg->segment_length;
        local->n++;
    }
    return true;
}

/* The next stretch from pos on, of at most lim pieces. */
void dm_ofi_local_part(const struct dm_ofi_local *local, uint64_t pos, size_t lim,
                       struct dm_ofi_part *part)
{
    uint32_t i = 0;

    part->n = 0;
    part->len = 0;
    while (i < local->n && pos >= local->vec[i].iov_len)
        pos -= local->vec[i++].iov_len;
    for (; i < local->n && part->n < lim; i++) {
        part->vec[part->n].iov_base = (char *)local->vec[i].iov_base + pos;
        part->vec[part->n].iov_len = local->vec[i].iov_len - pos;
        part->len += local->vec[i].iov_len - pos;
        part->n++;
        pos = 0;
    }
}

size_t dm_ofi_iov_limit(const struct dm_ofi_ia *ia)
{
    size_t lim = ia->fabric.info->tx_attr->iov_limit;

    return lim < DM_OFI_IOV_MAX ? lim : DM_OFI_IOV_MAX;
}

/* The fabric's flags for what ends a request. */
static uint64_t rdma_end_flags(const struct dm_dto *dto)
{
    if ((dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return FI_COMPLETION;
    return FI_COMPLETION | FI_DELIVERY_COMPLETE;
}

/* The fabric's answer to an attempt. */
int dm_ofi_issue_result(struct dm_ofi_ep *ep, struct dm_ofi_op *op, ssize_t ret,
                        DAT_DTO_COMPLETION_STATUS *status_p)
{
    if (ret == 0) {
        if (op != NULL)
            op->n_pending++;
        return 0;
    }
    if (ret == -FI_EAGAIN)
        return -FI_EAGAIN;
    *status_p = DAT_DTO_ERR_FLUSHED;
    dm_net_conn_fail(ep->base.conn, DAT_CONNECTION_EVENT_BROKEN);
    return (int)ret;
}

void *dm_ofi_issue_ctx(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    return op != NULL ? &op->ctx : &dm_ofi_ep_conn(ep)->cqdata_ctx;
}

/* Nothing to move: a request to the control ring, which is always there. */
static int issue_empty(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                       DAT_DTO_COMPLETION_STATUS *status_p)
{
    struct dm_ofi_conn *conn = dm_ofi_ep_conn(ep);
    struct iovec vec = {.iov_base = conn->ctrl.ring};
    struct fi_rma_iov remote = {.addr = conn->ctrl.peer_addr, .key = conn->ctrl.peer_key};
    struct fi_msg_rma msg = {.msg_iov = &vec,
                             .iov_count = 1,
                             .rma_iov = &remote,
                             .rma_iov_count = 1,
                             .context = dm_ofi_issue_ctx(ep, op)};

    return dm_ofi_issue_result(
        ep, op, fi_writemsg(conn->fid, &msg, op != NULL ? rdma_end_flags(dto) : 0), status_p);
}

/* Where len bytes go: in one stretch or two. */
size_t dm_ofi_split_last(struct dm_ofi_ep *ep, uint64_t at, uint64_t len, uint64_t key,
                         struct fi_rma_iov remote[2])
{
    uint64_t tail = dm_last_tail(at, len);

    remote[0] = (struct fi_rma_iov){.addr = at, .len = len, .key = key};
    if (len <= tail || !dm_ofi_ia_of(ep)->fabric.is_split)
        return 1;
    remote[0].len = len - tail;
    remote[1] = (struct fi_rma_iov){.addr = at + remote[0].len, .len = tail, .key = key};
    return 2;
}

int dm_ofi_issue_write(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct dm_ofi_part *part,
                       uint64_t at, uint64_t key, uint64_t flags,
                       DAT_DTO_COMPLETION_STATUS *status_p)
{
    struct dm_ofi_conn *conn = dm_ofi_ep_conn(ep);
    const struct fi_tx_attr *tx = dm_ofi_ia_of(ep)->fabric.info->tx_attr;
    struct fi_rma_iov remote[2];
    struct fi_msg_rma msg = {.msg_iov = part->vec,
                             .iov_count = part->n,
                             .rma_iov = remote,
                             .rma_iov_count = dm_ofi_split_last(ep, at, part->len, key, remote),
                             .context = dm_ofi_issue_ctx(ep, op)};

    if (op == NULL && part->len <= tx->inject_size)
        flags |= FI_INJECT;
    else if (op == NULL)
        conn->unsignalled.is_any = true;
    return dm_ofi_issue_result(ep, op, fi_writemsg(conn->fid, &msg, flags), status_p);
}

int dm_ofi_issue_writes(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                        const struct dm_ofi_local *local, DAT_DTO_COMPLETION_STATUS *status_p)
{
    size_t lim = dm_ofi_iov_limit(dm_ofi_ia_of(ep));
    uint64_t pos = op != NULL ? op->base.pos : 0;
    int err = 0;

    while (pos < local->len && err == 0) {
        uint64_t flags = op == NULL ? 0 : FI_COMPLETION;
        struct dm_ofi_part part;

        dm_ofi_local_part(local, pos, lim, &part);
        if (op == NULL && part.len < local->len)
            return -FI_EAGAIN; /* not in one piece */
        if (op != NULL && pos + part.len == local->len && dto->kind == DM_OP_WRITE)
            flags = rdma_end_flags(dto);
        err = dm_ofi_issue_write(ep, op, &part, local->remote + pos, local->key, flags, status_p);
        if (err != 0)
            return err;
        pos += part.len;
        if (op != NULL)
            op->base.pos = pos;
    }
    return err;
}

static int issue_reads(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct dm_ofi_local *local,
                       DAT_DTO_COMPLETION_STATUS *status_p)
{
    struct dm_ofi_conn *conn = dm_ofi_ep_conn(ep);
    size_t lim = dm_ofi_iov_limit(dm_ofi_ia_of(ep));
    int err = 0;

    while (op->base.pos < local->len && err == 0) {
        struct fi_rma_iov remote = {.addr = local->remote + op->base.pos};
        struct dm_ofi_part part;
        struct fi_msg_rma msg = {
            .msg_iov = part.vec, .rma_iov = &remote, .rma_iov_count = 1, .context = &op->ctx};

        dm_ofi_local_part(local, op->base.pos, lim, &part);
        msg.iov_count = part.n;
        remote.len = part.len;
        remote.key = local->key;
        err = dm_ofi_issue_result(ep, op, fi_readmsg(conn->fid, &msg, FI_COMPLETION), status_p);
        if (err == 0)
            op->base.pos += part.len;
    }
    return err;
}

/* An atomic operation: the target's processor carries it out. */
static int issue_atomic(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_ATOMIC_REQ,
                               .status = dto->kind == DM_OP_CMP_SWAP,
                               .va = dto->remote.virtual_address,
                               .key = dto->remote.rmr_context,
                               .value = {dto->operand[0], dto->operand[1]}};

    op->id = ++ep->last_id;
    op->is_requested = true;
    ctrl.id = op->id;
    dm_ofi_ctrl_post(ep, &ctrl);
    return 0;
}

static int issue_failed(DAT_DTO_COMPLETION_STATUS status, DAT_DTO_COMPLETION_STATUS *status_p)
{
    *status_p = status;
    return -FI_EINVAL;
}

/* Find the remote side; atomic operations are checked over there. */
static int issue_find_remote(struct dm_ofi_ep *ep, const struct dm_dto *dto,
                             struct dm_ofi_local *local)
{
    uint32_t priv =
        dm_dto_is_read(dto) ? DAT_MEM_PRIV_REMOTE_READ_FLAG : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    int err = 0;

    if (local->len > 0 && !dm_dto_is_send(dto) && !dm_dto_is_atomic(dto))
        err = dm_ofi_rkey_find(ep, &dto->remote, local->len, priv, &local->remote, &local->key);
    return err;
}

int dm_ofi_issue(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                 DAT_DTO_COMPLETION_STATUS *status_p)
{
    bool is_message = dm_dto_is_send(dto) || dto->kind == DM_OP_WRITE_IMMED;
    enum dm_net_bound bound;
    struct dm_ofi_local local;
    int err;

    if (dto->kind == DM_OP_BIND) {
        bound = dm_net_rmr_exec(&ep->base.ep, dto->bind, dto->seg);
        return bound == DM_NET_BOUND        ? 0
               : bound == DM_NET_BIND_LATER ? -FI_EBUSY
                                            : issue_failed(DAT_RMR_OPERATION_FAILED, status_p);
    }
    if (!rdma_local_check(ep, dto, &local))
        return op == NULL ? -FI_EBUSY : issue_failed(DAT_DTO_ERR_LOCAL_PROTECTION, status_p);
    err = issue_find_remote(ep, dto, &local);
    if (err == 0 && is_message)
        err = dm_ofi_send_find_recv(ep, op, dm_dto_is_send(dto) ? local.len : 0);
    if (err == 0 && dto->kind == DM_OP_SEND_INVALIDATE)
        err = dm_ofi_rkey_check(ep, dto->invalidate);
    if (err == -FI_EACCES)
        err = issue_failed(DAT_DTO_ERR_REMOTE_ACCESS, status_p);
    if (err != 0)
        return op == NULL ? -FI_EBUSY : err;
    if (op != NULL)
        op->base.len = local.len;
    switch (dto->kind) {
    case DM_OP_SEND:
    case DM_OP_SEND_INVALIDATE:
        return dm_ofi_issue_send(ep, op, &local, dm_ofi_send_word(dto), status_p);
    case DM_OP_WRITE:
        if (local.len == 0)
            return issue_empty(ep, dto, op, status_p);
        return dm_ofi_issue_writes(ep, dto, op, &local, status_p);
    case DM_OP_WRITE_IMMED:
        return dm_ofi_issue_write_immed(ep, dto, op, &local, status_p);
    case DM_OP_FETCH_ADD:
    case DM_OP_CMP_SWAP:
        return issue_atomic(ep, dto, op);
    default:
        if (local.len == 0)
            return issue_empty(ep, dto, op, status_p);
        if (dm_ofi_ia_of(ep)->fabric.is_split)
            return dm_ofi_issue_peer_reads(ep, dto, op, &local);
        return issue_reads(ep, op, &local, status_p);
    }
}
