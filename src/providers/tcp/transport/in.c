/*
 * Receiving. Data go from the socket to where they belong; the headers between them, and data that
 * come with a header, go to a buffer of the instance first, which is empty again when this returns.
 */
#include "providers/tcp/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/copy.h"
#include "util/port.h"

enum { READS_MAX = 16 };
/* What is read to the buffer at most behind a long frame, where another is expected: little more than
 * its header; where several may have come; and FRAME_SHORT, the longest frames of which copying all
 * costs less than reading them in two parts. */
enum { STAGE_SHORT = 2048, STAGE_STREAM = 8192, FRAME_SHORT = DM_TCP_STAGE_LEN - STAGE_SHORT };

/* The bytes that a read has brought; 0: none now. When there will be none any more, the connection
 * ends. */
static size_t in_result(struct dm_tcp_conn *conn, ssize_t n)
{
    if (n > 0)
        return (size_t)n;
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        dm_tcp_conn_shutdown(conn);
    return 0;
}

/* ---- greetings ---- */

/* Exactly one of them: what follows may be frames. */
static bool in_read_greeting(struct dm_tcp_conn *conn)
{
    struct dm_tcp_in *in = &conn->in;
    struct dm_tcp_greeting *greeting = in->greeting;
    size_t want = sizeof(greeting->handshake);
    bool is_any = false;
    size_t n;

    while (in->phase == DM_IN_HANDSHAKE && conn->base.state != DM_CONN_CLOSED) {
        if (in->n_part >= sizeof(greeting->handshake))
            want = sizeof(greeting->handshake) + greeting->handshake.data_len;
        else
            want = sizeof(greeting->handshake);
        if (in->n_part < want) {
            n = in_result(conn, recv(conn->base.sock, (char *)greeting + in->n_part,
                                     want - in->n_part, MSG_DONTWAIT));
            if (n == 0)
                break;
            is_any = true;
            in->n_part += (uint32_t)n;
        }
        if (in->n_part < want)
            continue;
        if (!dm_tcp_handshake_is_valid(&greeting->handshake)) {
            dm_tcp_conn_shutdown(conn);
            break;
        }
        if (in->n_part < sizeof(greeting->handshake) + greeting->handshake.data_len)
            continue;
        in->n_part = 0;
        dm_tcp_conn_greeted(conn, greeting);
    }
    return is_any;
}

void dm_tcp_in_frames(struct dm_tcp_conn *conn)
{
    conn->in.phase = DM_IN_FRAMES;
    conn->in.n_part = 0;
    free(conn->in.greeting);
    conn->in.greeting = NULL;
}

/* ---- frames ---- */

/* n bytes are in the memory of the frame. */
static void in_advance(struct dm_tcp_in *in, size_t n)
{
    in->left -= n;
    while (n > 0) {
        struct iovec *vec = &in->vec[in->at];
        size_t part = n < vec->iov_len ? n : vec->iov_len;

        vec->iov_base = (char *)vec->iov_base + part;
        vec->iov_len -= part;
        n -= part;
        if (vec->iov_len == 0)
            in->at++;
    }
}

static void in_copy(struct dm_tcp_in *in, const char *from, size_t n)
{
    in->left -= n;
    while (n > 0) {
        struct iovec *vec = &in->vec[in->at];
        size_t part = n < vec->iov_len ? n : vec->iov_len;

        DM_DMA_BEGIN();
        dm_copy(vec->iov_base, from, part);
        DM_DMA_END();
        vec->iov_base = (char *)vec->iov_base + part;
        vec->iov_len -= part;
        from += part;
        n -= part;
        if (vec->iov_len == 0)
            in->at++;
    }
}

static bool in_is_open(const struct dm_tcp_conn *conn)
{
    return conn->base.state != DM_CONN_CLOSED && conn->in.phase == DM_IN_FRAMES;
}

/* What is in the buffer. False: nothing more is to be read. */
static bool in_parse(struct dm_tcp_conn *conn, const char *at, size_t n)
{
    struct dm_tcp_in *in = &conn->in;
    size_t part;

    while (n > 0 && in_is_open(conn)) {
        if (in->left > 0) {
            part = n < in->left ? n : in->left;
            in_copy(in, at, part);
        } else {
            part = sizeof(in->head) - in->n_part;
            part = n < part ? n : part;
            memcpy((char *)&in->head + in->n_part, at, part);
            in->n_part += (uint32_t)part;
            if (in->n_part < sizeof(in->head))
                return true;
            in->n_part = 0;
            if (!dm_tcp_frame_begin(conn))
                return false;
        }
        at += part;
        n -= part;
        if (in->left == 0 && !dm_tcp_frame_end(conn))
            return false;
    }
    return in_is_open(conn);
}

/* Bytes of the buffer to read to. */
static size_t in_stage_len(const struct dm_tcp_conn *conn)
{
    if (conn->in.head.len > FRAME_SHORT)
        return STAGE_SHORT;
    return conn->out.has_talked ? DM_TCP_STAGE_LEN : STAGE_STREAM;
}

/* Read once. False: no more can be there, or may be read. */
static bool in_read_once(struct dm_tcp_conn *conn, bool *is_any_p)
{
    struct dm_tcp_in *in = &conn->in;
    char *stage = dm_tcp_conn_ia(conn)->stage;
    size_t space = in_stage_len(conn);
    size_t want = in->left + space;
    struct iovec vec[DM_IOV_MAX + 2];
    struct msghdr msg = {.msg_iov = vec};
    size_t part;
    size_t n;

    if (in->left == 0) {
        n = in_result(conn, recv(conn->base.sock, stage, space, MSG_DONTWAIT));
    } else {
        msg.msg_iovlen = in->n_vec - in->at;
        memcpy(vec, in->vec + in->at, msg.msg_iovlen * sizeof(*vec));
        vec[msg.msg_iovlen].iov_base = stage;
        vec[msg.msg_iovlen++].iov_len = space;
        DM_DMA_BEGIN();
        n = in_result(conn, recvmsg(conn->base.sock, &msg, MSG_DONTWAIT));
        DM_DMA_END();
    }
    if (n == 0)
        return false;
    *is_any_p = true;
    part = 0;
    if (in->left > 0) {
        part = n < in->left ? n : in->left;
        in_advance(in, part);
        if (in->left == 0 && !dm_tcp_frame_end(conn))
            return false;
    }
    return in_parse(conn, stage, n - part) && n == want;
}

/* Nothing of it matters but its end. */
static bool in_discard(struct dm_tcp_conn *conn)
{
    bool is_any = false;

    while (conn->base.state != DM_CONN_CLOSED &&
           in_result(conn, recv(conn->base.sock, dm_tcp_conn_ia(conn)->sink, DM_TCP_SINK_LEN,
                                MSG_DONTWAIT)) > 0)
        is_any = true;
    return is_any;
}

bool dm_tcp_in_read(struct dm_tcp_conn *conn)
{
    bool is_any = false;

    if (conn->in.phase == DM_IN_HANDSHAKE)
        is_any = in_read_greeting(conn);
    for (int i = 0; i < READS_MAX && in_is_open(conn); i++)
        if (!in_read_once(conn, &is_any))
            break;
    if (conn->in.phase == DM_IN_DISCARD)
        is_any |= in_discard(conn);
    if (is_any)
        dm_tcp_out_answer(conn);
    return is_any;
}
