/*
 * Requests: posting, their order, their completion.
 *
 * Invariants: a request is in ep->sent from when its first frame is begun (or it has failed before)
 * until everything before it has completed; ep->queue holds those behind, which wait for the
 * connection, the socket, a receive of the peer or a read. What a read brings is there before
 * anything behind it begins.
 */
#include "providers/tcp/dto.h"

#include "providers/net/key.h"
#include "providers/tcp/stream.h"

/* ---- completing ---- */

static void tcp_dto_complete(struct dm_tcp_ep *ep, const struct dm_dto *dto,
                             DAT_DTO_COMPLETION_STATUS status, uint64_t len)
{
    if (dm_unlikely(dto->kind == DM_OP_BIND))
        dm_net_rmr_bound(dto->bind);
    if (status == DAT_DTO_SUCCESS && (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0)
        return;
    if (dm_dto_complete(&ep->ep, dto, status, len))
        ep->n_signalled++; /* else nobody will dequeue it: the slot is free again */
}

static bool tcp_dto_has_slot(const struct dm_tcp_ep *ep)
{
    uint32_t n = ep->n_used + ep->n_signalled -
                 atomic_load_explicit(&ep->ep.n_request_reaped, memory_order_acquire);

    return n < (uint32_t)ep->ep.attr.max_request_dtos;
}

static void op_slot_back(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    if (op->has_slot)
        ep->n_used--;
    op->has_slot = false;
}

/* Take a request out of its list and complete it. */
static void op_retire(struct dm_tcp_ep *ep, struct dm_tcp_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    dm_list_del(&op->link);
    op_slot_back(ep, op);
    tcp_dto_complete(ep, &op->dto, status, status == DAT_DTO_SUCCESS ? op->len : 0);
    dm_tcp_op_free(dm_tcp_ia_of(ep), op);
}

static bool op_is_answer_due(const struct dm_tcp_op *op)
{
    return (dm_dto_is_read(&op->dto) || dm_dto_is_atomic(&op->dto)) && !op->is_answered &&
           op->is_sent;
}

/* Complete what is over at the head, up to the first that has failed: behind it everything is
 * flushed when the connection has ended. */
static void tcp_dto_reap(struct dm_tcp_ep *ep)
{
    bool is_any = false;

    while (!dm_list_is_empty(&ep->sent)) {
        struct dm_tcp_op *op = dm_container_of(ep->sent.next, struct dm_tcp_op, link);
        DAT_DTO_COMPLETION_STATUS status = op->status;

        if (status == DAT_DTO_SUCCESS &&
            (!op->is_sent || (int32_t)(op->number - ep->n_acked) > 0 || op_is_answer_due(op)))
            break;
        op_retire(ep, op, status);
        is_any = true;
        if (status != DAT_DTO_SUCCESS) {
            ep->is_failing = true;
            if (ep->conn != NULL)
                dm_tcp_conn_terminate(ep->conn, DAT_CONNECTION_EVENT_BROKEN, DM_NAK_NONE);
            return;
        }
    }
    if (is_any)
        dm_tcp_ep_drained(ep);
}

bool dm_tcp_dto_acked(struct dm_tcp_ep *ep, uint32_t n)
{
    if (n == ep->n_acked)
        return true;
    if ((int32_t)(n - ep->n_acked) < 0 || (int32_t)(n - ep->last_number) > 0)
        return false;
    ep->n_acked = n;
    tcp_dto_reap(ep);
    return true;
}

void dm_tcp_dto_sent(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    op->is_sent = true;
    if ((op->dto.flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0 && !op_is_answer_due(op))
        op_slot_back(ep, op); /* the rest is for errors alone */
}

struct dm_tcp_op *dm_tcp_dto_oldest(struct dm_tcp_ep *ep, bool is_atomic)
{
    dm_list_for_each (it, &ep->sent) {
        struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, link);

        if (op_is_answer_due(op) && dm_dto_is_atomic(&op->dto) == is_atomic)
            return op;
    }
    return NULL;
}

void dm_tcp_dto_answered(struct dm_tcp_ep *ep, struct dm_tcp_op *op,
                         DAT_DTO_COMPLETION_STATUS status)
{
    op->is_answered = true;
    op->status = status;
    if (dm_dto_is_atomic(&op->dto))
        ep->n_atomics--;
    else
        ep->n_reads--;
    tcp_dto_reap(ep);
    if (ep->conn != NULL)
        dm_tcp_out_push(ep->conn);
}

/* What was begun behind it has not been carried out. */
void dm_tcp_dto_nak(struct dm_tcp_ep *ep, DAT_DTO_COMPLETION_STATUS status)
{
    bool is_first = true;

    dm_list_for_each (it, &ep->sent) {
        struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, link);

        if ((int32_t)(op->number - ep->n_acked) <= 0)
            continue;
        op->status = is_first ? status : DAT_DTO_ERR_FLUSHED;
        is_first = false;
    }
    ep->is_failing = true;
}

bool dm_tcp_dto_is_idle(const struct dm_tcp_ep *ep)
{
    if (!dm_list_is_empty(&ep->queue))
        return false;
    dm_list_for_each (it, &ep->sent) {
        const struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, link);

        if (op->has_slot)
            return false;
    }
    return true;
}

bool dm_tcp_dto_is_using(const struct dm_tcp_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->sent) {
        const struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, link);

        if (op->status == DAT_DTO_SUCCESS && op->n_vec > 0 &&
            ((!op->is_sent && op->pos < op->len) || op_is_answer_due(op)) &&
            dm_tcp_op_uses(op, key))
            return true;
    }
    return false;
}

bool dm_tcp_dto_is_waiting(const struct dm_tcp_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->queue) {
        const struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, link);

        if (dm_dto_is_send(&op->dto) || op->dto.kind == DM_OP_WRITE_IMMED)
            return false;
        if (op->dto.kind != DM_OP_BIND && dm_tcp_op_uses(op, key))
            return true;
    }
    return false;
}

/* ---- order ---- */

/* Does it have to wait for what is under way? */
static bool tcp_dto_must_wait(const struct dm_tcp_ep *ep, const struct dm_dto *dto)
{
    if (dm_likely(ep->n_reads + ep->n_atomics == 0))
        return false;
    if ((dto->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) != 0)
        return true;
    if (dm_dto_is_read(dto))
        return ep->n_reads >= DM_TCP_READS_MAX;
    return !dm_dto_is_atomic(dto) || ep->n_reads > 0 || ep->n_atomics >= DM_TCP_READS_MAX;
}

static bool tcp_dto_is_open(const struct dm_tcp_ep *ep)
{
    return ep->conn != NULL && ep->conn->state == DM_CONN_UP && !ep->is_failing &&
           (atomic_load_explicit(&ep->ep.state, memory_order_relaxed) == DAT_EP_STATE_CONNECTED ||
            ep->ep.is_draining);
}

static uint64_t dto_len(const struct dm_dto *dto)
{
    uint64_t len = 0;

    for (uint32_t i = 0; i < dto->n_seg; i++)
        len += dto->seg[i].segment_length;
    return len;
}

/* Something waits for all before it to be over, which need not have asked for an acknowledgement. */
static void dto_ping(struct dm_tcp_ep *ep)
{
    const struct dm_tcp_head head = {.type = DM_TCP_ACK, .flags = DM_TCP_ACK_ME};

    if (ep->n_quiet == 0 || ep->n_acked == ep->last_number || ep->conn == NULL)
        return;
    ep->n_quiet = 0;
    dm_tcp_out_ctrl(ep->conn, &head, NULL);
}

static bool dto_is_message(const struct dm_dto *dto)
{
    return dm_dto_is_send(dto) || dto->kind == DM_OP_WRITE_IMMED;
}

/* Has the peer a receive for it? One of a shared queue is asked for. */
static bool dto_find_recv(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    struct dm_tcp_head head = {.type = DM_TCP_RECV_ASK};
    struct dm_tcp_conn *conn = ep->conn;

    if (!conn->credits.is_peer_shared)
        return (int32_t)(conn->credits.n_peer_recvs - conn->credits.n_sent) > 0;
    if (ep->ask == DM_ASK_NONE) {
        head.va = dm_dto_is_send(&op->dto) ? dto_len(&op->dto) : 0;
        ep->ask = DM_ASK_SENT;
        dm_tcp_out_ctrl(conn, &head, NULL);
    }
    if (ep->ask == DM_ASK_REFUSED)
        op->status = DAT_DTO_ERR_REMOTE_RESPONDER;
    return ep->ask != DM_ASK_SENT;
}

/* The receive that has been found is used. */
static void dto_use_recv(struct dm_tcp_ep *ep)
{
    ep->conn->credits.n_sent++;
    ep->ask = DM_ASK_NONE;
}

bool dm_tcp_dto_has_recv(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    if (dm_likely(!op->is_recv_due))
        return true;
    if (!dto_find_recv(ep, op))
        return false;
    op->is_recv_due = false;
    dto_use_recv(ep);
    if (op->status == DAT_DTO_SUCCESS)
        return true;
    ep->is_failing = true;
    ep->conn->out.op = NULL;
    dto_ping(ep);
    tcp_dto_reap(ep);
    return false;
}

/* Must a message wait for a receive? Of a write with immediate data the peer says first whether it
 * may write. */
static bool dto_must_find_recv(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    const struct dm_tcp_head head = {.type = DM_TCP_CHECK,
                                     .va = op->dto.remote.virtual_address,
                                     .key = op->dto.remote.rmr_context,
                                     .value = (uint32_t)op->len};

    if (dm_likely(!dto_is_message(&op->dto)))
        return false;
    if (op->dto.kind == DM_OP_WRITE_IMMED && op->len > 0 &&
        (ep->conn->credits.is_peer_shared || !dto_find_recv(ep, op))) {
        op->is_recv_due = true;
        dm_tcp_out_ctrl(ep->conn, &head, NULL);
        return false;
    }
    return !dto_find_recv(ep, op);
}

/* Its memory, and what it does in this process alone. False: it has to wait. */
static bool dto_prepare(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    enum dm_net_bound bound;

    if (dm_unlikely(op->dto.kind == DM_OP_BIND)) {
        bound = dm_net_rmr_exec(&ep->ep, op->dto.bind, op->dto.seg);
        if (bound == DM_NET_BIND_LATER) {
            dm_tcp_ep_wait(ep);
            return false;
        }
        if (bound == DM_NET_BIND_FAILED)
            op->status = (DAT_DTO_COMPLETION_STATUS)DAT_RMR_OPERATION_FAILED;
        op->is_sent = true;
        return true;
    }
    if (!dm_tcp_op_resolve(ep, op, UINT64_MAX, dm_dto_local_privs[op->dto.kind]))
        op->status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else if (op->len > UINT32_MAX)
        op->status = DAT_DTO_ERR_LOCAL_LENGTH;
    else if (dto_must_find_recv(ep, op))
        return false;
    return true;
}

static void op_number(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    const struct dm_dto *dto = &op->dto;

    if (dto->kind != DM_OP_BIND && op->status == DAT_DTO_SUCCESS) {
        ep->last_number++;
        if (dto_is_message(dto) && !op->is_recv_due)
            dto_use_recv(ep);
        if (dm_dto_is_atomic(dto))
            ep->n_atomics++;
        else if (dm_dto_is_read(dto) && op->len > 0)
            ep->n_reads++;
        else if (dm_dto_is_read(dto))
            op->is_answered = true; /* there is nothing to bring */
    }
    op->number = ep->last_number;
}

struct dm_tcp_op *dm_tcp_dto_next(struct dm_tcp_ep *ep)
{
    while (!dm_list_is_empty(&ep->queue) && tcp_dto_is_open(ep)) {
        struct dm_tcp_op *op = dm_container_of(ep->queue.next, struct dm_tcp_op, link);

        if (tcp_dto_must_wait(ep, &op->dto) || !dto_prepare(ep, op))
            return NULL;
        dm_list_del(&op->link);
        dm_list_add_tail(&ep->sent, &op->link);
        op_number(ep, op);
        if (dm_likely(op->dto.kind != DM_OP_BIND && op->status == DAT_DTO_SUCCESS))
            return op;
        ep->is_failing = op->status != DAT_DTO_SUCCESS;
        dto_ping(ep);
        tcp_dto_reap(ep);
    }
    return NULL;
}

/* The connection is over. Of suppressed requests that are sent nobody can say more. */
void dm_tcp_dto_flush(struct dm_tcp_ep *ep)
{
    struct dm_list *const lists[2] = {&ep->sent, &ep->queue};

    for (int i = 0; i < 2; i++) {
        while (!dm_list_is_empty(lists[i])) {
            struct dm_tcp_op *op = dm_container_of(lists[i]->next, struct dm_tcp_op, link);
            bool is_over = i == 0 && !op->has_slot;

            op_retire(ep, op,
                      op->status != DAT_DTO_SUCCESS ? op->status
                      : is_over                     ? DAT_DTO_SUCCESS
                                                    : DAT_DTO_ERR_FLUSHED);
        }
    }
    ep->n_used = 0;
    ep->n_reads = 0;
    ep->n_atomics = 0;
    ep->n_quiet = 0;
    ep->last_number = 0;
    ep->n_acked = 0;
    ep->is_failing = false;
    ep->ask = DM_ASK_NONE;
}

/* ---- posting ---- */

static DAT_RETURN tcp_dto_enqueue(struct dm_tcp_ep *ep, const struct dm_dto *dto)
{
    struct dm_tcp_op *op = dm_tcp_op_new(dm_tcp_ia_of(ep), dto);

    if (op == NULL)
        return DM_DAT_NOMEM;
    ep->n_used++;
    op->has_slot = true;
    dm_list_add_tail(&ep->queue, &op->link);
    dm_tcp_out_push(ep->conn);
    return DAT_SUCCESS;
}

static DAT_RETURN tcp_dto_post_locked(struct dm_tcp_ep *ep, const struct dm_dto *dto)
{
    bool is_late;
    int state;

    if (ep->ep.obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_EP))
        return DM_DAT_BAD(EP);
    state = atomic_load(&ep->ep.state);
    if (dm_unlikely(state == DAT_EP_STATE_CONNECTED && !tcp_dto_has_slot(ep))) {
        struct dm_net *net = &dm_tcp_ia_of(ep)->net;

        (void)net->ops->round(net, false); /* perhaps something is over */
        state = atomic_load(&ep->ep.state);
    }
    /* Behind a failure that the consumer has not seen yet: to be flushed. */
    is_late = state == DAT_EP_STATE_DISCONNECT_PENDING && ep->conn != NULL &&
              (ep->is_failing || ep->conn->end.is_nak_sent || ep->conn->end.is_peer_terminated);
    if (state != DAT_EP_STATE_CONNECTED && state != DAT_EP_STATE_DISCONNECTED && !is_late)
        return dm_ep_bad_state(state);
    if (!tcp_dto_has_slot(ep))
        return DM_DAT_NOMEM;
    if (state == DAT_EP_STATE_CONNECTED || is_late)
        return tcp_dto_enqueue(ep, dto);
    tcp_dto_complete(ep, dto, DAT_DTO_ERR_FLUSHED, 0);
    return DAT_SUCCESS;
}

DAT_RETURN dm_tcp_post(struct dm_ep *ep, const struct dm_dto *dto)
{
    struct dm_pia *ia = ep->obj.ia;
    DAT_RETURN ret;

    pthread_mutex_lock(&ia->lock);
    ret = tcp_dto_post_locked((struct dm_tcp_ep *)ep, dto);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

static DAT_RETURN tcp_dto_post_checked(DAT_EP_HANDLE handle, struct dm_dto *dto, DAT_COUNT n,
                                       const DAT_RMR_TRIPLET *remote)
{
    DAT_RETURN ret = dm_dto_check(handle, dto, n, remote);

    return ret == DAT_SUCCESS ? dm_tcp_post((struct dm_ep *)handle, dto) : ret;
}

DAT_RETURN dm_tcp_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_SEND, .flags = flags, .cookie = cookie, .seg = seg};

    return tcp_dto_post_checked(ep, &dto, n, NULL);
}

DAT_RETURN dm_tcp_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_WRITE, .flags = flags, .cookie = cookie, .seg = seg};

    return tcp_dto_post_checked(ep, &dto, n, remote);
}

DAT_RETURN dm_tcp_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags)
{
    struct dm_dto dto = {.kind = DM_OP_READ, .flags = flags, .cookie = cookie, .seg = seg};

    return tcp_dto_post_checked(ep, &dto, n, remote);
}
