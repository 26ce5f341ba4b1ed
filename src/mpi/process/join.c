/*
 * MPI_Comm_join: each end opens a port and sends its name over the socket; the end with the lower
 * name goes to the other one's port. Over the socket goes, in both directions:
 *
 *   "DATUMJ1 ", the name of the port, blanks up to JOIN_LEN bytes; then one byte, 'y' or 'n', from
 *   the end that goes: has it met the other one; and one back.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/process/process.h"
#include "mpi/process/state.h"
#include "util/cfg.h"
#include "util/clock.h"

#define JOIN_MAGIC "DATUMJ1 "
#define JOIN_LEN   (sizeof(JOIN_MAGIC) - 1 + MPI_MAX_PORT_NAME)

/* Make progress until the socket is ready. */
static int join_wait(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;

    while ((n = poll(&p, 1, 0)) == 0 || (n < 0 && errno == EINTR))
        dm_chan_progress_wait(dm_world.chan);
    if (n > 0 && (p.revents & POLLNVAL) == 0)
        return DM_OK;
    return DM_FAIL(DM_ERR_ARG, "fd is %d, which cannot be waited for: %s", fd,
                   strerror(n < 0 ? errno : EBADF));
}

static int join_write(int fd, const char *buf, size_t len)
{
    while (len > 0) {
        int err = join_wait(fd, POLLOUT);
        ssize_t n = err == DM_OK ? send(fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

        if (err != DM_OK)
            return err;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return DM_FAIL(DM_ERR_OTHER, "writing to the socket %d: %s", fd, strerror(errno));
        if (n > 0) {
            buf += n;
            len -= (size_t)n;
        }
    }
    return DM_OK;
}

static int join_read(int fd, char *buf, size_t len)
{
    while (len > 0) {
        int err = join_wait(fd, POLLIN);
        ssize_t n = err == DM_OK ? recv(fd, buf, len, MSG_DONTWAIT) : 0;

        if (err != DM_OK)
            return err;
        if (n == 0)
            return DM_FAIL(DM_ERR_OTHER, "the other end has closed the socket %d", fd);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return DM_FAIL(DM_ERR_OTHER, "reading from the socket %d: %s", fd, strerror(errno));
        if (n > 0) {
            buf += n;
            len -= (size_t)n;
        }
    }
    return DM_OK;
}

static int join_check_socket(int fd)
{
    struct stat st;
    int type = 0;
    socklen_t len = sizeof(type);

    if (fstat(fd, &st) != 0)
        return DM_FAIL(DM_ERR_ARG, "fd is %d: %s", fd, strerror(errno));
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM)
        return DM_FAIL(DM_ERR_ARG, "fd is %d, which is no stream socket", fd);
    return DM_OK;
}

/* The port of the other end. */
static int join_swap_ports(int fd, const char *mine, char theirs[MPI_MAX_PORT_NAME])
{
    char buf[JOIN_LEN + 1];
    int err;

    snprintf(buf, sizeof(buf), JOIN_MAGIC "%-*s", MPI_MAX_PORT_NAME, mine);
    err = join_write(fd, buf, JOIN_LEN);
    if (err == DM_OK)
        err = join_read(fd, buf, JOIN_LEN);
    if (err != DM_OK)
        return err;
    buf[JOIN_LEN] = '\0';
    if (strncmp(buf, JOIN_MAGIC, strlen(JOIN_MAGIC)) != 0)
        return DM_FAIL(DM_ERR_OTHER,
                       "the other end of socket %d is not in MPI_Comm_join of this library", fd);
    snprintf(theirs, MPI_MAX_PORT_NAME, "%.*s", (int)strcspn(buf + strlen(JOIN_MAGIC), " "),
             buf + strlen(JOIN_MAGIC));
    return DM_OK;
}

/* The one that waits learns by the socket that the other one cannot come. */
static bool join_has_word(void *arg)
{
    struct pollfd p = {.fd = *(int *)arg, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

/* DM_EAGAIN: they cannot reach each other. */
static int join_connect(int fd, const char *mine, const char *theirs, struct dm_bridge *bridge_p)
{
    struct dm_handshake_wait wait = {.until = dm_clock_after(dm_cfg()->timeout)};
    bool goes = strcmp(mine, theirs) < 0;
    char met = 'n', said = 'n';
    int err;

    if (goes) {
        err = dm_handshake_connect(theirs, &wait, bridge_p);
        met = err == DM_OK ? 'y' : 'n';
        err = join_write(fd, &met, 1);
        if (err == DM_OK)
            err = join_read(fd, &said, 1);
    } else {
        wait =
            (struct dm_handshake_wait){.until = UINT64_MAX, .is_over = join_has_word, .arg = &fd};
        met = dm_handshake_accept(mine, &wait, bridge_p) == DM_OK ? 'y' : 'n';
        err = join_read(fd, &said, 1);
        if (err == DM_OK)
            err = join_write(fd, &met, 1);
    }
    if (err == DM_OK && (met != 'y' || said != 'y'))
        err = DM_EAGAIN;
    if (err != DM_OK && bridge_p->comm != NULL)
        dm_handshake_part(bridge_p);
    return err;
}

int dm_comm_join(int fd, struct dm_comm **comm_p)
{
    struct dm_bridge bridge = {0};
    char mine[MPI_MAX_PORT_NAME], theirs[MPI_MAX_PORT_NAME];
    int err = join_check_socket(fd);

    *comm_p = NULL;
    if (err == DM_OK)
        err = dm_handshake_open(mine);
    if (err != DM_OK)
        return err;
    err = join_swap_ports(fd, mine, theirs);
    if (err == DM_OK && strcmp(mine, theirs) == 0)
        err = DM_FAIL(DM_ERR_ARG, "both ends of socket %d are this call's own", fd);
    if (err == DM_OK)
        err = join_connect(fd, mine, theirs, &bridge);
    (void)dm_handshake_close(mine);
    if (err == DM_EAGAIN) /* the standard: no error, if the socket is left as it was */
        return DM_OK;
    return err == DM_OK ? dm_process_join_groups(dm_world.comm_self, 0, DM_OK, &bridge, comm_p)
                        : err;
}
