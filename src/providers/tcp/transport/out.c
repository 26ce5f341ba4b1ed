/*
 * Sending. The socket does not block: what it does not take waits in the endpoint's queue, in
 * out.answers and in out.ctrl, and is tried again when there is space.
 *
 * Invariant: between two frames anything may begin: control frames first, then answers and requests
 * in turns, at last the last frame. Within a frame (is_piece, and some of it is sent) nothing does.
 *
 * Bursts: a call of the socket costs more than to copy a short frame. Short frames that others follow
 * are gathered in out.ctrl, and go together; hold.c says which wait for others.
 */
#include "providers/tcp/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/pinned.h"
#include "providers/tcp/rdma.h"
#include "providers/tcp/transport/heads.h"
#include "providers/tcp/transport/hold.h"
#include "providers/tcp/transport/splice.h"
#include "util/port.h"

enum { CTRL_MIN = 1024, CTRL_MAX = 1 << 20 };
/* Frames that are gathered have so many bytes of data, and go when they are so many together. */
enum { GATHER_DATA_MAX = 20480, GATHER_MAX = 65536 };
/* The longest that is copied once more for a simple call. */
enum { JOIN_MAX = 2304 };
/* In the first the queue that brought the message is looked at once more. */
enum { LATE_ROUNDS = 2 };
/* Some microseconds, in which more receives may be posted: while data come from others, too, so many times longer. */
enum { GRANT_ROUNDS = 32, GRANT_BUSY = 16 };

/* ---- frames ---- */

/* What every header says. */
static void out_stamp(struct dm_tcp_conn *conn, struct dm_tcp_head *head)
{
    const struct dm_tcp_ep *ep = dm_tcp_conn_ep(conn);

    head->tag = conn->peer_tag;
    head->n_acked = conn->in.n_done;
    if (ep != NULL && ep->base.srq == NULL)
        conn->base.credits.n_granted = conn->base.credits.n_arrived + ep->base.n_recvs;
    head->n_granted = conn->base.credits.n_granted;
    conn->out.is_ack_due = conn->out.is_grant_due = false;
}

static void out_begin(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;

    out_stamp(conn, &out->head);
    out->is_piece = true;
    out->is_pinned = dm_tcp_splice_fits(&out->head);
    out->kept_head = NULL;
    out->n_head = 0;
    out->left = out->head.len;
}

static void out_begin_answer(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;
    const struct dm_tcp_answer *answer =
        dm_container_of(out->answers.next, struct dm_tcp_answer, link);

    out->head = (struct dm_tcp_head){.type = DM_TCP_READ_DATA, .len = answer->left};
    if (answer->left > DM_TCP_PIECE_MAX) {
        out->head.len = DM_TCP_PIECE_MAX;
        out->head.flags = DM_TCP_MORE;
    }
    out->is_answer = true;
    out_begin(conn);
}

/* The request whose frame is next; NULL: none can go now. */
static struct dm_tcp_op *out_request(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;

    if (conn->base.state != DM_CONN_UP)
        out->op = NULL; /* the rest of it is flushed */
    else if (out->op == NULL)
        out->op = dm_tcp_dto_next(dm_tcp_conn_ep(conn));
    if (out->op != NULL && !dm_tcp_dto_has_recv(dm_tcp_conn_ep(conn), out->op))
        return NULL;
    return out->op;
}

/* Begin a frame. False: there is none. */
static bool out_pick(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;
    bool is_answer = !dm_list_is_empty(&out->answers);

    if (!conn->base.was_up)
        return false; /* greetings are in ctrl */
    if ((!is_answer || out->is_answer) && out_request(conn) != NULL) {
        out->is_answer = false;
        out->is_talking = true;
        dm_tcp_request_head(dm_tcp_conn_ep(conn), out->op, &out->head);
        out_begin(conn);
    } else if (is_answer) {
        out_begin_answer(conn);
    } else if (out->is_last_due) {
        out->is_answer = false;
        out->head = out->last;
        out->is_last_due = false;
        out_begin(conn);
    } else if (out->is_ack_due && out->n_late == 0) {
        out->is_answer = false;
        out->head = (struct dm_tcp_head){.type = DM_TCP_ACK};
        out_begin(conn);
    }
    return out->is_piece;
}

/* n bytes of data have been sent; at the end of the frame: what now? */
static void out_data_moved(struct dm_tcp_conn *conn, uint32_t n)
{
    struct dm_tcp_out *out = &conn->out;
    struct dm_tcp_answer *answer;

    out->left -= n;
    if (out->left == 0 && out->n_head == sizeof(out->head))
        out->is_piece = false;
    if (out->is_answer) {
        answer = dm_container_of(out->answers.next, struct dm_tcp_answer, link);
        answer->from += n;
        answer->left -= n;
        if (answer->left > 0 || out->is_piece)
            return;
        dm_list_del(&answer->link);
        out->n_answers--;
        dm_tcp_pinned_answered(conn, answer);
    } else if (out->op != NULL && out->head.type <= DM_TCP_CMP_SWAP) {
        struct dm_tcp_op *op = out->op;

        if (!dm_tcp_request_moved(op, n, out->left) || out->is_piece)
            return;
        out->op = NULL;
        dm_tcp_dto_sent(dm_tcp_conn_ep(conn), op);
    }
}

/* ---- the socket ---- */

static void out_block(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;

    out->is_blocked = true;
    dm_list_add_tail(&dm_tcp_conn_ia(conn)->blocked, &conn->link_blocked);
    /* Who drives the instance tries again, and arms epoll before it sleeps. Somebody may be asleep
     * already. */
    if (!conn->base.net->is_in_round)
        dm_tcp_conn_arm(conn, true);
}

static bool out_is_ctrl_next(const struct dm_tcp_out *out)
{
    return out->ctrl_at < out->ctrl_len && (!out->is_piece || out->n_head == 0);
}

/* What goes out next; the number of pieces, *len_p bytes. Data that are pinned follow the header. */
static uint32_t out_vec(struct dm_tcp_conn *conn, struct iovec *vec, size_t *len_p)
{
    struct dm_tcp_out *out = &conn->out;
    uint32_t n = 0;

    uint32_t left = out->is_pinned ? 0 : out->left;

    *len_p = left;
    if (dm_unlikely(out_is_ctrl_next(out))) {
        vec[n].iov_base = out->ctrl + out->ctrl_at;
        vec[n].iov_len = out->ctrl_len - out->ctrl_at;
        *len_p += vec[n++].iov_len;
    }
    if (!out->is_piece)
        return n;
    if (out->n_head < sizeof(out->head)) {
        vec[n].iov_base = (char *)&out->head + out->n_head;
        vec[n].iov_len = sizeof(out->head) - out->n_head;
        *len_p += vec[n++].iov_len;
    }
    return left > 0 ? n + dm_tcp_out_data(conn, left, vec + n) : n;
}

/* So many bytes of the frame's header and data have gone. */
static void out_frame_moved(struct dm_tcp_conn *conn, uint32_t n)
{
    struct dm_tcp_out *out = &conn->out;
    uint32_t part = (uint32_t)sizeof(out->head) - out->n_head;

    part = n < part ? n : part;
    out->n_head += part;
    out_data_moved(conn, n - part);
}

/* So many bytes have gone. */
static void out_moved(struct dm_tcp_conn *conn, size_t n)
{
    struct dm_tcp_out *out = &conn->out;
    size_t part;

    if (dm_unlikely(out_is_ctrl_next(out))) {
        part = out->ctrl_len - out->ctrl_at;
        part = n < part ? n : part;
        out->ctrl_at += (uint32_t)part;
        n -= part;
        if (out->ctrl_at == out->ctrl_len)
            out->ctrl_at = out->ctrl_len = 0;
    }
    if (out->is_piece)
        out_frame_moved(conn, (uint32_t)n);
}

/* Send data without a copy, once. False: the socket takes no more. */
static bool out_splice(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;
    uint32_t n = 0;
    enum dm_tcp_spliced how = dm_tcp_splice(conn, &n);
    bool is_full = how == DM_SPLICE_FULL || (out->pipe != NULL && out->pipe->n_inside > 0);

    if (how == DM_SPLICE_BROKEN) {
        conn->is_broken = true;
        return false;
    }
    out->is_pinned = how != DM_SPLICE_COPY;
    if (n > 0) {
        conn->has_pinned = true;
        if (out->is_answer)
            dm_container_of(out->answers.next, struct dm_tcp_answer, link)->is_pinned = true;
        else
            out->op->is_pinned = true;
        out_frame_moved(conn, n);
    }
    if (is_full)
        out_block(conn);
    return !is_full;
}

/* One piece is sent by a cheaper call: short ones are joined first. */
static ssize_t out_call(int sock, struct iovec *vec, uint32_t n_vec, size_t len, int flags)
{
    struct msghdr msg = {.msg_iov = vec, .msg_iovlen = n_vec};
    char joined[JOIN_MAX];
    char *end = joined;

    if (len > JOIN_MAX)
        return sendmsg(sock, &msg, flags);
    for (uint32_t i = 0; i < n_vec; i++) {
        memcpy(end, vec[i].iov_base, vec[i].iov_len);
        end += vec[i].iov_len;
    }
    return send(sock, joined, len, flags);
}

/* Do pages go next? With the header in front if no call is needed for others before it. */
static bool out_is_spliced(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;

    if (!out->is_piece || !out->is_pinned)
        return false;
    if (out->n_head == 0 && out->kept_head == NULL && !out_is_ctrl_next(out))
        out->kept_head = dm_tcp_heads_keep(conn);
    return out->kept_head != NULL || out->n_head == sizeof(out->head);
}

/* Send once. False: the socket takes no more. */
static bool out_send(struct dm_tcp_conn *conn)
{
    struct iovec vec[DM_IOV_MAX + 2];
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    uint32_t n_vec;
    size_t len;
    ssize_t n;

    if (out_is_spliced(conn))
        return out_splice(conn);
    if (conn->out.is_piece && conn->out.is_pinned)
        flags |= MSG_MORE;
    n_vec = out_vec(conn, vec, &len);
    DM_DMA_BEGIN();
    do
        n = out_call(conn->base.sock, vec, n_vec, len, flags);
    while (n < 0 && errno == EINTR);
    DM_DMA_END();
    if (n < 0 && errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM) {
        conn->is_broken = true; /* reading finds out how, after what has come */
        return false;
    }
    if (n > 0)
        out_moved(conn, (size_t)n);
    if (n == (ssize_t)len)
        return true;
    out_block(conn);
    return false;
}

/* Space for so many bytes more in ctrl; false: there is none. */
static bool out_ctrl_reserve(struct dm_tcp_out *out, uint32_t len)
{
    uint32_t need = out->ctrl_len + len;
    uint32_t size = out->ctrl_size == 0 ? CTRL_MIN : out->ctrl_size;
    char *ctrl;

    if (need <= out->ctrl_size)
        return true;
    while (size < need && size <= CTRL_MAX)
        size *= 2;
    ctrl = size <= CTRL_MAX ? realloc(out->ctrl, size) : NULL;
    if (ctrl == NULL)
        return false;
    out->ctrl = ctrl;
    out->ctrl_size = size;
    return true;
}

/* There is space. */
static void out_ctrl_copy(struct dm_tcp_out *out, const void *data, size_t len)
{
    memcpy(out->ctrl + out->ctrl_len, data, len);
    out->ctrl_len += (uint32_t)len;
}

/* Whole frames or greetings, behind those that wait. */
static void out_ctrl_add(struct dm_tcp_conn *conn, const void *data, uint32_t len)
{
    if (out_ctrl_reserve(&conn->out, len))
        out_ctrl_copy(&conn->out, data, len);
    else /* a peer that asks, and does not read the answers */
        dm_net_conn_fail(&conn->base, DAT_CONNECTION_EVENT_BROKEN);
}

/* ---- bursts ---- */

static bool out_can_go(const struct dm_tcp_conn *conn)
{
    return !conn->out.is_pushing && !conn->out.is_blocked && !conn->is_broken &&
           conn->base.sock >= 0 && conn->base.state != DM_CONN_CLOSED &&
           conn->base.state != DM_CONN_CONNECTING;
}

/* Copy the frame that has been begun, if it is a short request and nothing of it has gone. */
static bool out_gather(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;
    struct iovec vec[DM_IOV_MAX];
    uint32_t len = out->left;
    uint32_t n = 0;

    if (out->n_head > 0 || out->is_answer || out->op == NULL || len > GATHER_DATA_MAX ||
        out->ctrl_len + sizeof(out->head) + len > GATHER_MAX ||
        !out_ctrl_reserve(out, (uint32_t)sizeof(out->head) + len))
        return false;
    DM_DMA_BEGIN();
    if (len > 0)
        n = dm_tcp_request_data(out->op, len, vec, DM_IOV_MAX);
    out_ctrl_copy(out, &out->head, sizeof(out->head));
    for (uint32_t i = 0; i < n; i++)
        out_ctrl_copy(out, vec[i].iov_base, vec[i].iov_len);
    DM_DMA_END();
    out->n_head = sizeof(out->head);
    out_data_moved(conn, len);
    return true;
}

static bool out_is_more(const struct dm_tcp_conn *conn)
{
    return conn->base.ep != NULL && !dm_list_is_empty(&conn->base.ep->queue);
}

void dm_tcp_out_push(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;

    if (!out_can_go(conn))
        return;
    out->is_pushing = true;
    while (conn->base.state != DM_CONN_CLOSED) {
        while ((out->is_piece || out_pick(conn)) && out_is_more(conn) && out_gather(conn))
            continue;
        if ((!out->is_piece && out->ctrl_at == out->ctrl_len) || !out_send(conn))
            break;
    }
    out->is_pushing = false;
    dm_tcp_hold_end(conn);
}

void dm_tcp_out_post(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;

    if (!out_can_go(conn))
        return;
    if (!dm_tcp_hold_may(conn) || out->is_piece || !out_pick(conn) || !out_gather(conn))
        dm_tcp_out_push(conn);
    else
        dm_tcp_hold(conn);
}

/* An acknowledgement alone, or credits, wait for so many rounds. */
static void out_delay(struct dm_tcp_conn *conn, uint8_t n_rounds)
{
    if (conn->out.n_late == 0)
        dm_list_add_tail(&dm_tcp_conn_ia(conn)->late, &conn->link_late);
    conn->out.n_late = n_rounds;
}

static void out_delay_end(struct dm_tcp_conn *conn)
{
    if (conn->out.n_late > 0)
        dm_list_del(&conn->link_late);
    conn->out.n_late = 0;
}

void dm_tcp_out_answer(struct dm_tcp_conn *conn)
{
    const struct dm_tcp_ia *ia = dm_tcp_conn_ia(conn);
    struct dm_tcp_out *out = &conn->out;

    /* Credits may have waited, for longer. Without the thread nobody says when the next round is. */
    if (out->is_ack_due && (out->n_late == 0 || out->n_late > LATE_ROUNDS)) {
        if (out->is_talking && ia->net.pia.has_thread)
            out_delay(conn, LATE_ROUNDS);
        else
            out_delay_end(conn);
    }
    out->has_talked = out->is_talking;
    out->is_talking = false;
    dm_tcp_out_push(conn);
}

void dm_tcp_out_grant(struct dm_tcp_conn *conn, bool is_urgent)
{
    struct dm_tcp_out *out = &conn->out;

    if (conn->base.net->is_in_round) { /* at its end */
        out->is_ack_due = true;
    } else if (is_urgent || !dm_tcp_hold_is_safe(conn->base.net)) {
        out->is_ack_due = true;
        out_delay_end(conn);
        dm_tcp_out_push(conn);
    } else {
        if (!out->is_grant_due && !out->is_ack_due)
            out_delay(conn, GRANT_ROUNDS);
        out->is_grant_due = true;
    }
}

void dm_tcp_out_late(struct dm_tcp_conn *conn, bool is_last)
{
    const struct dm_tcp_ia *ia = dm_tcp_conn_ia(conn);
    struct dm_tcp_out *out = &conn->out;

    if (!is_last && !out->is_ack_due && !ia->was_idle && ia->round % GRANT_BUSY != 0)
        return;
    if (!is_last && --out->n_late > 0)
        return;
    dm_list_del(&conn->link_late);
    out->n_late = 0;
    out->is_ack_due |= out->is_grant_due;
    if (out->is_ack_due)
        dm_tcp_out_push(conn);
}

void dm_tcp_out_retry(struct dm_tcp_conn *conn)
{
    if (!conn->out.is_blocked)
        return;
    conn->out.is_blocked = false;
    dm_list_del(&conn->link_blocked);
    dm_tcp_out_push(conn);
    if (!conn->out.is_blocked && conn->out.is_armed)
        dm_tcp_conn_arm(conn, false);
}

/* ---- what is not a request ---- */

void dm_tcp_out_ctrl(struct dm_tcp_conn *conn, const struct dm_tcp_head *head, const void *data)
{
    char frame[sizeof(*head) + DM_TCP_OPERANDS_LEN];
    struct dm_tcp_head stamped = *head;

    out_stamp(conn, &stamped);
    memcpy(frame, &stamped, sizeof(stamped));
    if (head->len > 0)
        memcpy(frame + sizeof(stamped), data, head->len);
    out_ctrl_add(conn, frame, (uint32_t)sizeof(stamped) + head->len);
    dm_tcp_out_push(conn);
}

void dm_tcp_out_greeting(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting)
{
    out_ctrl_add(conn, greeting,
                 (uint32_t)sizeof(greeting->handshake) + greeting->handshake.data_len);
    dm_tcp_out_push(conn);
}

void dm_tcp_out_drop(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;

    while (!dm_list_is_empty(&out->answers)) {
        struct dm_tcp_answer *answer =
            dm_container_of(out->answers.next, struct dm_tcp_answer, link);

        dm_list_del(&answer->link);
        free(answer);
    }
    if (out->is_blocked)
        dm_list_del(&conn->link_blocked);
    if (out->n_late > 0)
        dm_list_del(&conn->link_late);
    dm_tcp_hold_end(conn);
    dm_tcp_pinned_drop(conn);
    dm_tcp_heads_free(out);
    if (out->pipe != NULL)
        dm_tcp_pipe_put(dm_tcp_conn_ia(conn), out->pipe);
    free(out->ctrl);
    *out = (struct dm_tcp_out){0};
    dm_list_init(&out->answers);
    dm_list_init(&out->pinned);
}
