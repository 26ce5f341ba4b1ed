/*
 * Sockets: names, listening, and messages with an optional descriptor.
 */
#include "providers/shm/transport/sock.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "providers/shm/wire.h"

enum { BACKLOG = 4096, MAX_FDS = 4 };

/* A zero, which means the abstract name space, then the text. */
static void sock_name_set(struct dm_shm_name *name, const char *prefix, const uint64_t *values,
                          int n)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = strlen(prefix);
    char *at;

    memset(name, 0, sizeof(*name));
    name->addr.sun_family = AF_UNIX;
    at = name->addr.sun_path + 1;
    memcpy(at, prefix, len);
    at += len;
    for (int i = 0; i < n; i++)
        for (int shift = 60; shift >= 0; shift -= 4)
            *at++ = digits[values[i] >> shift & 15];
    name->len = (socklen_t)(at - (char *)&name->addr);
}

void dm_shm_sock_name(DAT_CONN_QUAL qual, struct dm_shm_name *name)
{
    uint64_t value = qual;

    sock_name_set(name, "datum-shm.", &value, 1);
}

void dm_shm_sock_common_name(const DAT_COMM *comm, uint16_t port, struct dm_shm_name *name)
{
    uint64_t values[3] = {(uint64_t)(uint32_t)comm->domain << 32 | (uint32_t)comm->type,
                          (uint64_t)(uint32_t)comm->protocol, port};

    sock_name_set(name, "datum-csp.", values, 3);
}

void dm_shm_sock_doorbell_name(uint64_t id, struct dm_shm_name *name)
{
    sock_name_set(name, "datum-ctrl.", &id, 1);
}

DAT_RETURN dm_shm_sock_listen(const struct dm_shm_name *name, int *fd_p)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return DM_DAT_NOMEM;
    if (bind(fd, (const struct sockaddr *)&name->addr, name->len) != 0 ||
        listen(fd, BACKLOG) != 0) {
        DAT_RETURN ret = errno == EADDRINUSE ? DM_DAT_BARE(DAT_CONN_QUAL_IN_USE) : DM_DAT_NOMEM;

        close(fd);
        return ret;
    }
    *fd_p = fd;
    return DAT_SUCCESS;
}

int dm_shm_sock_doorbell(const struct dm_shm_name *name)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1;
    int saved;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0 &&
        bind(fd, (const struct sockaddr *)&name->addr, name->len) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

bool dm_shm_sock_is_there(const struct dm_shm_name *name, int type)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_there;

    if (fd < 0)
        return true;
    is_there =
        connect(fd, (const struct sockaddr *)&name->addr, name->len) == 0 || errno != ECONNREFUSED;
    close(fd);
    return is_there;
}

bool dm_shm_sock_is_uid_trusted(uid_t uid, uid_t own)
{
    return uid == own || uid == 0;
}

bool dm_shm_sock_is_trusted(int fd, uid_t own, pid_t *pid_p)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
        return false;
    *pid_p = cred.pid;
    return dm_shm_sock_is_uid_trusted(cred.uid, own);
}

static size_t sock_msg_len(const struct dm_shm_ctrl *msg)
{
    return offsetof(struct dm_shm_ctrl, data) + msg->data_len;
}

int dm_shm_sock_send(int sock, const struct dm_shm_name *to, const struct dm_shm_ctrl *msg, int fd)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)msg, .iov_len = sock_msg_len(msg)};
    struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (to != NULL) {
        hdr.msg_name = (void *)(uintptr_t)&to->addr;
        hdr.msg_namelen = to->len;
    }
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
    return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS ? 0 : -1;
}

/* The first descriptor of a part of the control data; all others are closed: our messages have one
 * at most. */
static void sock_take_fds(const struct cmsghdr *cmsg, int *kept_p)
{
    size_t n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    for (size_t i = 0; i < n; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
        if (*kept_p < 0)
            *kept_p = fd;
        else
            close(fd);
    }
}

/* What came with a message: a descriptor, -1 if none did; and who sent it, if the kernel says so. */
static int sock_take_control(struct msghdr *hdr, struct ucred *from_p)
{
    int kept = -1;

    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(hdr); cmsg != NULL; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
        if (cmsg->cmsg_level != SOL_SOCKET)
            continue;
        if (cmsg->cmsg_type == SCM_RIGHTS)
            sock_take_fds(cmsg, &kept);
        else if (cmsg->cmsg_type == SCM_CREDENTIALS && from_p != NULL)
            memcpy(from_p, CMSG_DATA(cmsg), sizeof(*from_p));
    }
    return kept;
}

int dm_shm_sock_recv(int sock, struct dm_shm_ctrl *msg, int *fd_p, struct ucred *from_p)
{
    union {
        struct cmsghdr align;
        /* The kernel drops what has no space. */
        char buf[CMSG_SPACE(MAX_FDS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
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
    *fd_p = sock_take_control(&hdr, from_p);
    if ((size_t)n < offsetof(struct dm_shm_ctrl, data) || (size_t)n != sock_msg_len(msg) ||
        (hdr.msg_flags & MSG_TRUNC) != 0) { /* closed, or not one of ours */
        if (*fd_p >= 0)
            close(*fd_p);
        *fd_p = -1;
        return -1;
    }
    if (*fd_p < 0 && (hdr.msg_flags & MSG_CTRUNC) != 0)
        *fd_p = DM_SOCK_FD_LOST;
    return 1;
}
