#include "providers/tcp/transport/splice.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "providers/tcp/rdma.h"
#include "providers/tcp/stream.h"

/* Shorter data are copied: pages have their price, too. */
enum { SPLICE_MIN = 32768 };
/* Of an instance; others copy meanwhile. */
enum { PIPES_MAX = 8 };
/* The peer copies FILL_MAX bytes while the next are looked up. They need not begin with a page, and a header may
 * be before them; all pipes of a user together have a limit of 64 MiB. */
enum { PIPE_SIZE = 512 << 10, PIPE_SIZE_MIN = 64 << 10, FILL_MAX = 256 << 10 };

/* Messages are copied: their receivers may trust them even if they have been flushed here. */
bool dm_tcp_splice_fits(const struct dm_tcp_head *head)
{
    return head->len >= SPLICE_MIN &&
           (head->type == DM_TCP_WRITE || head->type == DM_TCP_WRITE_IMMED ||
            head->type == DM_TCP_READ_DATA);
}

static void pipe_free(struct dm_tcp_ia *ia, struct dm_tcp_pipe *pipe)
{
    close(pipe->from);
    close(pipe->to);
    free(pipe);
    ia->n_pipes--;
}

static struct dm_tcp_pipe *pipe_new(struct dm_tcp_ia *ia)
{
    struct dm_tcp_pipe *pipe = malloc(sizeof(*pipe));
    int fds[2];
    int size;

    if (pipe == NULL || pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0) {
        free(pipe);
        return NULL;
    }
    (void)fcntl(fds[1], F_SETPIPE_SZ, (int)PIPE_SIZE); /* else it is as long as it is */
    size = fcntl(fds[1], F_GETPIPE_SZ);
    *pipe = (struct dm_tcp_pipe){.from = fds[0], .to = fds[1], .size = (uint32_t)size};
    ia->n_pipes++;
    if (size >= PIPE_SIZE_MIN)
        return pipe;
    pipe_free(ia, pipe);
    return NULL;
}

/* An empty one; NULL: there is none. */
static struct dm_tcp_pipe *pipe_get(struct dm_tcp_ia *ia)
{
    struct dm_tcp_pipe *pipe;

    if (dm_list_is_empty(&ia->pipes)) {
        pipe = ia->n_pipes < PIPES_MAX && !ia->is_splice_off ? pipe_new(ia) : NULL;
        ia->is_splice_off |= pipe == NULL && ia->n_pipes == 0;
        return pipe;
    }
    pipe = dm_container_of(ia->pipes.next, struct dm_tcp_pipe, link);
    dm_list_del(&pipe->link);
    return pipe;
}

void dm_tcp_pipe_put(struct dm_tcp_ia *ia, struct dm_tcp_pipe *pipe)
{
    if (pipe->n_inside > 0)
        pipe_free(ia, pipe);
    else
        dm_list_add_head(&ia->pipes, &pipe->link);
}

void dm_tcp_pipes_close(struct dm_tcp_ia *ia)
{
    dm_list_for_each_safe (it, next, &ia->pipes)
        pipe_free(ia, dm_container_of(it, struct dm_tcp_pipe, link));
    dm_list_init(&ia->pipes);
}

uint32_t dm_tcp_out_data(const struct dm_tcp_conn *conn, uint32_t n, struct iovec *vec)
{
    const struct dm_tcp_out *out = &conn->out;

    if (!out->is_answer)
        return dm_tcp_request_data(out->op, n, vec, DM_IOV_MAX);
    vec->iov_base =
        (char *)(uintptr_t)dm_container_of(out->answers.next, struct dm_tcp_answer, link)->from;
    vec->iov_len = n;
    return 1;
}

/* Put pages of the frame in, as many as there is space for, behind its header if that has not gone. False: not
 * these. */
static bool pipe_fill(struct dm_tcp_pipe *pipe, const struct dm_tcp_conn *conn)
{
    const struct dm_tcp_out *out = &conn->out;
    struct iovec vec[DM_IOV_MAX + 1];
    uint32_t n_vec = 0;
    ssize_t n;

    if (out->n_head == 0) {
        vec[n_vec].iov_base = out->kept_head;
        vec[n_vec++].iov_len = sizeof(out->head);
    }
    n_vec += dm_tcp_out_data(conn, out->left < FILL_MAX ? out->left : FILL_MAX, vec + n_vec);
    do
        n = vmsplice(pipe->to, vec, n_vec, SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    pipe->n_inside = (uint32_t)n;
    return true;
}

/* splice() has no flag against SIGPIPE: one that it has raised is taken back. It may have sent a part
 * before, and say nothing of the error. Where the caller blocks the signal it stays, beside others that may
 * wait. */
static ssize_t pipe_drain(const struct dm_tcp_pipe *pipe, int sock, unsigned int flags)
{
    static const struct timespec now = {0, 0};
    sigset_t pipe_set, old;
    ssize_t n;
    int err;

    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    do
        n = splice(pipe->from, NULL, sock, NULL, pipe->n_inside, flags);
    while (n < 0 && errno == EINTR);
    err = errno;
    if (n != (ssize_t)pipe->n_inside && sigismember(&old, SIGPIPE) == 0)
        (void)sigtimedwait(&pipe_set, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = err;
    return n;
}

/* The frame goes on without it. */
static void splice_end(struct dm_tcp_conn *conn)
{
    dm_tcp_pipe_put(dm_tcp_conn_ia(conn), conn->out.pipe);
    conn->out.pipe = NULL;
}

/* Of header and data. */
static uint32_t splice_left(const struct dm_tcp_out *out)
{
    return out->left + (uint32_t)sizeof(out->head) - out->n_head;
}

enum dm_tcp_spliced dm_tcp_splice(struct dm_tcp_conn *conn, uint32_t *sent_p)
{
    struct dm_tcp_out *out = &conn->out;
    unsigned int flags = SPLICE_F_NONBLOCK;
    ssize_t n;

    if (out->pipe == NULL)
        out->pipe = pipe_get(dm_tcp_conn_ia(conn));
    if (out->pipe == NULL)
        return DM_SPLICE_COPY;
    if (out->pipe->n_inside == 0 && !pipe_fill(out->pipe, conn)) {
        splice_end(conn);
        return DM_SPLICE_COPY;
    }
    if (splice_left(out) > out->pipe->n_inside)
        flags |= SPLICE_F_MORE;
    n = pipe_drain(out->pipe, conn->base.sock, flags);
    if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM))
        return DM_SPLICE_FULL;
    if (n <= 0)
        return DM_SPLICE_BROKEN;
    out->pipe->n_inside -= (uint32_t)n;
    *sent_p = (uint32_t)n;
    if (splice_left(out) == *sent_p)
        splice_end(conn);
    return DM_SPLICED;
}
