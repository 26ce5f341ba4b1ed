/*
 * Handing requests to the fabric.
 *
 * What a processor has to place (is_split) comes in two parts, the last one of
 * 8 bytes, which it stores after the rest. Data of more segments than the
 * fabric takes go in several requests; a message's last segments then are put
 * together in a buffer of ours.
 */
#include "providers/ofi/dto.h"

#include <stdlib.h>
#include <string.h>

#include "providers/common/last.h"
#include "providers/ofi/calls.h"
#include "providers/ofi/rmr.h"

enum { FABRIC_IOV_MAX = 8 };

/* The local side of a request. */
struct local {
    struct iovec vec[DM_IOV_MAX];
    uint32_t n;
    uint64_t len;
    uint64_t remote; /* how the fabric addresses the other side, */
    uint64_t key;    /* and by which key */
};

/* A stretch of it that the fabric takes at once. */
struct part {
    struct iovec vec[FABRIC_IOV_MAX];
    size_t n;
    uint64_t len;
};

/* Check the local segments; empty ones are left out. */
static bool local_check(const struct dm_ofi_ep *ep, const struct dm_dto *dto, struct local *local)
{
    const struct dm_ofi_ia *ia = (const struct dm_ofi_ia *)ep->ep.obj.ia;

    local->n = 0;
    local->len = 0;
    for (uint32_t i = 0; i < dto->n_seg; i++) {
        const DAT_LMR_TRIPLET *seg = &dto->seg[i];
        const struct dm_ofi_region *region;
        uint64_t at;

        if (seg->segment_length == 0)
            continue;
        region = dm_ofi_key_find(ia, ep, seg->lmr_context, seg->virtual_address,
                                 seg->segment_length, dm_dto_local_privs[dto->kind]);
        if (region == NULL)
            return false;
        at = region->addr + (seg->virtual_address - region->va);
        memcpy(&local->vec[local->n].iov_base, &at, sizeof(at));
        local->vec[local->n].iov_len = seg->segment_length;
        local->len += seg->segment_length;
        local->n++;
    }
    return true;
}

/* The next stretch from pos on, of at most lim pieces. */
static void part_at(const struct local *local, uint64_t pos, size_t lim, struct part *part)
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

static size_t iov_limit(const struct dm_ofi_ia *ia)
{
    size_t lim = ia->info->tx_attr->iov_limit;

    return lim < FABRIC_IOV_MAX ? lim : FABRIC_IOV_MAX;
}

/* The fabric's flags for what ends a request. */
static uint64_t end_flags(const struct dm_dto *dto)
{
    if ((dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return FI_COMPLETION;
    return FI_COMPLETION | FI_DELIVERY_COMPLETE;
}

/* The fabric's answer to an attempt. */
static int handed(struct dm_ofi_ep *ep, struct dm_ofi_op *op, ssize_t ret,
                  DAT_DTO_COMPLETION_STATUS *status_p)
{
    if (ret == 0) {
        if (op != NULL)
            op->n_fabric++;
        return 0;
    }
    if (ret == -FI_EAGAIN)
        return -FI_EAGAIN;
    *status_p = DAT_DTO_ERR_FLUSHED;
    dm_ofi_conn_fail(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
    return (int)ret;
}

static void *ctx_of(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    return op != NULL ? &op->ctx : &ep->conn->note_ctx;
}

/* Nothing to move: a request to the mailbox, which is always there. */
static int issue_empty(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                       DAT_DTO_COMPLETION_STATUS *status_p)
{
    struct dm_ofi_conn *conn = ep->conn;
    struct iovec vec = {.iov_base = conn->mailbox};
    struct fi_rma_iov remote = {.addr = conn->peer_mail, .key = conn->peer_mail_key};
    struct fi_msg_rma msg = {.msg_iov = &vec,
                             .iov_count = 1,
                             .rma_iov = &remote,
                             .rma_iov_count = 1,
                             .context = ctx_of(ep, op)};

    return handed(ep, op, fi_writemsg(conn->fid, &msg, op != NULL ? end_flags(dto) : 0), status_p);
}

/* Where len bytes go: in one stretch or two. */
static size_t split(struct dm_ofi_ep *ep, uint64_t at, uint64_t len, uint64_t key,
                    struct fi_rma_iov remote[2])
{
    uint64_t tail = dm_last_tail(at, len);

    remote[0] = (struct fi_rma_iov){.addr = at, .len = len, .key = key};
    if (len <= tail || !dm_ofi_ia_of(ep)->is_split)
        return 1;
    remote[0].len = len - tail;
    remote[1] = (struct fi_rma_iov){.addr = at + remote[0].len, .len = tail, .key = key};
    return 2;
}

static int issue_write(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct part *part,
                       uint64_t at, uint64_t key, uint64_t flags,
                       DAT_DTO_COMPLETION_STATUS *status_p)
{
    struct dm_ofi_conn *conn = ep->conn;
    const struct fi_tx_attr *tx = dm_ofi_ia_of(ep)->info->tx_attr;
    struct fi_rma_iov remote[2];
    struct fi_msg_rma msg = {.msg_iov = part->vec,
                             .iov_count = part->n,
                             .rma_iov = remote,
                             .rma_iov_count = split(ep, at, part->len, key, remote),
                             .context = ctx_of(ep, op)};

    if (op == NULL && part->len <= tx->inject_size)
        flags |= FI_INJECT;
    else if (op == NULL)
        conn->is_lent = true;
    return handed(ep, op, fi_writemsg(conn->fid, &msg, flags), status_p);
}

static int issue_writes(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                        const struct local *local, DAT_DTO_COMPLETION_STATUS *status_p)
{
    size_t lim = iov_limit(dm_ofi_ia_of(ep));
    uint64_t pos = op != NULL ? op->pos : 0;
    int err = 0;

    while (pos < local->len && err == 0) {
        uint64_t flags = op == NULL ? 0 : FI_COMPLETION;
        struct part part;

        part_at(local, pos, lim, &part);
        if (op == NULL && part.len < local->len)
            return -FI_EAGAIN; /* not in one piece */
        if (op != NULL && pos + part.len == local->len && dto->kind == DM_OP_WRITE)
            flags = end_flags(dto);
        err = issue_write(ep, op, &part, local->remote + pos, local->key, flags, status_p);
        if (err != 0)
            return err;
        pos += part.len;
        if (op != NULL)
            op->pos = pos;
    }
    return err;
}

static int issue_reads(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct local *local,
                       DAT_DTO_COMPLETION_STATUS *status_p)
{
    struct dm_ofi_conn *conn = ep->conn;
    size_t lim = iov_limit(dm_ofi_ia_of(ep));
    int err = 0;

    while (op->pos < local->len && err == 0) {
        struct fi_rma_iov remote = {.addr = local->remote + op->pos};
        struct part part;
        struct fi_msg_rma msg = {
            .msg_iov = part.vec, .rma_iov = &remote, .rma_iov_count = 1, .context = &op->ctx};

        part_at(local, op->pos, lim, &part);
        msg.iov_count = part.n;
        remote.len = part.len;
        remote.key = local->key;
        err = handed(ep, op, fi_readmsg(conn->fid, &msg, FI_COMPLETION), status_p);
        if (err == 0)
            op->pos += part.len;
    }
    return err;
}

/* A stretch of our memory that the peer may write to for this request. */
static int open_sink(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct iovec *vec)
{
    struct dm_ofi_ia *ia = dm_ofi_ia_of(ep);
    uint64_t key = (uint64_t)dm_ofi_pz_token(ia, ep->ep.pz) << 32 |
                   (uint64_t)(++ia->n_sinks & DM_OFI_SINK_MASK) << DM_OFI_SINK_SHIFT;

    return fi_mr_reg(ia->domain, vec->iov_base, vec->iov_len, FI_REMOTE_WRITE, 0, key, 0,
                     &op->sinks[op->n_sinks], NULL);
}

/*
 * Reads where the fabric's own are not to be had: libfabric's tcp frees a request twice when its
 * connection ends while the answer is coming in (until 1.17 at least), and whoever comes
 * next gets it twice. The peer writes the data instead, and says when.
 */
static int issue_reads_by_peer(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                               const struct local *local)
{
    struct dm_ofi_mail mail = {
        .type = DM_MAIL_READ, .va = dto->remote.virtual_address, .key = dto->remote.rmr_context};

    if (op->sinks == NULL)
        op->sinks = calloc(local->n, sizeof(struct fid_mr *));
    if (op->sinks == NULL)
        return -FI_EAGAIN; /* perhaps there is memory later */
    for (; op->n_sinks < local->n; op->n_sinks++) {
        if (open_sink(ep, op, &local->vec[op->n_sinks]) != 0)
            return -FI_EAGAIN;
    }
    op->id = ++ep->last_id;
    op->is_asked = true;
    op->n_fabric = 1; /* the answer */
    mail.id = op->id;
    for (uint32_t i = 0; i < local->n; i++) {
        mail.value[0] = (uint64_t)(uintptr_t)local->vec[i].iov_base;
        mail.value[1] = fi_mr_key(op->sinks[i]);
        mail.value[2] = local->vec[i].iov_len;
        mail.len = i + 1 == local->n;
        dm_ofi_mail_post(ep, &mail);
        mail.va += local->vec[i].iov_len;
    }
    op->pos = local->len;
    return 0;
}

void dm_ofi_read_asked(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_mail answer = {.type = DM_MAIL_READ_DONE, .id = mail->id};
    const struct dm_ofi_region *region = dm_ofi_key_find(
        dm_ofi_ia_of(ep), ep, mail->key, mail->va, mail->value[2], DAT_MEM_PRIV_REMOTE_READ_FLAG);
    DAT_DTO_COMPLETION_STATUS status;
    struct part part = {.n = 1, .len = mail->value[2]};
    struct fi_rma_iov remote[2];
    uint64_t at;
    int err;

    if (region == NULL) {
        answer.status = 1;
        dm_ofi_mail_post(ep, &answer);
        return;
    }
    at = region->addr + (mail->va - region->va);
    memcpy(&part.vec[0].iov_base, &at, sizeof(at));
    part.vec[0].iov_len = part.len;
    if (mail->len != 0 && dm_list_is_empty(&ep->mails) &&
        dm_ofi_mail_send_behind(ep->conn, &answer, part.vec, remote,
                                split(ep, mail->value[0], part.len, mail->value[1], remote)))
        return;
    err = issue_write(ep, NULL, &part, mail->value[0], mail->value[1], 0, &status);
    if (err == -FI_EAGAIN) /* out of memory: who reads would wait for ever */
        dm_ofi_conn_fail(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
    if (err != 0)
        return; /* the connection ends */
    ep->conn->is_lent = true;
    if (mail->len != 0)
        dm_ofi_mail_post(ep, &answer);
}

void dm_ofi_read_answered(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail)
{
    struct dm_ofi_op *op = dm_ofi_op_find(ep, (uint32_t)mail->id);

    if (op == NULL || op->n_sinks == 0 || op->is_done)
        return;
    op->n_fabric = 0;
    op->is_asked = false;
    dm_ofi_op_over(op, mail->status == 0 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_ACCESS);
    dm_ofi_push(ep);
}

/* What the fabric does not take is put together behind what it does. */
static bool gather(const struct local *local, size_t lim, struct dm_ofi_op *op, struct part *part)
{
    uint64_t len = 0;
    char *at;

    part_at(local, 0, local->n <= lim ? lim : lim - 1, part);
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
static int ask_recv(struct dm_ofi_ep *ep, struct dm_ofi_op *op, uint64_t len)
{
    struct dm_ofi_mail mail = {.type = DM_MAIL_ASK_RECV, .value = {len}};

    if (op->is_granted)
        return 0;
    if (!op->is_asked) {
        op->id = ++ep->last_id;
        op->is_asked = true;
        mail.id = op->id;
        dm_ofi_mail_post(ep, &mail);
    }
    return -FI_EBUSY;
}

static int issue_send(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct local *local,
                      uint64_t word, DAT_DTO_COMPLETION_STATUS *status_p)
{
    size_t lim = iov_limit(dm_ofi_ia_of(ep));
    /* Its success is to be the receiver's success: the peer tells of it. */
    struct part part;
    struct fi_msg msg = {
        .msg_iov = part.vec, .context = ctx_of(ep, op), .data = word | DM_OFI_WORD_ACK};
    int err;

    if (!gather(local, lim, op, &part))
        return -FI_EAGAIN; /* perhaps there is memory later */
    if (part.n == 0) {
        part.vec[0].iov_base = ep->conn->mailbox;
        part.vec[0].iov_len = 0;
        part.n = 1;
    }
    msg.iov_count = part.n;
    err = handed(ep, op, fi_sendmsg(ep->conn->fid, &msg, FI_REMOTE_CQ_DATA), status_p);
    if (err != 0)
        return err;
    op->id = ++ep->conn->n_messages; /* no longer what an answer is for */
    op->is_asked = false;
    op->is_acked = true;
    return 0;
}

/* An atomic operation: the target's processor carries it out. */
static int issue_atomic(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op)
{
    struct dm_ofi_mail mail = {.type = DM_MAIL_ATOMIC,
                               .status = dto->kind == DM_OP_CMP_SWAP,
                               .va = dto->remote.virtual_address,
                               .key = dto->remote.rmr_context,
                               .value = {dto->operand[0], dto->operand[1]}};

    op->id = ++ep->last_id;
    op->is_asked = true;
    mail.id = op->id;
    dm_ofi_mail_post(ep, &mail);
    return 0;
}

static uint64_t word_of(const struct dm_dto *dto)
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

/* Write, then an empty message with the number, which takes the receive. */
static int issue_write_immed(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                             const struct local *local, DAT_DTO_COMPLETION_STATUS *status_p)
{
    const struct local nothing = {.n = 0};
    struct dm_ofi_mail mail = {.type = DM_MAIL_IMMED_LEN, .value = {local->len}};
    uint64_t len = local->len < DM_OFI_WORD_LEN_MAX ? local->len : DM_OFI_WORD_LEN_MAX;
    int err = issue_writes(ep, dto, op, local, status_p);

    if (err != 0)
        return err;
    if (len == DM_OFI_WORD_LEN_MAX && !dm_ofi_mail_send(ep->conn, &mail))
        return -FI_EAGAIN;
    return issue_send(ep, op, &nothing, word_of(dto) | len << DM_OFI_WORD_LEN_SHIFT, status_p);
}

static int failed(DAT_DTO_COMPLETION_STATUS status, DAT_DTO_COMPLETION_STATUS *status_p)
{
    *status_p = status;
    return -FI_EINVAL;
}

/* Find the remote side; atomic operations are checked over there. */
static int find_remote(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct local *local)
{
    uint32_t priv =
        dm_dto_is_read(dto) ? DAT_MEM_PRIV_REMOTE_READ_FLAG : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    int err = 0;

    if (local->len > 0 && !dm_dto_is_send(dto) && !dm_dto_is_atomic(dto))
        err = dm_ofi_far_find(ep, &dto->remote, local->len, priv, &local->remote, &local->key);
    return err;
}

/* Has the peer a receive for a message of so many bytes? */
static int find_recv(struct dm_ofi_ep *ep, struct dm_ofi_op *op, uint64_t len)
{
    const struct dm_ofi_conn *conn = ep->conn;

    if (!conn->is_peer_shared && conn->n_messages == conn->n_peer_recvs)
        return -FI_EBUSY;
    if (!conn->is_peer_shared && len <= conn->peer_floor)
        return 0;
    return op != NULL ? ask_recv(ep, op, len) : -FI_EBUSY;
}

int dm_ofi_issue(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                 DAT_DTO_COMPLETION_STATUS *status_p)
{
    bool is_message = dm_dto_is_send(dto) || dto->kind == DM_OP_WRITE_IMMED;
    struct local local;
    int err;

    if (dto->kind == DM_OP_BIND) {
        err = dm_ofi_rmr_exec(ep, dto->bind, dto->seg);
        return err == 0 || err == -FI_EBUSY ? err : failed(DAT_RMR_OPERATION_FAILED, status_p);
    }
    if (!local_check(ep, dto, &local))
        return op == NULL ? -FI_EBUSY : failed(DAT_DTO_ERR_LOCAL_PROTECTION, status_p);
    err = find_remote(ep, dto, &local);
    if (err == 0 && is_message)
        err = find_recv(ep, op, dm_dto_is_send(dto) ? local.len : 0);
    if (err == 0 && dto->kind == DM_OP_SEND_INVALIDATE)
        err = dm_ofi_far_check(ep, dto->invalidate);
    if (err == -FI_EACCES)
        err = failed(DAT_DTO_ERR_REMOTE_ACCESS, status_p);
    if (err != 0)
        return op == NULL ? -FI_EBUSY : err;
    if (op != NULL)
        op->len = local.len;
    switch (dto->kind) {
    case DM_OP_SEND:
    case DM_OP_SEND_INVALIDATE:
        return issue_send(ep, op, &local, word_of(dto), status_p);
    case DM_OP_WRITE:
        if (local.len == 0)
            return issue_empty(ep, dto, op, status_p);
        return issue_writes(ep, dto, op, &local, status_p);
    case DM_OP_WRITE_IMMED:
        return issue_write_immed(ep, dto, op, &local, status_p);
    case DM_OP_FETCH_ADD:
    case DM_OP_CMP_SWAP:
        return issue_atomic(ep, dto, op);
    default:
        if (local.len == 0)
            return issue_empty(ep, dto, op, status_p);
        if (dm_ofi_ia_of(ep)->is_split)
            return issue_reads_by_peer(ep, dto, op, &local);
        return issue_reads(ep, op, &local, status_p);
    }
}
