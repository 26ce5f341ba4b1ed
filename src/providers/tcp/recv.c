/*
 * Receives. They wait in ep->base.recvs until a message takes the first; only then its segments are
 * looked at, those that the message reaches.
 */
#include "providers/tcp/recv.h"

#include "providers/net/op.h"
#include "providers/net/transport.h"
#include "providers/tcp/stream.h"

static const DAT_DTO_COMPLETION_STATUS ok = DAT_DTO_SUCCESS;

/* How a receive ends. */
struct recv_cqe {
    DAT_DTO_COMPLETION_STATUS status;
    uint64_t len;
    const struct dm_tcp_head *head; /* of the message; NULL: none */
};

static struct dm_evd_item recv_item(struct dm_tcp_ep *ep, const struct dm_tcp_op *op,
                                    const struct recv_cqe *how)
{
    DAT_DTO_COMPLETION_EVENT_DATA data =
        dm_net_recv_data(&ep->base, &op->base, how->status, how->len);
    bool is_immed = how->head != NULL && how->head->type == DM_TCP_WRITE_IMMED;
    struct dm_evd_item item;

    if (how->head != NULL && how->head->type == DM_TCP_SEND_INVAL) {
        data.operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
        data.rmr_context = how->head->value;
    }
    if (is_immed)
        data.operation = (DAT_DTOS)DAT_IB_DTO_RECV_IMMED;
    item = dm_evd_item_dto(&data, DM_TAG(ep->base.ep.obj.gen, DM_TAG_RECV));
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
    bool is_solicited = how->head != NULL && (how->head->flags & DM_TCP_SOLICITED) != 0;
    bool is_in = dm_net_recv_complete(&ep->base, &op->base, &item, is_solicited,
                                      how->status == ok && how->head != NULL);

    dm_net_op_free(&dm_tcp_ia_of(ep)->net, &op->base);
    return is_in;
}

/* The first receive, off the list. The peer has been granted it. NULL: there is none. */
static struct dm_tcp_op *recv_first(struct dm_tcp_ep *ep)
{
    struct dm_tcp_op *op;

    if (dm_list_is_empty(&ep->base.recvs)) {
        dm_net_conn_fail(ep->base.conn, DAT_CONNECTION_EVENT_BROKEN);
        return NULL;
    }
    op = dm_container_of(ep->base.recvs.next, struct dm_tcp_op, base.link);
    dm_list_del(&op->base.link);
    ep->base.n_recvs--;
    return op;
}

struct dm_tcp_op *dm_tcp_recv_take(struct dm_tcp_ep *ep, uint64_t len)
{
    struct dm_tcp_op *op = recv_first(ep);
    struct recv_cqe how = {.status = ok};

    if (op == NULL)
        return NULL;
    if (op->base.status != ok)
        how.status = op->base.status;
    else if (len > dm_net_op_space(&op->base))
        how.status = DAT_DTO_ERR_LOCAL_LENGTH;
    else if (!dm_tcp_op_resolve(ep, op, len, DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
        how.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    if (how.status == ok)
        return op;
    (void)tcp_recv_complete(ep, op, &how);
    dm_tcp_conn_nak(dm_tcp_ep_conn(ep), DM_NAK_RESPONDER);
    return NULL;
}

/*
 * The peer has used all that it knows of. What was posted since it was told need not have been half of
 * what there was, and nobody may post again before more has come.
 */
static void recv_credit_last(struct dm_tcp_conn *conn)
{
    const struct dm_net_credits *credits = &conn->base.credits;

    if (conn->base.ep->srq == NULL && conn->base.ep->n_recvs > 0 &&
        (int32_t)(credits->n_granted - credits->n_arrived) <= 0)
        dm_tcp_out_grant(conn, true);
}

bool dm_tcp_recv_arrived(struct dm_tcp_ep *ep, struct dm_tcp_op *op, const struct dm_tcp_head *head,
                         uint64_t len)
{
    struct recv_cqe how = {.status = ok, .len = len, .head = head};

    if (op == NULL)
        op = recv_first(ep);
    if (op == NULL)
        return false;
    if (head->type == DM_TCP_SEND_INVAL && !dm_rmr_invalidate(&ep->base.ep, head->value))
        how.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    ep->base.conn->credits.n_arrived++;
    recv_credit_last(dm_tcp_ep_conn(ep));
    if (tcp_recv_complete(ep, op, &how) && how.status == ok)
        return true;
    dm_tcp_conn_nak(dm_tcp_ep_conn(ep), how.status == ok ? DM_NAK_RESPONDER : DM_NAK_ACCESS);
    return false;
}

/*
 * Half of what there is at least. Who posts many again, one after the other, has few at first: not until
 * half of the most there were has the peer to hear at once.
 */
void dm_tcp_recv_credit(struct dm_tcp_conn *conn)
{
    struct dm_net_credits *credits = &conn->base.credits;
    uint32_t n_recvs = conn->base.ep->n_recvs;
    int32_t n_left, n_new;

    if (conn->base.state != DM_CONN_UP || conn->base.ep->srq != NULL)
        return;
    if (n_recvs > credits->most_recvs)
        credits->most_recvs = n_recvs;
    n_left = (int32_t)(credits->n_granted - credits->n_arrived);
    n_new = (int32_t)n_recvs - n_left; /* below 0: the one that a message is arriving in */
    if (n_new > n_left)
        dm_tcp_out_grant(conn, 2 * (uint32_t)n_new > credits->most_recvs);
}

bool dm_transport_recv_fits(struct dm_net_ep *ep, uint64_t len)
{
    struct dm_net_op *op;

    if (dm_list_is_empty(&ep->recvs))
        return true;
    op = dm_container_of(ep->recvs.next, struct dm_net_op, link);
    if (len <= dm_net_op_space(op))
        return true;
    op->status = DAT_DTO_ERR_LOCAL_LENGTH;
    return false;
}

void dm_transport_recv_flush(struct dm_net_ep *ep)
{
    while (!dm_list_is_empty(&ep->recvs)) {
        struct dm_tcp_op *op = dm_container_of(ep->recvs.next, struct dm_tcp_op, base.link);
        const struct recv_cqe how = {.status = op->base.status != ok ? op->base.status
                                                                     : DAT_DTO_ERR_FLUSHED};

        dm_list_del(&op->base.link);
        (void)tcp_recv_complete((struct dm_tcp_ep *)ep, op, &how);
    }
    ep->n_recvs = 0;
}

void dm_transport_recv_add(struct dm_net_ep *ep, struct dm_net_op *op)
{
    dm_list_add_tail(&ep->recvs, &op->link);
    ep->n_recvs++;
    if (ep->conn == NULL)
        return;
    dm_tcp_conn_ia((struct dm_tcp_conn *)ep->conn)->was_idle = false;
    dm_tcp_recv_credit((struct dm_tcp_conn *)ep->conn);
}

void dm_transport_recv_answer(struct dm_net_ep *ep, uint64_t id, bool is_refused)
{
    const struct dm_tcp_head head = {.type = DM_TCP_RECV_GRANT, .value = is_refused};

    (void)id; /* a peer asks for one at a time */
    dm_tcp_out_ctrl((struct dm_tcp_conn *)ep->conn, &head, NULL);
}
