/*
 * Processes on their way to MPI_Init, and how they ended. Hydra's proxy on this host tells of each as it
 * starts it and when it has waited for it (hydra_session.c).
 */
#include "tools/mpiexec/starts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mpiexec/ranks.h"
#include "util/clock.h"

/* After a death, and while processes are left behind. */
#define DECIDE_NS UINT64_C(300000000)
#define LOOK_NS   UINT64_C(1000000000)

static void unwatch(struct dm_mpiexec_start *start)
{
    if (start->pid_fd >= 0)
        close(start->pid_fd);
    start->pid_fd = -1;
}

static void count_death(struct dm_mpiexec_starts *starts, struct dm_mpiexec_start *start)
{
    start->died_at = dm_clock_ns();
    starts->look_at = start->died_at + DECIDE_NS;
    starts->n_dead++;
}

void dm_mpiexec_starts_add(struct dm_mpiexec_starts *starts, int rank, int pid, uint64_t data)
{
    struct dm_mpiexec_start start = {
        .rank = rank, .pid = pid, .pid_fd = -1, .status = -1, .nth_over = SIZE_MAX};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = data + starts->n_starts};

    if (starts->n_starts == starts->max_starts) {
        size_t max = starts->max_starts > 0 ? 2 * starts->max_starts : 64;
        struct dm_mpiexec_start *new = realloc(starts->starts, max * sizeof(*new));

        if (new == NULL)
            return;
        starts->starts = new;
        starts->max_starts = max;
    }
    if (!starts->is_through)
        start.pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    start.is_dead =
        !starts->is_through && start.pid_fd < 0 && errno == ESRCH; /* and waited for already */
    if (start.is_dead)
        count_death(starts, &start);
    if (start.pid_fd >= 0 && epoll_ctl(starts->poll_fd, EPOLL_CTL_ADD, start.pid_fd, &event) != 0)
        unwatch(&start);
    starts->starts[starts->n_starts++] = start;
}

void dm_mpiexec_starts_up(struct dm_mpiexec_starts *starts, int rank)
{
    for (size_t i = 0; i < starts->n_starts; i++) {
        struct dm_mpiexec_start *start = &starts->starts[i];

        if (start->rank != rank || start->is_up)
            continue;
        unwatch(start);
        start->is_up = true;
        starts->n_dead -= start->is_dead;
    }
    if (starts->n_dead > 0 && starts->look_at == 0 && !starts->is_through)
        starts->look_at = dm_clock_ns() + DECIDE_NS;
}

void dm_mpiexec_starts_died(struct dm_mpiexec_starts *starts, size_t i)
{
    struct dm_mpiexec_start *start = &starts->starts[i];

    if (i >= starts->n_starts || start->pid_fd < 0)
        return;
    if (start->status < 0)
        start->status = dm_mpiexec_wait_status(start->pid, start->pid_fd);
    start->is_dead = true;
    unwatch(start);
    count_death(starts, start);
}

void dm_mpiexec_starts_over(struct dm_mpiexec_starts *starts, int pid, int status)
{
    for (size_t i = 0; i < starts->n_starts; i++)
        if (starts->starts[i].pid == pid) {
            starts->starts[i].status = status;
            starts->starts[i].nth_over = starts->n_over++;
        }
}

int dm_mpiexec_starts_status(const struct dm_mpiexec_starts *starts, int pid)
{
    for (size_t i = 0; i < starts->n_starts; i++)
        if (starts->starts[i].pid == pid)
            return starts->starts[i].status;
    return -1;
}

void dm_mpiexec_starts_through(struct dm_mpiexec_starts *starts)
{
    for (size_t i = 0; i < starts->n_starts; i++)
        unwatch(&starts->starts[i]);
    starts->is_through = true;
    starts->look_at = 0;
}

void dm_mpiexec_starts_clear(struct dm_mpiexec_starts *starts)
{
    for (size_t i = 0; i < starts->n_starts; i++)
        unwatch(&starts->starts[i]);
    free(starts->starts);
    starts->starts = NULL;
    starts->n_starts = starts->max_starts = starts->n_dead = 0;
    starts->look_at = 0;
}

/* Orphans of the job become ours; Hydra is the one child that we have had from the beginning. */
static bool have_orphans(void)
{
    char path[64];
    int n = 0, pid;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    f = fopen(path, "re");
    if (f == NULL)
        return true;
    while (fscanf(f, "%d", &pid) == 1)
        n++;
    fclose(f);
    return n > 1;
}

const struct dm_mpiexec_start *dm_mpiexec_starts_lost(struct dm_mpiexec_starts *starts)
{
    const struct dm_mpiexec_start *lost = NULL;
    uint64_t now = dm_clock_ns();

    if (starts->look_at == 0 || now < starts->look_at)
        return NULL;
    starts->look_at = 0;
    if (starts->n_dead == 0)
        return NULL;
    if (have_orphans()) {
        starts->look_at = now + LOOK_NS;
        return NULL;
    }
    for (size_t i = 0; i < starts->n_starts; i++) {
        const struct dm_mpiexec_start *start = &starts->starts[i];

        if (start->is_dead && !start->is_up && (lost == NULL || start->status > 0))
            lost = start;
        if (lost != NULL && lost->status > 0)
            break;
    }
    return lost;
}

static bool start_is_killed(const struct dm_mpiexec_start *start)
{
    return start->status >= 0 && WIFSIGNALED(start->status) && WTERMSIG(start->status) == SIGKILL;
}

/*
 * Several may have died before we look: Hydra ends the others by SIGKILL, and mostly has waited before for the one that
 * it ends them for.
 */
static bool is_before(const struct dm_mpiexec_start *a, const struct dm_mpiexec_start *b)
{
    if (start_is_killed(a) != start_is_killed(b))
        return start_is_killed(b);
    return a->nth_over != b->nth_over ? a->nth_over < b->nth_over : a->died_at < b->died_at;
}

const struct dm_mpiexec_start *dm_mpiexec_starts_failed(const struct dm_mpiexec_starts *starts)
{
    const struct dm_mpiexec_start *failed = NULL;

    for (size_t i = 0; i < starts->n_starts && !starts->is_through; i++) {
        const struct dm_mpiexec_start *start = &starts->starts[i];

        if (start->is_dead && !start->is_up && start->status != 0 &&
            (failed == NULL || is_before(start, failed)))
            failed = start;
    }
    return failed;
}
