/*
 * Requests that use a receive of the peer: sends, and RDMA writes with immediate data.
 */
#include "providers/ofi/rdma.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/ctrl.h"

/* Segments beyond what the fabric takes are gathered in a buffer. */
static bool send_gather(const struct dm_ofi_local *local, size_t lim, struct dm_ofi_op *op,
                        struct dm_ofi_part *part)
{
    uint64_t len = 0;
    char *at;

    dm_ofi_local_part(local, 0, local->n <= lim ? lim : lim - 1, part);
    if (local->n <= lim)
        return true;
    if (op->bounce == NULL)
        op->bounce = malloc(local->len - part->len);
    if (op->bounce == NULL)
        return false;
    at = op->bounce;
    for (uint32_t i = (uint32_t)part->n; i < local->n; i++) {
        memcpy(at + len, local->vec[i].iov_base, local->vec[i].iov_len);
        len += local->vec[i].iov_len;
    }
    part->vec[part->n].iov_base = at;
    part->vec[part->n].iov_len = len;
    part->len += len;
    part->n++;
    return true;
}

/* Ask the peer for a receive of its shared queue, or whether that of the
 * message is long enough; 0 when it is there. */
static int send_request_recv(struct dm_ofi_ep *ep, struct dm_ofi_op *op, uint64_t len)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_RECV_REQ, .value = {len}};

    if (op->is_granted)
        return 0;
    if (!op->is_requested) {
        op->id = ++ep->last_id;
        op->is_requested = true;
        ctrl.id = op->id;
        dm_ofi_ctrl_post(ep, &ctrl);
    }
    return -FI_EBUSY;
}

/* Has the peer a receive for a message of so many bytes? */
int dm_ofi_send_find_recv(struct dm_ofi_ep *ep, struct dm_ofi_op *op, uint64_t len)
{
    const struct dm_ofi_conn *conn = dm_ofi_ep_conn(ep);

    if (!conn->base.credits.is_peer_shared &&
        conn->base.credits.n_sent == conn->base.credits.n_peer_recvs)
        return -FI_EBUSY;
    if (!conn->base.credits.is_peer_shared && len <= conn->min_recv.peer)
        return 0;
    return op != NULL ? send_request_recv(ep, op, len) : -FI_EBUSY;
}

uint64_t dm_ofi_send_word(const struct dm_dto *dto)
{
    uint64_t word = 0;

    if ((dto->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) != 0)
        word |= DM_OFI_WORD_SOLICITED;
    if (dto->kind == DM_OP_SEND_INVALIDATE)
        word |= DM_OFI_WORD_INVALIDATE | dto->invalidate;
    if (dto->kind == DM_OP_WRITE_IMMED)
        word |= DM_OFI_WORD_IMMED | dto->immed;
    return word;
}

int dm_ofi_issue_send(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct dm_ofi_local *local,
                      uint64_t word, DAT_DTO_COMPLETION_STATUS *status_p)
{
    size_t lim = dm_ofi_iov_limit(dm_ofi_ia_of(ep));
    /* Its success is to be the receiver's success: the peer acknowledges it. */
    struct dm_ofi_part part;
    struct fi_msg msg = {
        .msg_iov = part.vec, .context = dm_ofi_issue_ctx(ep, op), .data = word | DM_OFI_WORD_ACK};
    int err;

    if (!send_gather(local, lim, op, &part))
        return -FI_EAGAIN; /* perhaps there is memory later */
    if (part.n == 0) {
        part.vec[0].iov_base = dm_ofi_ep_conn(ep)->ctrl.ring;
        part.vec[0].iov_len = 0;
        part.n = 1;
    }
    msg.iov_count = part.n;
    err = dm_ofi_issue_result(ep, op, fi_sendmsg(dm_ofi_ep_conn(ep)->fid, &msg, FI_REMOTE_CQ_DATA),
                              status_p);
    if (err != 0)
        return err;
    op->id = ++ep->base.conn->credits.n_sent; /* no longer what an answer is for */
    op->is_requested = false;
    op->needs_ack = true;
    return 0;
}

/* Write, then an empty message with the number, which takes the receive. */
int dm_ofi_issue_write_immed(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                             const struct dm_ofi_local *local, DAT_DTO_COMPLETION_STATUS *status_p)
{
    const struct dm_ofi_local nothing = {.n = 0};
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_IMMED_LEN, .value = {local->len}};
    uint64_t len = local->len < DM_OFI_WORD_LEN_MAX ? local->len : DM_OFI_WORD_LEN_MAX;
    int err = dm_ofi_issue_writes(ep, dto, op, local, status_p);

    if (err != 0)
        return err;
    if (len == DM_OFI_WORD_LEN_MAX && !dm_ofi_ctrl_send(dm_ofi_ep_conn(ep), &ctrl))
        return -FI_EAGAIN;
    return dm_ofi_issue_send(ep, op, &nothing, dm_ofi_send_word(dto) | len << DM_OFI_WORD_LEN_SHIFT,
                             status_p);
}
