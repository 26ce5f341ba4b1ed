/*
 * Requests: posting, their order, their completion.
 *
 * Invariants: a request is in ep->base.sent from when its first frame is begun (or it has failed before)
 * until everything before it has completed; ep->base.queue holds those behind, which wait for the
 * connection, the socket, a receive of the peer or a read. What a read brings is there before
 * anything behind it begins.
 */
#include "providers/tcp/dto.h"

#include "providers/net/op.h"
#include "providers/net/transport.h"
#include "providers/tcp/stream.h"

/* ---- completing ---- */

static void op_slot_back(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    if (op->has_slot)
        ep->base.n_used--;
    op->has_slot = false;
}

/* Take a request out of its list and complete it. */
static void op_retire(struct dm_tcp_ep *ep, struct dm_tcp_op *op, DAT_DTO_COMPLETION_STATUS status)
{
    dm_list_del(&op->base.link);
    op_slot_back(ep, op);
    dm_net_dto_complete(&ep->base, &op->base.dto, status,
                        status == DAT_DTO_SUCCESS ? op->base.len : 0);
    dm_net_op_free(&dm_tcp_ia_of(ep)->net, &op->base);
}

static bool op_is_answer_due(const struct dm_tcp_op *op)
{
    return (dm_dto_is_read(&op->base.dto) || dm_dto_is_atomic(&op->base.dto)) && !op->is_answered &&
           op->is_sent;
}

/* Complete what is over at the head, up to the first that has failed: behind it everything is
 * flushed when the connection has ended. */
static void tcp_dto_reap(struct dm_tcp_ep *ep)
{
    bool is_any = false;

    while (!dm_list_is_empty(&ep->base.sent)) {
        struct dm_tcp_op *op = dm_container_of(ep->base.sent.next, struct dm_tcp_op, base.link);
        DAT_DTO_COMPLETION_STATUS status = op->base.status;

        if (status == DAT_DTO_SUCCESS &&
            (!op->is_sent || (int32_t)(op->number - ep->n_acked) > 0 || op_is_answer_due(op)))
            break;
        op_retire(ep, op, status);
        is_any = true;
        if (status != DAT_DTO_SUCCESS) {
            ep->base.is_failing = true;
            if (ep->base.conn != NULL)
                dm_net_conn_terminate(ep->base.conn, DAT_CONNECTION_EVENT_BROKEN);
            return;
        }
    }
    if (is_any && dm_unlikely(ep->base.ep.is_draining) && dm_tcp_dto_is_idle(ep))
        dm_net_ep_drained(&ep->base);
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
    if ((op->base.dto.flags & DAT_COMPLETION_SUPPRESS_FLAG) != 0 && !op_is_answer_due(op))
        op_slot_back(ep, op); /* the rest is for errors alone */
}

struct dm_tcp_op *dm_tcp_dto_oldest(struct dm_tcp_ep *ep, bool is_atomic)
{
    dm_list_for_each (it, &ep->base.sent) {
        struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, base.link);

        if (op_is_answer_due(op) && dm_dto_is_atomic(&op->base.dto) == is_atomic)
            return op;
    }
    return NULL;
}

void dm_tcp_dto_answered(struct dm_tcp_ep *ep, struct dm_tcp_op *op,
                         DAT_DTO_COMPLETION_STATUS status)
{
    op->is_answered = true;
    op->base.status = status;
    if (dm_dto_is_atomic(&op->base.dto)) {
        ep->n_atomics--;
    } else {
        ep->n_reads--;
        dm_tcp_ia_of(ep)->is_read_over = true;
        dm_tcp_ia_of(ep)->read_round = dm_tcp_ia_of(ep)->round;
    }
    tcp_dto_reap(ep);
    if (ep->base.conn != NULL)
        dm_tcp_out_push(dm_tcp_ep_conn(ep));
}

/* What was begun behind it has not been carried out. */
void dm_tcp_dto_nak(struct dm_tcp_ep *ep, DAT_DTO_COMPLETION_STATUS status)
{
    bool is_first = true;

    dm_list_for_each (it, &ep->base.sent) {
        struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, base.link);

        if ((int32_t)(op->number - ep->n_acked) <= 0)
            continue;
        op->base.status = is_first ? status : DAT_DTO_ERR_FLUSHED;
        is_first = false;
    }
    ep->base.is_failing = true;
}

bool dm_tcp_dto_is_idle(const struct dm_tcp_ep *ep)
{
    if (!dm_list_is_empty(&ep->base.queue))
        return false;
    dm_list_for_each (it, &ep->base.sent) {
        const struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, base.link);

        if (op->has_slot)
            return false;
    }
    return true;
}

bool dm_tcp_dto_is_using(const struct dm_tcp_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->base.sent) {
        const struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, base.link);

        if (op->base.status == DAT_DTO_SUCCESS && op->n_vec > 0 &&
            ((!op->is_sent && op->base.pos < op->base.len) || op_is_answer_due(op) ||
             op->is_pinned) &&
            dm_net_op_uses(&op->base, key))
            return true;
    }
    return false;
}

bool dm_tcp_dto_is_waiting(const struct dm_tcp_ep *ep, uint32_t key)
{
    dm_list_for_each (it, &ep->base.queue) {
        const struct dm_tcp_op *op = dm_container_of(it, struct dm_tcp_op, base.link);

        if (dm_dto_is_send(&op->base.dto) || op->base.dto.kind == DM_OP_WRITE_IMMED)
            return false;
        if (op->base.dto.kind != DM_OP_BIND && dm_net_op_uses(&op->base, key))
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
    return ep->base.conn != NULL && ep->base.conn->state == DM_CONN_UP && !ep->base.is_failing &&
           (atomic_load_explicit(&ep->base.ep.state, memory_order_relaxed) ==
                DAT_EP_STATE_CONNECTED ||
            ep->base.ep.is_draining);
}

/* Something waits for all before it to be over, which need not have asked for an acknowledgement. */
void dm_tcp_dto_recall(struct dm_tcp_ep *ep)
{
    const struct dm_tcp_head head = {.type = DM_TCP_ACK, .flags = DM_TCP_ACK_ME};

    if (ep->n_quiet == 0 || ep->n_acked == ep->last_number || ep->base.conn == NULL)
        return;
    ep->n_quiet = 0;
    dm_tcp_out_ctrl(dm_tcp_ep_conn(ep), &head, NULL);
}

static bool dto_is_message(const struct dm_dto *dto)
{
    return dm_dto_is_send(dto) || dto->kind == DM_OP_WRITE_IMMED;
}

/* Has the peer a receive for it? One of a shared queue is asked for. */
static bool dto_find_recv(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    struct dm_tcp_head head = {.type = DM_TCP_RECV_ASK};
    struct dm_tcp_conn *conn = dm_tcp_ep_conn(ep);

    if (!conn->base.credits.is_peer_shared)
        return (int32_t)(conn->base.credits.n_peer_recvs - conn->base.credits.n_sent) > 0;
    if (ep->ask == DM_ASK_NONE) {
        head.va = dm_dto_is_send(&op->base.dto) ? dm_net_op_space(&op->base) : 0;
        ep->ask = DM_ASK_SENT;
        dm_tcp_out_ctrl(conn, &head, NULL);
    }
    if (ep->ask == DM_ASK_REFUSED)
        op->base.status = DAT_DTO_ERR_REMOTE_RESPONDER;
    return ep->ask != DM_ASK_SENT;
}

/* The receive that has been found is used. */
static void dto_use_recv(struct dm_tcp_ep *ep)
{
    ep->base.conn->credits.n_sent++;
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
    if (op->base.status == DAT_DTO_SUCCESS)
        return true;
    ep->base.is_failing = true;
    dm_tcp_ep_conn(ep)->out.op = NULL;
    dm_tcp_dto_recall(ep);
    tcp_dto_reap(ep);
    return false;
}

/* Must a message wait for a receive? Of a write with immediate data the peer says first whether it
 * may write. */
static bool dto_must_find_recv(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    const struct dm_tcp_head head = {.type = DM_TCP_CHECK,
                                     .va = op->base.dto.remote.virtual_address,
                                     .key = op->base.dto.remote.rmr_context,
                                     .value = (uint32_t)op->base.len};

    if (dm_likely(!dto_is_message(&op->base.dto)))
        return false;
    if (op->base.dto.kind == DM_OP_WRITE_IMMED && op->base.len > 0 &&
        (ep->base.conn->credits.is_peer_shared || !dto_find_recv(ep, op))) {
        op->is_recv_due = true;
        dm_tcp_out_ctrl(dm_tcp_ep_conn(ep), &head, NULL);
        return false;
    }
    return !dto_find_recv(ep, op);
}

/* Its memory, and what it does in this process alone. False: it has to wait. */
static bool dto_prepare(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    enum dm_net_bound bound;

    if (dm_unlikely(op->base.dto.kind == DM_OP_BIND)) {
        bound = dm_net_rmr_exec(&ep->base.ep, op->base.dto.bind, op->base.dto.seg);
        if (bound == DM_NET_BIND_LATER) {
            dm_net_ep_wait(&ep->base);
            return false;
        }
        if (bound == DM_NET_BIND_FAILED)
            op->base.status = (DAT_DTO_COMPLETION_STATUS)DAT_RMR_OPERATION_FAILED;
        op->is_sent = true;
        return true;
    }
    if (!dm_tcp_op_resolve(ep, op, UINT64_MAX, dm_dto_local_privs[op->base.dto.kind]))
        op->base.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else if (op->base.len > UINT32_MAX)
        op->base.status = DAT_DTO_ERR_LOCAL_LENGTH;
    else if (dto_must_find_recv(ep, op))
        return false;
    return true;
}

static void op_number(struct dm_tcp_ep *ep, struct dm_tcp_op *op)
{
    const struct dm_dto *dto = &op->base.dto;

    if (dto->kind != DM_OP_BIND && op->base.status == DAT_DTO_SUCCESS) {
        ep->last_number++;
        if (dto_is_message(dto) && !op->is_recv_due)
            dto_use_recv(ep);
        if (dm_dto_is_atomic(dto))
            ep->n_atomics++;
        else if (dm_dto_is_read(dto) && op->base.len > 0)
            ep->n_reads++;
        else if (dm_dto_is_read(dto))
            op->is_answered = true; /* there is nothing to bring */
    }
    op->number = ep->last_number;
}

struct dm_tcp_op *dm_tcp_dto_next(struct dm_tcp_ep *ep)
{
    while (!dm_list_is_empty(&ep->base.queue) && tcp_dto_is_open(ep)) {
        struct dm_tcp_op *op = dm_container_of(ep->base.queue.next, struct dm_tcp_op, base.link);

        if (tcp_dto_must_wait(ep, &op->base.dto) || !dto_prepare(ep, op))
            return NULL;
        dm_list_del(&op->base.link);
        dm_list_add_tail(&ep->base.sent, &op->base.link);
        op_number(ep, op);
        if (dm_likely(op->base.dto.kind != DM_OP_BIND && op->base.status == DAT_DTO_SUCCESS))
            return op;
        ep->base.is_failing = op->base.status != DAT_DTO_SUCCESS;
        dm_tcp_dto_recall(ep);
        tcp_dto_reap(ep);
    }
    return NULL;
}

/* The connection is over. Of suppressed requests that are sent nobody can say more. */
void dm_tcp_dto_flush(struct dm_tcp_ep *ep)
{
    struct dm_list *const lists[2] = {&ep->base.sent, &ep->base.queue};

    for (int i = 0; i < 2; i++) {
        while (!dm_list_is_empty(lists[i])) {
            struct dm_tcp_op *op = dm_container_of(lists[i]->next, struct dm_tcp_op, base.link);
            bool is_over = i == 0 && !op->has_slot;

            op_retire(ep, op,
                      op->base.status != DAT_DTO_SUCCESS ? op->base.status
                      : is_over                          ? DAT_DTO_SUCCESS
                                                         : DAT_DTO_ERR_FLUSHED);
        }
    }
    ep->base.n_used = 0;
    ep->n_reads = 0;
    ep->n_atomics = 0;
    ep->n_quiet = 0;
    ep->last_number = 0;
    ep->n_acked = 0;
    ep->base.is_failing = false;
    ep->ask = DM_ASK_NONE;
}

/* ---- posting ---- */

struct dm_net_op *dm_transport_op_new(struct dm_net *net, const struct dm_dto *dto)
{
    struct dm_tcp_op *op = (struct dm_tcp_op *)dm_net_op_new(net, dto);

    if (op == NULL)
        return NULL;
    op->number = 0;
    op->has_slot = false;
    op->is_sent = false;
    op->is_pinned = false;
    op->is_answered = false;
    op->is_recv_due = false;
    op->n_vec = 0;
    op->vec = op->few_vec;
    if (dm_unlikely(op->base.more != NULL))
        op->vec = (struct iovec *)(void *)(op->base.more + dto->n_seg);
    return &op->base;
}

DAT_RETURN dm_transport_post(struct dm_net_ep *ep, const struct dm_dto *dto)
{
    struct dm_net_op *op = dm_transport_op_new(dm_net_of(ep), dto);

    if (op == NULL)
        return DM_DAT_NOMEM;
    ep->n_used++;
    ((struct dm_tcp_op *)op)->has_slot = true;
    dm_list_add_tail(&ep->queue, &op->link);
    dm_tcp_out_post((struct dm_tcp_conn *)ep->conn);
    return DAT_SUCCESS;
}

void dm_tcp_ep_reclaim(struct dm_net_ep *ep)
{
    (void)dm_net_of(ep)->ops->round(dm_net_of(ep), false);
}
