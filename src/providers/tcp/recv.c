/*
 * Receives. They wait in ep->recvs until a message takes the first; only then its segments are
 * looked at, those that the message reaches.
 */
#include "providers/tcp/recv.h"

#include "providers/net/key.h"
#include "providers/tcp/srq.h"
#include "providers/tcp/stream.h"

static const DAT_DTO_COMPLETION_STATUS ok = DAT_DTO_SUCCESS;

/* How a receive ends. */
struct recv_cqe {
    DAT_DTO_COMPLETION_STATUS status;
    uint64_t len;
    const struct dm_tcp_head *head; /* of the message; NULL: none */
};

/* Does the receive, if successful, end without waking anybody? */
static bool tcp_recv_is_quiet(const struct dm_tcp_ep *ep, const struct dm_tcp_op *op,
                              const struct dm_tcp_head *head)
{
    unsigned notify = (unsigned)ep->ep.attr.recv_completion_flags;

    return ((notify & DAT_COMPLETION_SOLICITED_WAIT_FLAG) != 0 &&
            (head->flags & DM_TCP_SOLICITED) == 0) ||
           (notify & (unsigned)op->dto.flags & DAT_COMPLETION_UNSIGNALLED_FLAG) != 0;
}

static struct dm_evd_item recv_item(struct dm_tcp_ep *ep, const struct dm_tcp_op *op,
                                    const struct recv_cqe *how)
{
    DAT_DTO_COMPLETION_EVENT_DATA data = {.ep_handle = (DAT_EP_HANDLE)ep,
                                          .user_cookie = op->dto.cookie,
                                          .status = how->status,
                                          .transfered_length = (DAT_SEG_LENGTH)how->len,
                                          .operation = DAT_DTO_RECEIVE};
    bool is_immed = how->head != NULL && how->head->type == DM_TCP_WRITE_IMMED;
    struct dm_evd_item item;

    if (how->head != NULL && how->head->type == DM_TCP_SEND_INVAL) {
        data.operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
        data.rmr_context = how->head->value;
    }
    if (is_immed)
        data.operation = (DAT_DTOS)DAT_IB_DTO_RECV_IMMED;
    item = dm_evd_item_dto(&data, DM_TAG(ep->ep.obj.gen, DM_TAG_RECV));
    if (is_immed) {
        item.number = (uint32_t)DAT_IB_DTO_EVENT;
        item.ext = DAT_IB_RDMA_WRITE_IMMED_DATA;
        item.data[DM_ITEM_EXTRA] = how->head->value;
    }
    return item;
}

/* The receive is over; it is in no list. False: its event is lost. */
static bool tcp_recv_complete(struct dm_tcp_ep *ep, struct dm_tcp_op *op,
                              const struct recv_cqe *how)
{
    struct dm_evd_item item = recv_item(ep, op, how);
    bool is_in;

    if (how->status == ok && how->head != NULL && tcp_recv_is_quiet(ep, op, how->head))
        is_in = dm_evd_add_quiet(ep->ep.recv_evd, &item);
    else
        is_in = dm_evd_add(ep->ep.recv_evd, &item);
    dm_tcp_op_free(dm_tcp_ia_of(ep), op);
    if (ep->srq != NULL)
        dm_tcp_srq_recv_done(ep);
    return is_in;
}

/* The first receive, off the list. The peer has been granted it. NULL: there is none. */
static struct dm_tcp_op *recv_first(struct dm_tcp_ep *ep)
{
    struct dm_tcp_op *op;

    if (dm_list_is_empty(&ep->recvs)) {
        dm_tcp_conn_fail(ep->conn, DAT_CONNECTION_EVENT_BROKEN);
        return NULL;
    }
    op = dm_container_of(ep->recvs.next, struct dm_tcp_op, link);
    dm_list_del(&op->link);
    ep->n_recvs--;
    return op;
}

/* Bytes in all segments. */
static uint64_t tcp_recv_space(const struct dm_tcp_op *op)
{
    uint64_t len = 0;

    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        len += op->dto.seg[i].segment_length;
    return len;
}

struct dm_tcp_op *dm_tcp_recv_take(struct dm_tcp_ep *ep, uint64_t len)
{
    struct dm_tcp_op *op = recv_first(ep);
    struct recv_cqe how = {.status = ok};

    if (op == NULL)
        return NULL;
    if (op->status != ok)
        how.status = op->status;
    else if (len > tcp_recv_space(op))
        how.status = DAT_DTO_ERR_LOCAL_LENGTH;
    else if (!dm_tcp_op_resolve(ep, op, len, DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
        how.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    if (how.status == ok)
        return op;
    (void)tcp_recv_complete(ep, op, &how);
    dm_tcp_conn_nak(ep->conn, DM_NAK_RESPONDER);
    return NULL;
}

bool dm_tcp_recv_arrived(struct dm_tcp_ep *ep, struct dm_tcp_op *op, const struct dm_tcp_head *head,
                         uint64_t len)
{
    struct recv_cqe how = {.status = ok, .len = len, .head = head};

    if (op == NULL)
        op = recv_first(ep);
    if (op == NULL)
        return false;
    if (head->type == DM_TCP_SEND_INVAL && !dm_rmr_invalidate(&ep->ep, head->value))
        how.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    ep->conn->credits.n_arrived++;
    if (tcp_recv_complete(ep, op, &how) && how.status == ok)
        return true;
    dm_tcp_conn_nak(ep->conn, how.status == ok ? DM_NAK_RESPONDER : DM_NAK_ACCESS);
    return false;
}

bool dm_tcp_recv_fits(struct dm_tcp_ep *ep, uint64_t len)
{
    struct dm_tcp_op *op;

    if (dm_list_is_empty(&ep->recvs))
        return true;
    op = dm_container_of(ep->recvs.next, struct dm_tcp_op, link);
    if (len <= tcp_recv_space(op))
        return true;
    op->status = DAT_DTO_ERR_LOCAL_LENGTH;
    return false;
}

void dm_tcp_recv_flush(struct dm_tcp_ep *ep)
{
    while (!dm_list_is_empty(&ep->recvs)) {
        struct dm_tcp_op *op = dm_container_of(ep->recvs.next, struct dm_tcp_op, link);
        const struct recv_cqe how = {.status = op->status != ok ? op->status : DAT_DTO_ERR_FLUSHED};

        dm_list_del(&op->link);
        (void)tcp_recv_complete(ep, op, &how);
    }
    ep->n_recvs = 0;
}

static DAT_RETURN tcp_recv_post_locked(struct dm_tcp_ep *ep, const struct dm_dto *dto)
{
    uint32_t used =
        ep->n_recv_posted - atomic_load_explicit(&ep->ep.n_recv_reaped, memory_order_acquire);
    struct dm_tcp_op *op;

    if (used >= (uint32_t)ep->ep.attr.max_recv_dtos)
        return DM_DAT_NOMEM;
    op = dm_tcp_op_new(dm_tcp_ia_of(ep), dto);
    if (op == NULL)
        return DM_DAT_NOMEM;
    ep->n_recv_posted++;
    dm_list_add_tail(&ep->recvs, &op->link);
    ep->n_recvs++;
    if (atomic_load(&ep->ep.state) == DAT_EP_STATE_DISCONNECTED)
        dm_tcp_recv_flush(ep);
    else if (ep->conn != NULL)
        dm_tcp_out_credit(ep->conn);
    return DAT_SUCCESS;
}

DAT_RETURN dm_tcp_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_tcp_ep *ep = (struct dm_tcp_ep *)handle;
    struct dm_dto dto = {.kind = DM_OP_RECV, .flags = flags, .cookie = cookie, .seg = seg};
    DAT_RETURN ret = dm_recv_check(handle, n, seg, flags);

    if (ret != DAT_SUCCESS)
        return ret;
    dto.n_seg = (uint32_t)n;
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    ret = tcp_recv_post_locked(ep, &dto);
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return ret;
}
