/*
 * Talking to our mpiexec, if that is what started the job: who we are, so that a
 * death can be reported by rank, and when leaving is no death.
 *
 * DATUM_REPORT is "fd:inode" of a socket that mpiexec has left open for the
 * processes on its own host (src/tools/mpiexec/ranks.c has the other end). With the
 * first message goes a copy of the connection to Hydra: as long as mpiexec holds
 * it, Hydra does not act on our death, so mpiexec sees who died first.
 *
 * Behind it stands ":token:port:address" for those who do not have that socket, on other hosts or started
 * by another program in between. They connect while Hydra is being asked, and have until the first fence for it;
 * the connection ends with them.
 */
#include "pmi/pmi_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cfg.h"
#include "util/log.h"

/* A stopped mpiexec must not stop the job. */
#define ACK_WAIT_MS 1000
/* Where a firewall drops what we send, the job starts without: then a death has no name. */
#define REMOTE_WAIT_MS 300

/* Sends a text, with n_fds descriptors. What gets lost costs a name in a message. */
static bool report_send(struct dm_pmi *pmi, const char *text, const int *fds, size_t n_fds)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = (void *)text, .iov_len = strlen(text)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (pmi->report_fd < 0)
        return false;
    if (n_fds > 0) {
        memset(&control, 0, sizeof(control));
        msg.msg_control = control.buf;
        msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        CMSG_FIRSTHDR(&msg)->cmsg_level = SOL_SOCKET;
        CMSG_FIRSTHDR(&msg)->cmsg_type = SCM_RIGHTS;
        CMSG_FIRSTHDR(&msg)->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), fds, n_fds * sizeof(int));
    }
    do {
        n = sendmsg(pmi->report_fd, &msg, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        DM_TRACE(PMI, "mpiexec not told '%s': %s", text, strerror(errno));
    return n >= 0;
}

/* Says hello with our connection to Hydra and a pipe that mpiexec closes when it has them. */
static void say_up(struct dm_pmi *pmi)
{
    char text[DM_PMI_NAME_MAX + 64];
    int ack[2];
    int fds[2];

    if (pipe2(ack, O_CLOEXEC) != 0)
        return;
    fds[0] = pmi->wire.fd;
    fds[1] = ack[1];
    snprintf(text, sizeof(text), "up %d %d %d %s %d", pmi->job.rank, (int)pmi->pid, pmi->n_nodes,
             pmi->host, pmi->job.size);
    if (report_send(pmi, text, fds, 2))
        pmi->ack_fd = ack[0];
    else
        close(ack[0]);
    close(ack[1]);
}

/* Connect to mpiexec's port; the rest is dm_pmi_report_wait()'s. */
static void dial_remote(struct dm_pmi *pmi, const char *var)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    char name[INET_ADDRSTRLEN];
    unsigned port;
    int fd;

    if (sscanf(var, "%*d:%*u:%16[0-9a-f]:%5u:%15[0-9.]", pmi->remote_token, &port, name) != 3 ||
        inet_pton(AF_INET, name, &addr.sin_addr) != 1)
        return;
    addr.sin_port = htons((uint16_t)port);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    /*
     * The kernel closes what a dying process had from the last descriptor to the first: mpiexec must hear
     * of it before Hydra does, which ends the others.
     */
    pmi->remote_fd = fcntl(fd, F_DUPFD_CLOEXEC, pmi->wire.fd + 1);
    close(fd);
    if (pmi->remote_fd < 0)
        return;
    if (connect(pmi->remote_fd, (const void *)&addr, sizeof(addr)) != 0 && errno != EINPROGRESS) {
        DM_TRACE(PMI, "mpiexec is not at %s: %s", name, strerror(errno));
        close(pmi->remote_fd);
        pmi->remote_fd = -1;
    }
}

/* Say hello when the connection is there; there is none if it fails. */
static void report_remote_up(struct dm_pmi *pmi)
{
    struct pollfd pfd = {.fd = pmi->remote_fd, .events = POLLOUT};
    char text[DM_PMI_NAME_MAX + 96];

    while (poll(&pfd, 1, REMOTE_WAIT_MS) < 0 && errno == EINTR)
        ;
    pmi->report_fd = pmi->remote_fd;
    pmi->remote_fd = -1;
    snprintf(text, sizeof(text), "up %d %d %d %s %d %s\n", pmi->job.rank, (int)pmi->pid,
             pmi->n_nodes, pmi->host, pmi->job.size, pmi->remote_token);
    if (report_send(pmi, text, NULL, 0))
        return;
    close(pmi->report_fd);
    pmi->report_fd = -1;
}

void dm_pmi_report_wait(struct dm_pmi *pmi)
{
    struct pollfd pfd = {.fd = pmi->ack_fd, .events = POLLIN};

    if (pmi->remote_fd >= 0)
        report_remote_up(pmi);
    if (pmi->ack_fd < 0)
        return;
    while (poll(&pfd, 1, ACK_WAIT_MS) < 0 && errno == EINTR)
        ;
    close(pmi->ack_fd);
    pmi->ack_fd = -1;
}

void dm_pmi_report_open(struct dm_pmi *pmi)
{
    const char *var = dm_cfg_env("DATUM_REPORT");
    unsigned long long inode;
    struct stat st;
    int fd;

    if (var == NULL || sscanf(var, "%d:%llu", &fd, &inode) != 2)
        return;
    /* On another host, or behind a program that closed it, the number is not that socket. */
    if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode) || (unsigned long long)st.st_ino != inode) {
        dial_remote(pmi, var);
        return;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    pmi->report_fd = fd;
    say_up(pmi);
}

void dm_pmi_report_in(struct dm_pmi *pmi)
{
    char text[32];

    snprintf(text, sizeof(text), "in %d\n", pmi->job.rank);
    report_send(pmi, text, NULL, 0);
}

void dm_pmi_report_finalized(struct dm_pmi *pmi)
{
    char text[32];

    snprintf(text, sizeof(text), "bye %d\n", pmi->job.rank);
    report_send(pmi, text, NULL, 0);
    if (pmi->report_fd >= 0)
        close(pmi->report_fd);
    pmi->report_fd = -1;
    if (pmi->remote_fd >= 0)
        close(pmi->remote_fd);
    pmi->remote_fd = -1;
    if (pmi->ack_fd >= 0)
        close(pmi->ack_fd);
    pmi->ack_fd = -1;
}

void dm_pmi_report_lost(struct dm_pmi *pmi, int peer)
{
    char text[64];

    snprintf(text, sizeof(text), "lost %d %d\n", pmi->job.rank, peer);
    report_send(pmi, text, NULL, 0);
}

void dm_pmi_report_end(struct dm_pmi *pmi)
{
    char text[32];

    snprintf(text, sizeof(text), "end %d\n", pmi->job.rank);
    report_send(pmi, text, NULL, 0);
}
