/*
 * The ranks, and who of them died first.
 *
 * Messages of a rank on this host: "up RANK PID N_HOSTS HOST N_RANKS" with its connection to Hydra
 * and a pipe that we close when we have it, "in RANK" when all have come to MPI_Init,
 * "bye RANK" after MPI_Finalize, "lost RANK PEER" when a peer is gone and "end RANK" when it ends the whole job.
 * While we hold that connection, Hydra does not see it close, so a death has no
 * consequences before we have seen whose it was. Hydra's helper here says "helper PID" and "start RANK PID" before
 * all of these and "over PID STATUS" after them.
 *
 * A rank on another host sends the same as lines, with the token behind the first one, over a connection of
 * its own, which ends with it. Hydra kills the others after that: the first connection
 * that ends is of the rank that began.
 *
 * Of those who could not connect we hear nothing; Hydra may end ours because of such a death:
 * then all die at once, and it is Hydra's turn to speak.
 */
#include "tools/mpiexec/ranks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/host.h"
#include "util/log.h"

/* How long Hydra takes to notice a death and to kill the ranks of a host, generously. */
#define DECIDE_NS UINT64_C(300000000)
/* And how long when it is seen to be at it, or the machine is busy. */
#define LAST_WORD_NS UINT64_C(3000000000)
#define LOOK_NS      UINT64_C(50000000)

#define REPORT_INDEX UINT64_MAX
#define REMOTE_INDEX (UINT64_MAX - 1)
#define START_INDEX  (UINT64_C(1) << 32) /* and up: of what has been started */

static void watch_fd(struct dm_mpiexec_ranks *ranks, int fd, uint64_t index)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = index};

    if (epoll_ctl(ranks->poll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        dm_log_warn("mpiexec: epoll: %s; a death may not be reported by rank", strerror(errno));
}

void dm_mpiexec_ranks_init(struct dm_mpiexec_ranks *ranks, int report_fd,
                           const struct dm_mpiexec_remote *remote)
{
    memset(ranks, 0, sizeof(*ranks));
    ranks->status = -1;
    ranks->lost_rank = -1;
    ranks->report_fd = report_fd;
    ranks->remote = *remote;
    ranks->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    ranks->starts.poll_fd = ranks->poll_fd;
    watch_fd(ranks, report_fd, REPORT_INDEX);
    if (remote->fd >= 0)
        watch_fd(ranks, remote->fd, REMOTE_INDEX);
}

int dm_mpiexec_ranks_fd(const struct dm_mpiexec_ranks *ranks)
{
    return ranks->poll_fd;
}

uint64_t dm_mpiexec_ranks_deadline(const struct dm_mpiexec_ranks *ranks)
{
    uint64_t next = ranks->decide_at != 0 ? ranks->decide_at : UINT64_MAX;

    if (ranks->starts.look_at != 0 && ranks->starts.look_at < next)
        next = ranks->starts.look_at;
    return ranks->order_at != 0 && ranks->order_at < next ? ranks->order_at : next;
}

/* Forgets a rank: Hydra may notice its end again. */
static void release(struct dm_mpiexec_rank *rank)
{
    if (rank->pid_fd >= 0)
        close(rank->pid_fd);
    if (rank->pmi_fd >= 0)
        close(rank->pmi_fd);
    if (rank->remote_fd >= 0)
        close(rank->remote_fd);
    free(rank->text);
    rank->text = NULL;
    rank->pid_fd = -1;
    rank->pmi_fd = -1;
    rank->remote_fd = -1;
}

/* Shall we see its end? */
static bool is_watched(const struct dm_mpiexec_rank *rank)
{
    return rank->rank >= 0 && (rank->pid_fd >= 0 || rank->remote_fd >= 0);
}

static void close_remote(struct dm_mpiexec_ranks *ranks)
{
    if (ranks->remote.fd >= 0)
        close(ranks->remote.fd);
    ranks->remote.fd = -1;
}

void dm_mpiexec_ranks_ignore(struct dm_mpiexec_ranks *ranks)
{
    ranks->is_ended = true;
    ranks->decide_at = 0;
    ranks->order_at = 0;
    close_remote(ranks);
    dm_mpiexec_starts_clear(&ranks->starts);
    for (size_t i = 0; i < ranks->n_ranks; i++)
        release(&ranks->ranks[i]);
}

void dm_mpiexec_ranks_fini(struct dm_mpiexec_ranks *ranks)
{
    dm_mpiexec_ranks_ignore(ranks);
    if (ranks->report_fd >= 0)
        close(ranks->report_fd);
    close(ranks->poll_fd);
    free(ranks->ranks);
}

/* ---- news ---- */

static void add_rank(struct dm_mpiexec_ranks *ranks, const struct dm_mpiexec_rank *rank)
{
    if (ranks->n_ranks == ranks->max_ranks) {
        size_t max = ranks->max_ranks > 0 ? 2 * ranks->max_ranks : 64;
        struct dm_mpiexec_rank *new = realloc(ranks->ranks, max * sizeof(*new));

        if (new == NULL) {
            struct dm_mpiexec_rank copy = *rank;

            release(&copy);
            return;
        }
        ranks->ranks = new;
        ranks->max_ranks = max;
    }
    watch_fd(ranks, rank->is_remote ? rank->remote_fd : rank->pid_fd, ranks->n_ranks);
    ranks->ranks[ranks->n_ranks++] = *rank;
}

static void take_up(struct dm_mpiexec_ranks *ranks, const char *text, int pmi_fd)
{
    struct dm_mpiexec_rank rank = {.pmi_fd = pmi_fd, .pid_fd = -1, .remote_fd = -1};
    int n_hosts;

    if (sscanf(text, "up %d %d %d %255s %d", &rank.rank, &rank.pid, &n_hosts, rank.host,
               &ranks->n_all) == 5) {
        ranks->is_alone = n_hosts == 1;
        dm_mpiexec_starts_up(&ranks->starts, rank.rank);
        rank.pid_fd = (int)syscall(SYS_pidfd_open, rank.pid, 0);
    }
    if (rank.pid_fd < 0 || pmi_fd < 0 || ranks->is_ended) {
        /* An old kernel: Hydra watches, as it always did. */
        release(&rank);
        return;
    }
    add_rank(ranks, &rank);
}

static void take_death(struct dm_mpiexec_ranks *ranks, size_t i);

/* A rank of this host that another one has found dead, and ends the job for, before we have. */
static void take_loss(struct dm_mpiexec_ranks *ranks, int num)
{
    for (size_t i = 0; i < ranks->n_ranks && !ranks->is_ended && ranks->is_alone; i++) {
        struct pollfd pfd = {.fd = ranks->ranks[i].pid_fd, .events = POLLIN};

        if (ranks->ranks[i].rank != num || !is_watched(&ranks->ranks[i]) || poll(&pfd, 1, 0) <= 0)
            continue;
        take_death(ranks, i);
        ranks->is_accused = ranks->first == i;
    }
}

static void take_text(struct dm_mpiexec_ranks *ranks, const char *text, int fd)
{
    int num;
    int pid;

    if (strncmp(text, "up ", 3) == 0) {
        take_up(ranks, text, fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (sscanf(text, "start %d %d", &num, &pid) == 2) {
        if (!ranks->is_ended)
            dm_mpiexec_starts_add(&ranks->starts, num, pid, START_INDEX);
    } else if (sscanf(text, "helper %d", &pid) == 1) {
        ranks->helper_pid = pid;
    } else if (sscanf(text, "over %d %d", &pid, &num) == 2) {
        dm_mpiexec_starts_over(&ranks->starts, pid, num);
    } else if (sscanf(text, "in %d", &num) == 1) {
        dm_mpiexec_starts_through(&ranks->starts);
    } else if (sscanf(text, "lost %d %d", &pid, &num) == 2) {
        take_loss(ranks, num);
    } else if (sscanf(text, "bye %d", &num) == 1) {
        for (size_t i = 0; i < ranks->n_ranks; i++)
            if (ranks->ranks[i].rank == num) {
                ranks->ranks[i].has_left = true;
                release(&ranks->ranks[i]);
            }
    } else if (sscanf(text, "end %d", &num) == 1) {
        for (size_t i = 0; i < ranks->n_ranks; i++)
            if (ranks->ranks[i].rank == num)
                ranks->ranks[i].is_excused = true;
        ranks->is_ended = true;
    }
}

/* Receives one message; false when there is none. */
static bool take_news(struct dm_mpiexec_ranks *ranks)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(2 * sizeof(int))];
    } control;
    char text[512];
    struct iovec iov = {.iov_base = text, .iov_len = sizeof(text) - 1};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.buf,
        .msg_controllen = sizeof(control.buf),
    };
    struct cmsghdr *cmsg;
    ssize_t n = recvmsg(ranks->report_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int fds[2] = {-1, -1};

    if (n < 0)
        return errno == EINTR;
    if (n == 0) {
        close(ranks->report_fd);
        ranks->report_fd = -1;
        return false;
    }
    text[n] = '\0';
    cmsg = CMSG_FIRSTHDR(&msg);
    if (cmsg != NULL && cmsg->cmsg_type == SCM_RIGHTS)
        memcpy(fds, CMSG_DATA(cmsg), cmsg->cmsg_len - CMSG_LEN(0));
    take_text(ranks, text, fds[0]);
    /* Tells the rank that it is known. */
    if (fds[1] >= 0)
        close(fds[1]);
    return true;
}

/* ---- ranks on other hosts ---- */

static void take_remote(struct dm_mpiexec_ranks *ranks)
{
    int fd = accept4(ranks->remote.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct dm_mpiexec_rank rank = {
        .rank = -1, .pmi_fd = -1, .pid_fd = -1, .remote_fd = fd, .is_remote = true};

    if (fd >= 0)
        rank.text = calloc(1, DM_MPIEXEC_TEXT_LEN);
    if (fd >= 0 && rank.text != NULL && !ranks->is_ended)
        add_rank(ranks, &rank);
    else if (fd >= 0)
        release(&rank);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        close_remote(ranks); /* the others stay unknown */
}

/* What it says first; false: it is none of ours. */
static bool take_remote_up(struct dm_mpiexec_ranks *ranks, struct dm_mpiexec_rank *rank)
{
    char token[DM_MPIEXEC_TOKEN_LEN] = "";
    int n_hosts;
    int num;

    if (sscanf(rank->text, "up %d %d %d %255s %d %16s", &num, &rank->pid, &n_hosts, rank->host,
               &ranks->n_all, token) != 6 ||
        strcmp(token, ranks->remote.token) != 0)
        return false;
    rank->rank = num;
    dm_mpiexec_starts_up(&ranks->starts, num);
    return true;
}

/* Read what it says, line by line; false: it is gone. */
static bool ranks_read(struct dm_mpiexec_ranks *ranks, size_t i)
{
    struct dm_mpiexec_rank *rank = &ranks->ranks[i];
    size_t have = strlen(rank->text);
    ssize_t n = recv(rank->remote_fd, rank->text + have, DM_MPIEXEC_TEXT_LEN - 1 - have, 0);
    char *end;

    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    rank->text[have + (size_t)n] = '\0';
    while (rank->text != NULL && (end = strchr(rank->text, '\n')) != NULL) {
        *end = '\0';
        if (rank->rank >= 0)
            take_text(ranks, rank->text, -1);
        else if (!take_remote_up(ranks, rank))
            return false;
        if (rank->text != NULL) /* it did not say goodbye */
            memmove(rank->text, end + 1, strlen(end + 1) + 1);
    }
    return true;
}

/* ---- deaths ---- */

int dm_mpiexec_zombie_status(int pid)
{
    char path[64];
    char text[2048];
    const char *pos;
    size_t n;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return -1;
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    /* Field 3 after the name, which may hold anything, is the state; 52 is the status. */
    pos = strrchr(text, ')');
    if (pos == NULL || pos[1] != ' ' || pos[2] != 'Z')
        return -1;
    for (int field = 2; field < 52 && pos != NULL; field++)
        pos = strchr(pos + 1, ' ');
    return pos != NULL ? (int)strtol(pos, NULL, 10) : -1;
}

/* PIDFD_GET_INFO of Linux 6.15, which the headers of most systems do not have yet. */
struct pid_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};

#define PID_INFO_EXIT (UINT64_C(1) << 3)
#define PID_GET_INFO  _IOWR(0xFF, 11, struct pid_info)

int dm_mpiexec_wait_status(int pid, int pid_fd)
{
    struct pid_info info = {.mask = PID_INFO_EXIT};
    int status = dm_mpiexec_zombie_status(pid);

    if (status < 0 && ioctl(pid_fd, PID_GET_INFO, &info) == 0 && (info.mask & PID_INFO_EXIT) != 0)
        status = info.exit_code;
    return status;
}

static int wait_status(const struct dm_mpiexec_ranks *ranks, const struct dm_mpiexec_rank *rank)
{
    int status = rank->is_remote ? -1 : dm_mpiexec_wait_status(rank->pid, rank->pid_fd);

    return status < 0 && !rank->is_remote ? dm_mpiexec_starts_status(&ranks->starts, rank->pid)
                                          : status;
}

/* True when we should have seen any rank of the job die. */
static bool are_all_known(const struct dm_mpiexec_ranks *ranks)
{
    int n = 0;

    for (size_t i = 0; i < ranks->n_ranks; i++)
        n += ranks->ranks[i].rank >= 0;
    return n >= ranks->n_all;
}

/* True when the ranks of this host were ended by something elsewhere. */
static bool is_ended_elsewhere(const struct dm_mpiexec_ranks *ranks)
{
    bool has_stayed = false;

    for (size_t i = 0; i < ranks->n_ranks; i++) {
        if (ranks->ranks[i].is_excused)
            return false;
        has_stayed = has_stayed || !ranks->ranks[i].has_left;
    }
    return has_stayed && !ranks->is_alone;
}

static bool find_guilty(struct dm_mpiexec_ranks *ranks);
static bool has_failed_start(struct dm_mpiexec_ranks *ranks, uint64_t then);

static void report_lost(const struct dm_mpiexec_ranks *ranks)
{
    int status = ranks->status;
    char how[64] = "ended";

    if (status > 0 && WIFSIGNALED(status))
        snprintf(how, sizeof(how), "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (status >= 0)
        snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(status));
    if (ranks->n_ranks == 0) {
        dm_log_error("rank %d on host %s (process %d) %s; the job is ended", ranks->lost_rank,
                     dm_host_name(), ranks->lost_pid, how);
        return;
    }
    dm_log_error("rank %d on host %s (process %d) %s before MPI_Init, where rank %d waits for it: "
                 "all processes of a job must call MPI_Init, or none; the job is ended",
                 ranks->lost_rank, dm_host_name(), ranks->lost_pid, how,
                 ranks->ranks[ranks->first].rank);
}

void dm_mpiexec_ranks_report(struct dm_mpiexec_ranks *ranks, int hydra_status)
{
    const struct dm_mpiexec_rank *rank;
    char cause[128];
    int status;

    /* How those ended that Hydra has waited for. */
    while (ranks->report_fd >= 0 && take_news(ranks))
        ;
    /* Hydra was faster than our limit. */
    if (hydra_status != 0 && !ranks->is_ended)
        dm_mpiexec_ranks_run(ranks);
    if (ranks->decide_at != 0) {
        ranks->decide_at = 1;
        dm_mpiexec_ranks_run(ranks);
        ranks->is_doubtful = ranks->is_doubtful || (!ranks->is_alone && !find_guilty(ranks));
    }
    if (!ranks->is_guilty && !ranks->is_ended && hydra_status != 0)
        has_failed_start(ranks, UINT64_MAX);
    if (!ranks->is_guilty) {
        if (hydra_status != 0 && is_ended_elsewhere(ranks))
            dm_log_info("the job was ended from another host: a process there ended it or died, or "
                        "that host or the connection to it is gone");
        return;
    }
    if (ranks->status < 0 && ranks->lost_rank >= 0)
        ranks->status = dm_mpiexec_starts_status(&ranks->starts, ranks->lost_pid);
    if (ranks->lost_rank >= 0) {
        report_lost(ranks);
        return;
    }
    rank = &ranks->ranks[ranks->first];
    if (ranks->status < 0)
        ranks->status = wait_status(ranks, rank);
    status = ranks->status;
    /* Left to itself, Hydra ends with the number of the signal that killed the rank. */
    if (status < 0 && (ranks->order_at != 0 || rank->is_remote) && hydra_status < NSIG)
        status = hydra_status;
    if (status > 0 && WIFSIGNALED(status))
        snprintf(cause, sizeof(cause), "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (status >= 0)
        snprintf(cause, sizeof(cause), "ended with status %d without MPI_Finalize",
                 WEXITSTATUS(status));
    else
        snprintf(cause, sizeof(cause), "ended without MPI_Finalize");
    /* Not an error of this rank, perhaps: the one that it was speaks for itself. */
    if (ranks->is_doubtful)
        dm_log_info(
            "rank %d on host %s (process %d) %s, perhaps after one on another host; the job "
            "is ended",
            rank->rank, rank->host, rank->pid, cause);
    else
        dm_log_error("rank %d on host %s (process %d) %s; the job is ended", rank->rank, rank->host,
                     rank->pid, cause);
}

int dm_mpiexec_ranks_status(const struct dm_mpiexec_ranks *ranks, int hydra_status)
{
    int status = ranks->status;

    if (!ranks->is_guilty || (ranks->is_doubtful && hydra_status != 0))
        return hydra_status;
    if (status > 0)
        return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return hydra_status != 0 ? hydra_status : 1;
}

/* In the name of the dead rank; the job's exit status is what the rank's was. */
static void order_end(struct dm_mpiexec_ranks *ranks)
{
    const struct dm_mpiexec_rank *rank = &ranks->ranks[ranks->first];
    char text[64];
    int len;

    ranks->order_at = 0;
    len =
        snprintf(text, sizeof(text), "cmd=abort exitcode=%d\n", dm_mpiexec_ranks_status(ranks, 1));
    /* When that fails, Hydra has noticed by itself. */
    send(rank->pmi_fd, text, (size_t)len, MSG_NOSIGNAL);
}

static void take_death(struct dm_mpiexec_ranks *ranks, size_t i)
{
    struct dm_mpiexec_rank *rank = &ranks->ranks[i];

    if (rank->is_dead || (rank->is_remote ? rank->remote_fd : rank->pid_fd) < 0)
        return;
    if (rank->is_remote && ranks_read(ranks, i))
        return;
    if (!is_watched(rank)) { /* an unknown process */
        release(rank);
        return;
    }
    rank->is_dead = true;
    epoll_ctl(ranks->poll_fd, EPOLL_CTL_DEL, rank->is_remote ? rank->remote_fd : rank->pid_fd,
              NULL);
    if (ranks->decide_at == 0 && !ranks->is_ended) {
        ranks->first = i;
        ranks->died_at = dm_clock_ns();
        ranks->decide_at = ranks->died_at + (ranks->is_alone ? 0 : DECIDE_NS);
    }
}

/* True when every rank of this host that had not said goodbye is dead. */
static bool are_all_dead(const struct dm_mpiexec_ranks *ranks)
{
    for (size_t i = 0; i < ranks->n_ranks; i++)
        if (is_watched(&ranks->ranks[i]) && !ranks->ranks[i].is_dead)
            return false;
    return true;
}

static bool rank_is_killed(int status)
{
    return status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/*
 * Finds who died of something that is not Hydra's doing, the first by preference;
 * false when nobody did for sure.
 */
static bool find_guilty(struct dm_mpiexec_ranks *ranks)
{
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        size_t at = (ranks->first + i) % ranks->n_ranks;
        const struct dm_mpiexec_rank *rank = &ranks->ranks[at];
        int status;

        if (!rank->is_dead || !is_watched(rank) || rank->is_excused)
            continue;
        if (rank->is_remote && i == 0) /* before Hydra has killed anybody */
            return true;
        status = wait_status(ranks, rank);
        if (status >= 0 && !rank_is_killed(status)) {
            ranks->first = at;
            return true;
        }
    }
    return false;
}

/* May it be that Hydra is killing the ranks of this host, and has not come to all yet? */
static bool is_unsettled(struct dm_mpiexec_ranks *ranks, uint64_t now)
{
    int status;

    if (ranks->is_alone || now >= ranks->died_at + LAST_WORD_NS || are_all_dead(ranks) ||
        find_guilty(ranks))
        return false;
    status = wait_status(ranks, &ranks->ranks[ranks->first]);
    return status < 0 || rank_is_killed(status);
}

/* One that was to come to MPI_Init, where this rank waits for it, has ended the job. */
static void accuse_start(struct dm_mpiexec_ranks *ranks, const struct dm_mpiexec_start *lost,
                         size_t first)
{
    ranks->first = first;
    ranks->is_guilty = true;
    ranks->is_ended = true;
    ranks->status = lost->status;
    ranks->lost_rank = lost->rank;
    ranks->lost_pid = lost->pid;
}

/*
 * Hydra itself ends the job when a signal has killed one on its way to MPI_Init: did it, and before then if it may be
 * Hydra's signal?
 */
static bool has_failed_start(struct dm_mpiexec_ranks *ranks, uint64_t then)
{
    const struct dm_mpiexec_start *failed = dm_mpiexec_starts_failed(&ranks->starts);

    if (failed == NULL || (rank_is_killed(failed->status) &&
                           (failed->died_at > then || (!ranks->is_alone && ranks->n_all > 0))))
        return false;
    /* Without any rank it may be a job without MPI, where a status is all right. */
    if (ranks->n_ranks == 0 && (failed->status < 0 || !WIFSIGNALED(failed->status)))
        return false;
    accuse_start(ranks, failed, ranks->first);
    return true;
}

/*
 * Who has killed whom? Hydra itself acts on a rank that a signal killed, and has
 * the right exit status then. It does not act on other ends while we hold on to
 * the connection: those are ours to act on.
 */
static bool decide(struct dm_mpiexec_ranks *ranks)
{
    bool is_sure = find_guilty(ranks);
    struct dm_mpiexec_rank *rank = &ranks->ranks[ranks->first];

    ranks->decide_at = 0;
    if (!is_sure && !ranks->is_ended && has_failed_start(ranks, ranks->died_at))
        return true;
    /* It said goodbye just before, or another rank ended the job and says why. */
    if (!is_watched(rank) || rank->is_excused ||
        (ranks->is_ended && !ranks->is_accused && (!is_sure || rank->is_remote)))
        return false;
    /* All are dead: by Hydra, which may have begun with this one, or with one elsewhere. */
    ranks->is_doubtful = rank->is_remote ? !are_all_known(ranks)
                                         : !ranks->is_alone && are_all_dead(ranks) && !is_sure;
    ranks->is_guilty = true;
    ranks->status = wait_status(ranks, rank);
    if (rank->is_remote) { /* Hydra sees it by itself */
        ranks->is_ended = true;
        return true;
    }
    if (!ranks->is_ended)
        ranks->order_at = dm_clock_ns();
    if (!ranks->is_ended && (ranks->status < 0 || WIFSIGNALED(ranks->status)))
        ranks->order_at += DECIDE_NS;
    ranks->is_ended = true;
    return true;
}

/*
 * Has one ended that others wait for in MPI_Init? That ends the job in the name of one of those, by whose connection
 * Hydra can be told.
 */
static bool judge_starts(struct dm_mpiexec_ranks *ranks)
{
    const struct dm_mpiexec_start *lost = dm_mpiexec_starts_lost(&ranks->starts);
    size_t first = ranks->n_ranks;

    for (size_t i = 0; lost != NULL && i < ranks->n_ranks; i++) {
        const struct dm_mpiexec_rank *rank = &ranks->ranks[i];

        if (is_watched(rank) && !rank->is_dead && (first == ranks->n_ranks || !rank->is_remote))
            first = i;
    }
    if (first == ranks->n_ranks || ranks->is_ended || ranks->decide_at != 0)
        return false;
    accuse_start(ranks, lost, first);
    ranks->order_at = dm_clock_ns();
    return true;
}

bool dm_mpiexec_ranks_run(struct dm_mpiexec_ranks *ranks)
{
    struct epoll_event events[64];
    uint64_t now;
    int n = epoll_wait(ranks->poll_fd, events, 64, 0);
    bool has_died = false;

    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == REMOTE_INDEX)
            take_remote(ranks);
        else if (events[i].data.u64 != REPORT_INDEX && events[i].data.u64 >= START_INDEX)
            dm_mpiexec_starts_died(&ranks->starts, (size_t)(events[i].data.u64 - START_INDEX));
        else if (events[i].data.u64 != REPORT_INDEX)
            take_death(ranks, (size_t)events[i].data.u64);
    }
    while (ranks->report_fd >= 0 && take_news(ranks))
        ;
    now = dm_clock_ns();
    if (ranks->decide_at > 1 && now >= ranks->decide_at && is_unsettled(ranks, now))
        ranks->decide_at = now + LOOK_NS;
    else if (ranks->decide_at != 0 && now >= ranks->decide_at)
        has_died = decide(ranks);
    if (judge_starts(ranks))
        has_died = true;
    if (ranks->order_at != 0 && dm_clock_ns() >= ranks->order_at)
        order_end(ranks);
    if (ranks->is_ended && !ranks->is_guilty)
        dm_mpiexec_ranks_ignore(ranks);
    return has_died;
}
