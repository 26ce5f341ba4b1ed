/*
 * Talking to our mpiexec, if that is what started the job: who we are, so that a
 * death can be reported by rank, and when leaving is no death.
 *
 * DATUM_REPORT is "fd:inode" of a socket that mpiexec has left open for the
 * processes on its own host (src/tools/front_ranks.c has the other end). With the
 * first message goes a copy of the connection to Hydra: as long as mpiexec holds
 * it, Hydra does not act on our death, so mpiexec sees who died first.
 */
#include "pmi/pmi_impl.h"

#include <errno.h>
#include <fcntl.h>
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

/* Sends a text, with n_fds descriptors. What gets lost costs a name in a message. */
static bool tell(struct dm_pmi *pmi, const char *text, const int *fds, size_t n_fds)
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
    snprintf(text, sizeof(text), "up %d %d %d %s", pmi->job.rank, (int)pmi->pid, pmi->n_nodes,
             pmi->host);
    if (tell(pmi, text, fds, 2))
        pmi->ack_fd = ack[0];
    else
        close(ack[0]);
    close(ack[1]);
}

void dm_pmi_report_wait(struct dm_pmi *pmi)
{
    struct pollfd pfd = {.fd = pmi->ack_fd, .events = POLLIN};

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
    if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode) || (unsigned long long)st.st_ino != inode)
        return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    pmi->report_fd = fd;
    say_up(pmi);
}

void dm_pmi_report_bye(struct dm_pmi *pmi)
{
    char text[32];

    snprintf(text, sizeof(text), "bye %d", pmi->job.rank);
    tell(pmi, text, NULL, 0);
    if (pmi->report_fd >= 0)
        close(pmi->report_fd);
    pmi->report_fd = -1;
    if (pmi->ack_fd >= 0)
        close(pmi->ack_fd);
    pmi->ack_fd = -1;
}

void dm_pmi_report_end(struct dm_pmi *pmi)
{
    char text[32];

    snprintf(text, sizeof(text), "end %d", pmi->job.rank);
    tell(pmi, text, NULL, 0);
}
