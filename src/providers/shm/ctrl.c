/*
 * Control messages: sending and receiving them, with an optional descriptor, and what those of an
 * established connection do.
 */
#include "providers/shm/ctrl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/shm/dto.h"
#include "providers/shm/ext.h"
#include "providers/shm/srq.h"
#include "providers/shm/transport/map.h"
#include "providers/shm/transport/stage.h"

struct dm_shm_out {
    struct dm_list link;
    int fd;
    size_t len;
    struct dm_shm_ctrl msg;
};

static size_t ctrl_len(const struct dm_shm_ctrl *msg)
{
    return offsetof(struct dm_shm_ctrl, data) + msg->data_len;
}

/* 1 sent, 0 no space, -1 the peer is gone. */
static int ctrl_sendmsg(int sock, const struct dm_shm_ctrl *msg, size_t len, int fd)
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

static void ctrl_poll_out(struct dm_shm_conn *conn, bool has_out)
{
    if (conn->out.is_polled == has_out)
        return;
    conn->out.is_polled = has_out;
    dm_shm_src_poll(conn->ia, &conn->src, EPOLLIN | (has_out ? EPOLLOUT : 0));
}

/* Better no connection than a hanging one: the peer is reported by the socket. */
static void ctrl_abort(struct dm_shm_conn *conn)
{
    (void)shutdown(conn->src.fd, SHUT_RDWR);
}

void dm_shm_ctrl_send(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    struct dm_shm_out *out;
    size_t len = ctrl_len(msg);

    if (conn->src.is_dead || conn->is_peer_gone)
        return;
    if (dm_list_is_empty(&conn->out.list) && ctrl_sendmsg(conn->src.fd, msg, len, fd) != 0)
        return;
    out = conn->out.n < DM_CTRL_QUEUE_MAX ? malloc(offsetof(struct dm_shm_out, msg) + len) : NULL;
    if (out == NULL) {
        ctrl_abort(conn);
        return;
    }
    memcpy(&out->msg, msg, len);
    out->len = len;
    out->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    dm_list_add_tail(&conn->out.list, &out->link);
    conn->out.n++;
    ctrl_poll_out(conn, true);
}

void dm_shm_ctrl_send_type(struct dm_shm_conn *conn, enum dm_shm_ctrl_type type)
{
    struct dm_shm_ctrl msg = {.type = type};

    dm_shm_ctrl_send(conn, &msg, -1);
}

static void ctrl_out_free(struct dm_shm_conn *conn, struct dm_shm_out *out)
{
    dm_list_del(&out->link);
    conn->out.n--;
    if (out->fd >= 0)
        close(out->fd);
    free(out);
}

void dm_shm_ctrl_flush(struct dm_shm_conn *conn)
{
    while (!dm_list_is_empty(&conn->out.list)) {
        struct dm_shm_out *out = dm_container_of(conn->out.list.next, struct dm_shm_out, link);

        if (ctrl_sendmsg(conn->src.fd, &out->msg, out->len, out->fd) == 0)
            return;
        ctrl_out_free(conn, out);
    }
    ctrl_poll_out(conn, false);
}

void dm_shm_ctrl_drop(struct dm_shm_conn *conn)
{
    while (!dm_list_is_empty(&conn->out.list))
        ctrl_out_free(conn, dm_container_of(conn->out.list.next, struct dm_shm_out, link));
}

/* The first descriptor that came with a message, -1 if none did. All others
 * are closed: our messages have one at most. */
static int ctrl_take_fd(struct msghdr *hdr)
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

int dm_shm_ctrl_recv(int sock, struct dm_shm_ctrl *msg, int *fd_p)
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
    *fd_p = ctrl_take_fd(&hdr);
    if ((size_t)n < offsetof(struct dm_shm_ctrl, data) || (size_t)n != ctrl_len(msg) ||
        (hdr.msg_flags & MSG_TRUNC) != 0) { /* closed, or not one of ours */
        if (*fd_p >= 0)
            close(*fd_p);
        *fd_p = -1;
        return -1;
    }
    if (*fd_p < 0 && (hdr.msg_flags & MSG_CTRUNC) != 0)
        *fd_p = DM_CTRL_FD_LOST;
    return 1;
}

/* The peer has broken the connection because of an error in our memory. */
static void conn_terminated(struct dm_shm_conn *conn)
{
    struct dm_shm_ep *ep = conn->ep;

    if (ep->srq == NULL) /* else any end of a connection raises it */
        dm_evd_add_async(ep->ep.obj.ia->async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                         DAT_EP_TRANSFER_TO_ERROR);
    dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_CTRL_NONE);
}

/* A message of an established connection. */
void dm_shm_ctrl_arrived(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    struct dm_shm_ep *ep = conn->ep;

    switch (msg->type) {
    case DM_CTRL_DISCONNECT:
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_CTRL_NONE);
        break;
    case DM_CTRL_BROKEN:
        conn_terminated(conn);
        break;
    case DM_CTRL_NOTIFY:
        atomic_store(&conn->ia->has_agents, true);
        dm_shm_marks_check(ep);
        dm_shm_dto_push(ep);
        break;
    case DM_CTRL_MAP:
        dm_shm_map_execute(conn, msg);
        break;
    case DM_CTRL_MAP_FD:
        dm_shm_map_response(conn, msg, fd);
        break;
    case DM_CTRL_UNMAP:
        dm_shm_map_del(conn->peer, msg->serial);
        break;
    case DM_CTRL_STAGE:
        dm_shm_stage_execute(conn, msg);
        break;
    case DM_CTRL_ATOMIC:
        dm_shm_ext_atomic(conn, msg);
        break;
    case DM_CTRL_INVALIDATE:
        dm_shm_ext_invalidate(conn, msg);
        break;
    case DM_CTRL_STAGED:
        dm_shm_stage_response(ep, msg);
        break;
    case DM_CTRL_CONFIRM: /* its event, which may have an agent, was seen before */
        atomic_store(&conn->ia->has_agents, true);
        break;
    case DM_CTRL_CONFIRM_LOST:
        dm_evd_overflow(ep->ep.connect_evd);
        break;
    case DM_CTRL_OVERFLOW:
        if (ep->ep.recv_evd != NULL)
            dm_evd_overflow(ep->ep.recv_evd);
        break;
    default:
        break; /* of a newer peer, or out of turn */
    }
}
