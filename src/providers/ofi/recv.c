/*
 * Receives.
 *
 * Invariant: those in ep->base.recvs are with the fabric, in the order of posting;
 * those in ep->recv_queue wait for a connection or for space there. A receive is
 * posted with its good segments alone, and with some space of ours behind
 * them, so that a message that is too long is found out by us.
 */
#include "providers/ofi/recv.h"

#include <stdlib.h>
#include <string.h>

#include "providers/net/op.h"
#include "providers/net/transport.h"
#include "providers/ofi/ctrl.h"
#include "providers/ofi/progress.h"
#include "providers/ofi/rdma.h"

static const DAT_DTO_COMPLETION_STATUS ok = DAT_DTO_SUCCESS;

/* How a receive ends. */
struct recv_cqe {
    DAT_DTO_COMPLETION_STATUS status;
    uint64_t len;
    uint64_t word; /* of the message */
};

/* The receive is over; takes it out of its list. False: its event is lost. */
static bool ofi_recv_complete(struct dm_ofi_ep *ep, struct dm_ofi_op *op,
                              const struct recv_cqe *how)
{
    DAT_DTO_COMPLETION_EVENT_DATA data =
        dm_net_recv_data(&ep->base, &op->base, how->status, how->len);
    struct dm_evd_item item;
    bool is_in;

    if ((how->word & DM_OFI_WORD_INVALIDATE) != 0) {
        data.operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
        data.rmr_context = (DAT_RMR_CONTEXT)how->word;
    }
    if ((how->word & DM_OFI_WORD_IMMED) != 0) {
        uint64_t len = how->word >> DM_OFI_WORD_LEN_SHIFT;

        data.operation = (DAT_DTOS)DAT_IB_DTO_RECV_IMMED;
        data.transfered_length = (DAT_SEG_LENGTH)(len == DM_OFI_WORD_LEN_MAX ? ep->immed_len : len);
    }
    item = dm_evd_item_dto(&data, DM_TAG(ep->base.ep.obj.gen, DM_TAG_RECV));
    if ((how->word & DM_OFI_WORD_IMMED) != 0) {
        item.number = (uint32_t)DAT_IB_DTO_EVENT;
        item.ext = DAT_IB_RDMA_WRITE_IMMED_DATA;
        item.data[DM_ITEM_EXTRA] = (uint32_t)how->word;
    }
    is_in = dm_net_recv_complete(&ep->base, &op->base, &item,
                                 (how->word & DM_OFI_WORD_SOLICITED) != 0, how->status == ok);
    dm_list_del(&op->base.link);
    dm_ofi_op_free(op);
    return is_in;
}

/* An error in what the peer has sent, or in the receive for it: a NAK. */
static void recv_nak(struct dm_ofi_ep *ep)
{
    struct dm_net_conn *conn = ep->base.conn;

    if (conn == NULL || conn->state != DM_CONN_UP)
        return;
    if (ep->is_ack_due) /* of those before */
        dm_ofi_conn_ack(dm_ofi_ep_conn(ep));
    ep->is_ack_due = false;
    dm_net_conn_nak(conn);
}

/* Spread what came into the buffer over the segments that it stands for. */
static void recv_scatter(struct dm_ofi_ep *ep, struct dm_ofi_op *op, uint64_t len)
{
    uint64_t at = op->base.pos; /* bytes in segments that the fabric has filled */
    uint64_t before = 0;
    uint64_t done = 0;

    for (uint32_t i = 0; i < op->base.dto.n_seg && at + done < len; i++) {
        const DAT_LMR_TRIPLET *seg = &op->base.dto.seg[i];
        uint64_t n = seg->segment_length;
        char *mem;

        before += n;
        if (n == 0 || before <= at)
            continue;
        mem = dm_net_key_mem(&ep->base.ep, seg->lmr_context, seg->virtual_address, n,
                             DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        if (mem == NULL)
            return;
        if (n > len - at - done)
            n = len - at - done;
        memcpy(mem, op->bounce + done, n);
        done += n;
    }
}

static void recv_invalidate(struct dm_ofi_ep *ep, struct recv_cqe *how)
{
    if (how->status == ok && (how->word & DM_OFI_WORD_INVALIDATE) != 0 &&
        !dm_rmr_invalidate(&ep->base.ep, (uint32_t)how->word))
        how->status = DAT_DTO_ERR_LOCAL_PROTECTION;
}

static void recv_op_done(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_op *op = dm_container_of(ctx, struct dm_ofi_op, ctx);
    struct recv_cqe how = {.status = ok, .len = done->len};
    struct dm_ofi_ep *ep = op->ep;

    op->n_pending = 0;
    if (ep == NULL)
        return; /* its slab goes with the instance */
    ep->base.n_recvs--;
    if (ep->base.conn != NULL && !op->is_bad && op->space == dm_ofi_ep_conn(ep)->min_recv.own)
        dm_ofi_ep_conn(ep)->min_recv.n--;
    if (done->err == FI_ECANCELED || (done->err != 0 && done->err != FI_ETRUNC)) {
        return; /* recalled, or the connection ends: then it is flushed */
    }
    if ((done->flags & FI_REMOTE_CQ_DATA) != 0)
        how.word = done->data;
    if (done->err == FI_ETRUNC || done->len > op->space) {
        how.status = op->is_bad && done->len <= dm_net_op_space(&op->base)
                         ? DAT_DTO_ERR_LOCAL_PROTECTION
                         : DAT_DTO_ERR_LOCAL_LENGTH;
        how.len = 0;
    } else if (op->bounce != NULL) {
        recv_scatter(ep, op, done->len);
    }
    recv_invalidate(ep, &how);
    if (!ofi_recv_complete(ep, op, &how) || how.status != ok) {
        recv_nak(ep);
        return;
    }
    if (ep->base.conn != NULL)
        ep->base.conn->credits.n_arrived++;
    if ((how.word & DM_OFI_WORD_ACK) != 0) {
        ep->is_ack_due = true;
        dm_net_ep_wait(&ep->base);
    }
    dm_ofi_recv_push(ep);
}

/* Has the receive a segment that may not be used? */
static bool recv_has_bad(const struct dm_ofi_ep *ep, const struct dm_ofi_op *op)
{
    for (uint32_t i = 0; i < op->base.dto.n_seg; i++) {
        const DAT_LMR_TRIPLET *seg = &op->base.dto.seg[i];

        if (seg->segment_length > 0 &&
            dm_net_key_find(&ep->base.ep, seg->lmr_context, seg->virtual_address,
                            seg->segment_length, DAT_MEM_PRIV_LOCAL_WRITE_FLAG) == NULL)
            return true;
    }
    return false;
}

/* What the fabric gets of a receive: none of its memory if some of it is bad,
 * as only the length of the message will tell whether any may be filled.
 * False: out of memory. */
static bool recv_make_iov(struct dm_ofi_ep *ep, struct dm_ofi_op *op, struct iovec *vec,
                          size_t *n_p)
{
    struct dm_ofi_ia *ia = dm_ofi_ia_of(ep);
    size_t lim = ia->fabric.info->rx_attr->iov_limit;
    uint64_t rest = 0;
    size_t n = 0;

    lim = recv_has_bad(ep, op) ? 1 : lim < DM_OFI_IOV_MAX ? lim : DM_OFI_IOV_MAX;
    op->is_bad = false;
    op->space = 0;
    op->base.pos = 0;
    for (uint32_t i = 0; i < op->base.dto.n_seg && !op->is_bad; i++) {
        const DAT_LMR_TRIPLET *seg = &op->base.dto.seg[i];
        char *mem;

        if (seg->segment_length == 0)
            continue;
        mem = dm_net_key_mem(&ep->base.ep, seg->lmr_context, seg->virtual_address,
                             seg->segment_length, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        if (mem == NULL) {
            op->is_bad = true;
        } else if (rest == 0 && (n + 2 < lim || (n + 2 == lim && i + 1 == op->base.dto.n_seg))) {
            vec[n].iov_base = mem;
            vec[n++].iov_len = seg->segment_length;
            op->base.pos += seg->segment_length;
            op->space += seg->segment_length;
        } else {
            rest += seg->segment_length;
            op->space += seg->segment_length;
        }
    }
    free(op->bounce);
    op->bounce = rest > 0 ? malloc(rest) : NULL;
    if (rest > 0) {
        if (op->bounce == NULL)
            return false;
        vec[n].iov_base = op->bounce;
        vec[n++].iov_len = rest;
    }
    vec[n].iov_base = ia->excess;
    vec[n++].iov_len = DM_OFI_EXCESS_LEN;
    *n_p = n;
    return true;
}

static void min_recv_count(struct dm_ofi_conn *conn, const struct dm_ofi_op *op)
{
    if (op->is_bad || op->space > conn->min_recv.own)
        return;
    conn->min_recv.n = op->space == conn->min_recv.own ? conn->min_recv.n + 1 : 1;
    conn->min_recv.own = op->space;
}

/* The last of the shortest ones is over: which are the shortest now? */
static void min_recv_find(struct dm_ofi_ep *ep)
{
    struct dm_ofi_conn *conn = dm_ofi_ep_conn(ep);

    if (conn->min_recv.n > 0 || ep->base.n_recvs == 0)
        return;
    conn->min_recv.own = UINT64_MAX;
    dm_list_for_each (it, &ep->base.recvs) {
        const struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, base.link);

        if (op->n_pending > 0)
            min_recv_count(conn, op);
    }
}

/* Post it to the fabric. False: not now. */
static bool recv_post_fabric(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    struct iovec vec[DM_OFI_IOV_MAX + 1];
    struct fi_msg msg = {.msg_iov = vec, .context = &op->ctx};

    op->ctx.done = recv_op_done;
    if (!dm_ofi_excess_map(dm_ofi_ia_of(ep)) || !recv_make_iov(ep, op, vec, &msg.iov_count) ||
        fi_recvmsg(dm_ofi_ep_conn(ep)->fid, &msg, FI_COMPLETION) != 0)
        return false;
    op->n_pending = 1;
    ep->base.n_recvs++;
    dm_list_del(&op->base.link);
    dm_list_add_tail(&ep->base.recvs, &op->base.link);
    min_recv_count(dm_ofi_ep_conn(ep), op);
    return true;
}

void dm_ofi_recv_push(struct dm_ofi_ep *ep)
{
    while (ep->is_recv_open && ep->base.conn != NULL && dm_ofi_ep_conn(ep)->fid != NULL &&
           !dm_list_is_empty(&ep->recv_queue)) {
        if (!recv_post_fabric(ep,
                              dm_container_of(ep->recv_queue.next, struct dm_ofi_op, base.link)))
            break; /* the next one that completes makes space */
    }
    if (ep->base.conn != NULL)
        dm_ofi_conn_credit(dm_ofi_ep_conn(ep));
}

/* Shorter ones have to be reported of before they are granted; that there are none
 * any more when the peer gains by it. */
void dm_ofi_recv_report_min(struct dm_ofi_ep *ep)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_MIN_RECV};
    struct dm_ofi_conn *conn = dm_ofi_ep_conn(ep);

    min_recv_find(ep);
    if (conn->min_recv.own == conn->min_recv.reported ||
        (conn->min_recv.own > conn->min_recv.reported && !conn->min_recv.is_peer_asking &&
         conn->min_recv.own / 2 < conn->min_recv.reported))
        return;
    conn->min_recv.is_peer_asking = false;
    conn->min_recv.reported = ctrl.value[0] = conn->min_recv.own;
    dm_ofi_ctrl_post(ep, &ctrl);
}

bool dm_transport_recv_fits(struct dm_net_ep *ep, uint64_t len)
{
    struct dm_ofi_op *op;

    if (ep->conn != NULL)
        ((struct dm_ofi_conn *)ep->conn)->min_recv.is_peer_asking = true;
    /* What was sent before has arrived before: it is the first one's turn. */
    if (dm_list_is_empty(&ep->recvs))
        return true;
    op = dm_container_of(ep->recvs.next, struct dm_ofi_op, base.link);
    if (op->is_bad || len <= op->space)
        return true;
    op->base.status = DAT_DTO_ERR_LOCAL_LENGTH;
    return false;
}

void dm_ofi_recv_start(struct dm_ofi_ep *ep)
{
    ep->is_recv_open = true;
    dm_ofi_recv_push(ep);
}

/* Not reported by the fabric: it may still be some day. A copy to be completed; NULL: there is no
 * memory for one. */
static struct dm_ofi_op *recv_abandon(struct dm_ofi_ep *ep, struct dm_ofi_op *op)
{
    struct dm_net_op *copy = dm_transport_op_new(&dm_ofi_ia_of(ep)->net, &op->base.dto);

    dm_list_del(&op->base.link);
    op->ep = NULL;
    if (copy == NULL)
        return NULL;
    ((struct dm_ofi_op *)copy)->ep = ep;
    dm_list_add_tail(&ep->base.recvs, &copy->link);
    return (struct dm_ofi_op *)copy;
}

void dm_transport_recv_flush(struct dm_net_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;
    struct dm_list *const lists[2] = {&any->recvs, &ep->recv_queue};

    for (int i = 0; i < 2; i++) {
        while (!dm_list_is_empty(lists[i])) {
            struct dm_ofi_op *op = dm_container_of(lists[i]->next, struct dm_ofi_op, base.link);
            struct recv_cqe how = {.status = op->base.status};

            if (how.status == ok)
                how.status = DAT_DTO_ERR_FLUSHED;
            if (op->n_pending > 0)
                op = recv_abandon(ep, op);
            if (op != NULL)
                (void)ofi_recv_complete(ep, op, &how);
        }
    }
    any->n_recvs = 0;
}

bool dm_ofi_recv_is_using(const struct dm_ofi_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->base.recvs) {
        const struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, base.link);

        /* A bad one has been posted without its memory. */
        if (op->n_pending > 0 && !op->is_bad && dm_net_op_uses(&op->base, key))
            return true;
    }
    return false;
}

/* Put those that the fabric has cancelled to the front of the queue. */
static void recv_requeue(struct dm_ofi_ep *ep)
{
    struct dm_list back;

    dm_list_init(&back);
    dm_list_for_each_safe (it, next, &ep->base.recvs) {
        if (dm_container_of(it, struct dm_ofi_op, base.link)->n_pending > 0)
            continue;
        dm_list_del(it);
        dm_list_add_tail(&back, it);
    }
    while (!dm_list_is_empty(&back)) {
        struct dm_list *last = back.prev;

        dm_list_del(last);
        dm_list_add_tail(ep->recv_queue.next, last);
    }
}

void dm_ofi_recv_recall(struct dm_ofi_ep *ep, uint32_t key)
{
    bool is_behind = false;

    if (ep->base.conn == NULL || dm_ofi_ep_conn(ep)->fid == NULL)
        return;
    /* The order must not change: the first of them and all behind it. */
    dm_list_for_each (it, &ep->base.recvs) {
        struct dm_ofi_op *op = dm_container_of(it, struct dm_ofi_op, base.link);

        is_behind = is_behind || dm_net_op_uses(&op->base, key);
        if (is_behind)
            (void)fi_cancel(&dm_ofi_ep_conn(ep)->fid->fid, &op->ctx);
    }
    if (!is_behind)
        return;
    while (dm_ofi_read_cq(dm_ofi_ia_of(ep)) > 0)
        continue;
    recv_requeue(ep);
    dm_ofi_recv_push(ep);
}

void dm_transport_recv_add(struct dm_net_ep *any, struct dm_net_op *op)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    ((struct dm_ofi_op *)op)->ep = ep;
    dm_list_add_tail(&ep->recv_queue, &op->link);
    dm_ofi_recv_push(ep);
}

void dm_transport_recv_answer(struct dm_net_ep *ep, uint64_t id, bool is_refused)
{
    struct dm_ofi_ctrl ctrl = {.type = DM_CTRL_RECV_RSP, .status = is_refused, .id = id};

    dm_ofi_ctrl_post((struct dm_ofi_ep *)ep, &ctrl);
}
