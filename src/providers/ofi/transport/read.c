/*
 * RDMA reads that the peer answers by writing.
 * 
 * Used where the fabric's own reads are not: libfabric's tcp frees a request twice when its
 * connection ends while the answer is coming in (until 1.17 at least), and hands it out
 * twice afterwards. The peer writes the data instead, and says when.
 */
#include "providers/ofi/ext.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/ctrl.h"
#include "providers/ofi/key.h"
#include "providers/ofi/rdma.h"

/* A stretch of our memory that the peer may write to for this request. */
static int sink_open(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct iovec *vec)
{
    struct dm_ofi_ia *ia = dm_ofi_ia_of(ep);
    uint64_t key = (uint64_t)dm_ofi_pz_token(ia, ep->base.ep.pz) << 32 |
                   (uint64_t)(++ia->n_sinks & DM_OFI_SINK_MASK) << DM_OFI_SINK_SHIFT;

    return fi_mr_reg(ia->fabric.domain, vec->iov_base, vec->iov_len, FI_REMOTE_WRITE, 0, key, 0,
                     &op->sinks[op->n_sinks], NULL);
}

int dm_ofi_issue_peer_reads(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                            const struct dm_ofi_local *local)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_READ_REQ,
                               .va = dto->remote.virtual_address,
                               .key = dto->remote.rmr_context};

    if (op->sinks == NULL)
        op->sinks = calloc(local->n, sizeof(struct fid_mr *));
    if (op->sinks == NULL)
        return -FI_EAGAIN; /* perhaps there is memory later */
    for (; op->n_sinks < local->n; op->n_sinks++) {
        if (sink_open(ep, op, &local->vec[op->n_sinks]) != 0)
            return -FI_EAGAIN;
    }
    op->id = ++ep->last_id;
    op->is_requested = true;
    op->n_pending = 1; /* the answer */
    ctrl.id = op->id;
    for (uint32_t i = 0; i < local->n; i++) {
        ctrl.value[0] = (uint64_t)(uintptr_t)local->vec[i].iov_base;
        ctrl.value[1] = fi_mr_key(op->sinks[i]);
        ctrl.value[2] = local->vec[i].iov_len;
        ctrl.len = i + 1 == local->n;
        dm_ofi_ctrl_post(ep, &ctrl);
        ctrl.va += local->vec[i].iov_len;
    }
    op->base.pos = local->len;
    return 0;
}

void dm_ofi_read_request(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_ctrl answer = {.type = DM_CTRL_READ_RSP, .id = ctrl->id};
    char *from = dm_net_key_mem(&ep->base.ep, ctrl->key, ctrl->va, ctrl->value[2],
                                DAT_MEM_PRIV_REMOTE_READ_FLAG);
    DAT_DTO_COMPLETION_STATUS status;
    struct dm_ofi_part part = {.n = 1, .len = ctrl->value[2]};
    struct fi_rma_iov remote[2];
    int err;

    if (from == NULL) {
        answer.status = 1;
        dm_ofi_ctrl_post(ep, &answer);
        return;
    }
    part.vec[0].iov_base = from;
    part.vec[0].iov_len = part.len;
    if (ctrl->len != 0 && dm_list_is_empty(&ep->ctrls) &&
        dm_ofi_ctrl_send_with_data(
            dm_ofi_ep_conn(ep), &answer, part.vec, remote,
            dm_ofi_split_last(ep, ctrl->value[0], part.len, ctrl->value[1], remote)))
        return;
    err = dm_ofi_issue_write(ep, NULL, &part, ctrl->value[0], ctrl->value[1], 0, &status);
    if (err == -FI_EAGAIN) /* out of memory: who reads would wait for ever */
        dm_net_conn_fail(ep->base.conn, DAT_CONNECTION_EVENT_BROKEN);
    if (err != 0)
        return; /* the connection ends */
    dm_ofi_ep_conn(ep)->unsignalled.is_any = true;
    if (ctrl->len != 0)
        dm_ofi_ctrl_post(ep, &answer);
}

void dm_ofi_read_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_op *op = dm_ofi_op_find(ep, (uint32_t)ctrl->id);

    if (op == NULL || op->n_sinks == 0 || op->is_done)
        return;
    op->n_pending = 0;
    op->is_requested = false;
    dm_ofi_op_finish(op, ctrl->status == 0 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_ACCESS);
    dm_ofi_dto_push(ep);
}
