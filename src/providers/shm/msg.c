/*
 * Sending and receiving of messages with an optional descriptor.
 */
#include "providers/shm/msg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <fcntl.h>

struct dm_shm_out {
    struct dm_list link;
    int fd;
    size_t len;
    struct dm_shm_msg msg;
};

static size_t msg_len(const struct dm_shm_msg *msg)
{
    return offsetof(struct dm_shm_msg, data) + msg->data_len;
}

/* 1 sent, 0 no space, -1 the peer is gone. */
static int send_now(int sock, const struct dm_shm_msg *msg, size_t len, int fd)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)msg, .iov_len = len};
    struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (fd >= 0) {
        struct cmsghdr *cmsg;

        memset(&control, 0, sizeof(control));
        hdr.msg_control = control.buf;
        hdr.msg_controllen = sizeof(control.buf);
        cmsg = CMSG_FIRSTHDR(&hdr);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
    }
    do
        n = sendmsg(sock, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return 1;
    return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

static void want_space(struct dm_shm_conn *conn, bool has_out)
{
    if (conn->has_out == has_out)
        return;
    conn->has_out = has_out;
    dm_shm_src_poll(conn->ia, &conn->src, EPOLLIN | (has_out ? EPOLLOUT : 0));
}

/* Better no connection than a hanging one: the peer is reported by the socket. */
static void give_up(struct dm_shm_conn *conn)
{
    (void)shutdown(conn->src.fd, SHUT_RDWR);
}

void dm_shm_msg_send(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    struct dm_shm_out *out;
    size_t len = msg_len(msg);

    if (conn->src.is_dead || conn->is_peer_gone)
        return;
    if (dm_list_is_empty(&conn->out) && send_now(conn->src.fd, msg, len, fd) != 0)
        return;
    out = conn->n_out < DM_MSG_QUEUE_MAX ? malloc(offsetof(struct dm_shm_out, msg) + len) : NULL;
    if (out == NULL) {
        give_up(conn);
        return;
    }
    memcpy(&out->msg, msg, len);
    out->len = len;
    out->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    dm_list_add_tail(&conn->out, &out->link);
    conn->n_out++;
    want_space(conn, true);
}

void dm_shm_msg_simple(struct dm_shm_conn *conn, enum dm_shm_msg_type type)
{
    struct dm_shm_msg msg = {.type = type};

    dm_shm_msg_send(conn, &msg, -1);
}

static void out_free(struct dm_shm_conn *conn, struct dm_shm_out *out)
{
    dm_list_del(&out->link);
    conn->n_out--;
    if (out->fd >= 0)
        close(out->fd);
    free(out);
}

void dm_shm_msg_flush(struct dm_shm_conn *conn)
{
    while (!dm_list_is_empty(&conn->out)) {
        struct dm_shm_out *out = dm_container_of(conn->out.next, struct dm_shm_out, link);

        if (send_now(conn->src.fd, &out->msg, out->len, out->fd) == 0)
            return;
        out_free(conn, out);
    }
    want_space(conn, false);
}

void dm_shm_msg_drop_queue(struct dm_shm_conn *conn)
{
    while (!dm_list_is_empty(&conn->out))
        out_free(conn, dm_container_of(conn->out.next, struct dm_shm_out, link));
}

/* The first descriptor that came with a message, -1 if none did. All others
 * are closed: our messages have one at most. */
static int take_fd(struct msghdr *hdr)
{
    int kept = -1;

    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(hdr); cmsg != NULL; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
        size_t n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
            if (kept < 0)
                kept = fd;
            else
                close(fd);
        }
    }
    return kept;
}

int dm_shm_msg_recv(int sock, struct dm_shm_msg *msg, int *fd_p)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(4 * sizeof(int))]; /* the kernel drops what has no space */
    } control;
    struct iovec iov = {.iov_base = msg, .iov_len = sizeof(*msg)};
    struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf};
    int is_reset = 0;
    ssize_t n;

    *fd_p = -1;
    /* A peer that closed before it had read everything leaves an error, which
     * is reported (once) ahead of what it had sent before. */
    do {
        hdr.msg_controllen = sizeof(control.buf);
        n = recvmsg(sock, &hdr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !is_reset++)));
    if (n < 0)
        return errno == EAGAIN ? 0 : -1;
    *fd_p = take_fd(&hdr);
    if ((size_t)n < offsetof(struct dm_shm_msg, data) || (size_t)n != msg_len(msg) ||
        (hdr.msg_flags & MSG_TRUNC) != 0) { /* closed, or not one of ours */
        if (*fd_p >= 0)
            close(*fd_p);
        *fd_p = -1;
        return -1;
    }
    if (*fd_p < 0 && (hdr.msg_flags & MSG_CTRUNC) != 0)
        *fd_p = DM_MSG_FD_LOST;
    return 1;
}
