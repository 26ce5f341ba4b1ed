/*
 * Frames: what each of them asks for or answers.
 *
 * A request of the peer's that it has no right to ends the connection, with a last frame that says
 * so; what no peer would send that knows the protocol ends it at once.
 */
#include "providers/tcp/stream.h"

#include <stdlib.h>
#include <string.h>

#include "providers/common/last.h"
#include "providers/tcp/ext.h"
#include "providers/tcp/pinned.h"
#include "providers/net/key.h"
#include "providers/net/srq.h"
#include "providers/tcp/recv.h"
#include "util/port.h"

/* ---- beginning ---- */

static bool frame_malformed(struct dm_tcp_conn *conn)
{
    dm_net_conn_fail(&conn->base, DAT_CONNECTION_EVENT_BROKEN);
    return false;
}

static bool frame_refused(struct dm_tcp_conn *conn)
{
    dm_tcp_conn_nak(conn, DM_NAK_ACCESS);
    return false;
}

static void in_vec_add(struct dm_tcp_in *in, void *mem, uint64_t len)
{
    if (len == 0)
        return;
    in->vec[in->n_vec].iov_base = mem;
    in->vec[in->n_vec++].iov_len = len;
}

/* Does the context stand for a window that the endpoint serves? */
static bool frame_is_window(const struct dm_tcp_conn *conn, uint32_t key)
{
    const struct dm_net_region *region = dm_net_key_region(conn->base.net, key);

    return region != NULL && region->is_window && dm_net_region_is_for(region, &conn->base.ep->ep);
}

/* The last bytes are placed after all others. */
static bool frame_begin_write(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;
    const struct dm_tcp_head *head = &in->head;
    uint64_t all = (head->flags & DM_TCP_MORE) != 0 ? head->value : head->len;
    char *mem;

    if (in->op != NULL)
        return frame_malformed(conn);
    in->n_last = 0;
    if (head->len == 0)
        return true;
    mem = dm_net_key_mem(&conn->base.ep->ep, head->key, head->va, all,
                         DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
    if (mem == NULL)
        return frame_refused(conn);
    in->n_last = (uint32_t)dm_last_tail((uintptr_t)mem, head->len);
    in->last_to = mem + (head->len - in->n_last);
    in_vec_add(in, mem, head->len - in->n_last);
    in_vec_add(in, &in->last, in->n_last);
    return true;
}

static bool frame_begin_send(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;
    const struct dm_tcp_head *head = &in->head;

    if (in->op == NULL) {
        if (in->n_before > 0)
            return frame_malformed(conn);
        if (head->type == DM_TCP_SEND_INVAL && !frame_is_window(conn, head->value))
            return frame_refused(conn);
        in->op = dm_tcp_recv_take(dm_tcp_conn_ep(conn), head->va);
        if (in->op == NULL)
            return false;
    }
    if (in->n_before + head->len > head->va || head->va > in->op->base.len ||
        ((head->flags & DM_TCP_MORE) == 0 && in->n_before + head->len != head->va))
        return frame_malformed(conn);
    in->n_vec = dm_tcp_op_part(in->op, in->n_before, head->len, in->vec, DM_IOV_MAX);
    return true;
}

static bool frame_begin_read(struct dm_tcp_conn *conn)
{
    const struct dm_tcp_head *head = &conn->in.head;
    struct dm_tcp_answer *answer;
    char *mem = dm_net_key_mem(&conn->base.ep->ep, head->key, head->va, head->value,
                               DAT_MEM_PRIV_REMOTE_READ_FLAG);

    if (conn->out.n_answers >= DM_TCP_READS_MAX)
        return frame_malformed(conn);
    if (mem == NULL)
        return frame_refused(conn);
    answer = malloc(sizeof(*answer));
    if (answer == NULL)
        return frame_refused(conn);
    *answer = (struct dm_tcp_answer){.from = mem, .key = head->key, .left = head->value};
    dm_list_add_tail(&conn->out.answers, &answer->link);
    conn->out.n_answers++;
    return true;
}

static bool frame_begin_read_data(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;
    const struct dm_tcp_head *head = &in->head;
    struct dm_tcp_op *op = dm_tcp_dto_oldest(dm_tcp_conn_ep(conn), false);
    bool is_end;

    if (op == NULL || op->base.pos + head->len > op->base.len)
        return frame_malformed(conn);
    is_end = op->base.pos + head->len == op->base.len;
    if (is_end == ((head->flags & DM_TCP_MORE) != 0))
        return frame_malformed(conn);
    in->read = op;
    in->n_vec = dm_tcp_op_part(op, op->base.pos, head->len, in->vec, DM_IOV_MAX);
    return true;
}

/* What every header says. */
static bool frame_take_counts(struct dm_tcp_conn *conn)
{
    const struct dm_tcp_head *head = &conn->in.head;

    if (!dm_tcp_dto_acked(dm_tcp_conn_ep(conn), head->n_acked))
        return false;
    if ((int32_t)(head->n_granted - conn->base.credits.n_peer_recvs) > 0)
        conn->base.credits.n_peer_recvs = head->n_granted;
    return true;
}

bool dm_tcp_frame_begin(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;
    const struct dm_tcp_head *head = &in->head;

    if (!dm_tcp_head_is_valid(head, conn->own_tag) || !frame_take_counts(conn))
        return frame_malformed(conn);
    in->left = head->len;
    in->n_vec = 0;
    in->at = 0;
    switch ((enum dm_tcp_type)head->type) {
    case DM_TCP_WRITE:
    case DM_TCP_WRITE_IMMED:
        return frame_begin_write(conn);
    case DM_TCP_SEND:
    case DM_TCP_SEND_INVAL:
        return frame_begin_send(conn);
    case DM_TCP_READ:
        return in->op == NULL && in->n_before == 0 ? frame_begin_read(conn) : frame_malformed(conn);
    case DM_TCP_FETCH_ADD:
    case DM_TCP_CMP_SWAP:
        if (in->op != NULL || in->n_before > 0)
            return frame_malformed(conn);
        in_vec_add(in, in->operands, sizeof(in->operands));
        return true;
    case DM_TCP_READ_DATA:
        return frame_begin_read_data(conn);
    case DM_TCP_ATOMIC_DATA:
        in_vec_add(in, &in->last, sizeof(in->last));
        return true;
    default:
        return true;
    }
}

/* ---- ending ---- */

/* A request of the peer's has been carried out. */
static bool request_done(struct dm_tcp_conn *conn)
{
    conn->in.n_before = 0;
    conn->in.n_done++;
    if ((conn->in.head.flags & DM_TCP_ACK_ME) != 0)
        conn->out.is_ack_due = true;
    return true;
}

static bool frame_end_write(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;

    if (in->n_last > 0) {
        DM_DMA_BEGIN();
        dm_last_store(in->last_to, &in->last, in->n_last);
        DM_DMA_END();
    }
    in->n_before += in->head.len;
    if ((in->head.flags & DM_TCP_MORE) != 0)
        return true;
    if (in->head.type == DM_TCP_WRITE_IMMED &&
        !dm_tcp_recv_arrived(dm_tcp_conn_ep(conn), NULL, &in->head, in->n_before))
        return false;
    return request_done(conn);
}

static bool frame_end_send(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;
    struct dm_tcp_op *op = in->op;

    in->n_before += in->head.len;
    if ((in->head.flags & DM_TCP_MORE) != 0)
        return true;
    in->op = NULL;
    return dm_tcp_recv_arrived(dm_tcp_conn_ep(conn), op, &in->head, in->head.va) &&
           request_done(conn);
}

static bool frame_end_read_data(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;
    struct dm_tcp_op *op = in->read;

    in->read = NULL;
    op->base.pos += in->head.len;
    if ((in->head.flags & DM_TCP_MORE) == 0)
        dm_tcp_dto_answered(dm_tcp_conn_ep(conn), op, DAT_DTO_SUCCESS);
    return true;
}

static bool frame_end_terminate(struct dm_tcp_conn *conn)
{
    conn->base.end.is_nak_received = conn->in.head.value != DM_NAK_NONE;
    if (conn->base.end.is_nak_received)
        dm_tcp_dto_nak(dm_tcp_conn_ep(conn), conn->in.head.value == DM_NAK_ACCESS
                                                 ? DAT_DTO_ERR_REMOTE_ACCESS
                                                 : DAT_DTO_ERR_REMOTE_RESPONDER);
    conn->base.end.is_peer_terminated = true;
    dm_net_conn_fail(&conn->base, conn->base.end.is_nak_received
                                      ? DAT_CONNECTION_EVENT_BROKEN
                                      : DAT_CONNECTION_EVENT_DISCONNECTED);
    return false;
}

static bool frame_end_grant(struct dm_tcp_conn *conn)
{
    struct dm_tcp_ep *ep = dm_tcp_conn_ep(conn);

    if (ep->ask != DM_ASK_SENT)
        return frame_malformed(conn);
    ep->ask = conn->in.head.value == 0 ? DM_ASK_GRANTED : DM_ASK_REFUSED;
    return true;
}

/* A question is answered by its number. */
static void frame_end_ack(struct dm_tcp_conn *conn)
{
    const struct dm_tcp_head *head = &conn->in.head;
    const struct dm_tcp_head answer = {.type = DM_TCP_ACK, .va = head->va};

    if ((head->flags & DM_TCP_ACK_ME) == 0)
        dm_tcp_pinned_returned(conn, head->va);
    else if (head->va != 0)
        dm_tcp_out_ctrl(conn, &answer, NULL);
    else
        conn->out.is_ack_due = true;
}

bool dm_tcp_frame_end(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;

    switch ((enum dm_tcp_type)in->head.type) {
    case DM_TCP_WRITE:
    case DM_TCP_WRITE_IMMED:
        return frame_end_write(conn);
    case DM_TCP_SEND:
    case DM_TCP_SEND_INVAL:
        return frame_end_send(conn);
    case DM_TCP_READ:
        return request_done(conn);
    case DM_TCP_FETCH_ADD:
    case DM_TCP_CMP_SWAP:
        return dm_tcp_ext_atomic(conn) ? request_done(conn) : frame_refused(conn);
    case DM_TCP_READ_DATA:
        return frame_end_read_data(conn);
    case DM_TCP_ATOMIC_DATA:
        return dm_tcp_ext_answered(conn) || frame_malformed(conn);
    case DM_TCP_ACK:
        frame_end_ack(conn);
        return true;
    case DM_TCP_CHECK:
        return dm_net_key_mem(&conn->base.ep->ep, in->head.key, in->head.va, in->head.value,
                              DAT_MEM_PRIV_REMOTE_WRITE_FLAG) != NULL ||
               frame_refused(conn);
    case DM_TCP_RECV_ASK:
        if (!dm_list_is_empty(&conn->base.ep->asked))
            return frame_malformed(conn);
        dm_net_srq_asked(conn->base.ep, 0, in->head.va);
        return true;
    case DM_TCP_RECV_GRANT:
        return frame_end_grant(conn);
    case DM_TCP_DISCONNECT:
        dm_net_conn_fail(&conn->base, DAT_CONNECTION_EVENT_DISCONNECTED);
        return false;
    case DM_TCP_TERMINATE:
        return frame_end_terminate(conn);
    default:
        return frame_malformed(conn);
    }
}
