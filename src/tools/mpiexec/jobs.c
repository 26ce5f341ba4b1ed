/*
 * Jobs, and which end with which. A rank keeps a list of the jobs that it has spoken of: what it
 * says of itself is all that is known, and is forgotten when it ends in order.
 */
#include "tools/mpiexec/jobs.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/mpiexec/spawned.h"

static void jobs_forget(struct dm_launch_jobs *jobs, const struct dm_launch_node *gone);

void dm_launch_jobs_init(struct dm_launch_jobs *jobs, struct dm_launch_node *first,
                         void (*ended)(void *arg), void *arg)
{
    jobs->loop = first->loop;
    jobs->first = first;
    jobs->n_made = 1;
    jobs->ended = ended;
    jobs->arg = arg;
    first->kin = (struct dm_launch_kin){.jobs = jobs, .report_fd = -1};
}

void dm_launch_jobs_add(struct dm_launch_jobs *jobs, struct dm_launch_node *node)
{
    node->kin.jobs = jobs;
    node->kin.serial = jobs->n_made++;
    node->kin.next = jobs->first->kin.next;
    jobs->first->kin.next = node;
}

/* ---- ending ---- */

static struct dm_launch_rank *jobs_rank_of(const struct dm_launch_jobs *jobs, pid_t pid)
{
    struct dm_launch_rank *rank = NULL;

    for (struct dm_launch_node *node = jobs->first; node != NULL && rank == NULL;
         node = node->kin.next)
        rank = dm_launch_node_rank_of(node, pid);
    return rank;
}

static void jobs_check(const struct dm_launch_jobs *jobs)
{
    for (struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next)
        dm_launch_node_check(node);
}

void dm_launch_jobs_reap(struct dm_launch_jobs *jobs)
{
    enum { AT_ONCE = 64 };
    struct dm_launch_rank *ended[AT_ONCE];
    int status, n = 0;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct dm_launch_rank *rank = jobs_rank_of(jobs, pid);

        if (rank == NULL) {
            dm_launch_spawned_note_end(jobs, pid, status);
            continue;
        }
        dm_launch_node_note_end(rank, status);
        ended[n++] = rank;
        if (n == AT_ONCE) {
            dm_launch_node_judge(ended, n);
            n = 0;
        }
    }
    dm_launch_node_judge(ended, n);
    jobs_check(jobs);
}

void dm_launch_jobs_signal(struct dm_launch_jobs *jobs, int signo)
{
    for (struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next)
        if (!node->kin.is_over)
            dm_launch_node_signal(node, signo);
}

void dm_launch_jobs_end(struct dm_launch_jobs *jobs, int signo)
{
    jobs->is_ending = true;
    for (struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next)
        node->is_ending = true;
    /* All at once: those that still ran would miss those that have ended, and say so. */
    dm_launch_jobs_signal(jobs, SIGSTOP);
    dm_launch_jobs_signal(jobs, signo);
    dm_launch_jobs_signal(jobs, SIGCONT);
}

void dm_launch_jobs_kill(struct dm_launch_jobs *jobs)
{
    jobs->is_ending = true;
    for (struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next)
        if (!node->kin.is_over)
            dm_launch_node_kill(node);
}

int dm_launch_jobs_status(const struct dm_launch_jobs *jobs)
{
    const struct dm_launch_node *first = jobs->first;

    for (const struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next)
        if (node->status != 0 && (first->status == 0 || node->status_ms < first->status_ms))
            first = node;
    return first->status;
}

/* What is over goes when no event can name it any more, its exit status to the first job. */
static void on_free_due(void *arg)
{
    struct dm_launch_jobs *jobs = arg;
    struct dm_launch_node **at = &jobs->first->kin.next;

    while (*at != NULL) {
        struct dm_launch_node *node = *at;

        if (!node->kin.is_over) {
            at = &node->kin.next;
            continue;
        }
        if (node->status != 0 &&
            (jobs->first->status == 0 || node->status_ms < jobs->first->status_ms)) {
            jobs->first->status = node->status;
            jobs->first->status_ms = node->status_ms;
        }
        *at = node->kin.next;
        jobs_forget(jobs, node);
        for (struct dm_launch_node *one = jobs->first; one != NULL; one = one->kin.next)
            if (one->kin.asker != NULL && one->kin.asker->node == node)
                one->kin.asker = NULL;
        dm_launch_spawned_free(node);
    }
}

void dm_launch_jobs_over(struct dm_launch_node *node)
{
    struct dm_launch_jobs *jobs = node->kin.jobs;

    node->kin.is_over = true;
    dm_launch_names_drop(&jobs->names, node->kin.serial);
    dm_launch_loop_after(jobs->loop, &jobs->free_due, 0, on_free_due, jobs);
    if (dm_launch_jobs_is_last(node))
        jobs->ended(jobs->arg);
}

bool dm_launch_jobs_is_last(const struct dm_launch_node *node)
{
    for (const struct dm_launch_node *one = node->kin.jobs->first; one != NULL; one = one->kin.next)
        if (one != node && !one->kin.is_over)
            return false;
    return true;
}

void dm_launch_jobs_fini(struct dm_launch_jobs *jobs)
{
    for (struct dm_launch_node *node = jobs->first->kin.next; node != NULL;) {
        struct dm_launch_node *next = node->kin.next;

        node->kin.asker = NULL;
        dm_launch_spawned_free(node);
        node = next;
    }
    dm_launch_names_fini(&jobs->names);
}

/* ---- ties ---- */

static bool tie_is_of(const struct dm_launch_tie *tie, const struct dm_launch_node *node)
{
    return tie->job != 0 ? tie->job == node->kin.id : tie->serial == node->kin.serial;
}

static struct dm_launch_tie *rank_tie(const struct dm_launch_rank *rank, uint64_t job)
{
    for (int i = 0; i < rank->n_ties; i++)
        if (rank->ties[i].job == job)
            return &rank->ties[i];
    return NULL;
}

bool dm_launch_jobs_tie(struct dm_launch_rank *rank, uint64_t job, int serial)
{
    struct dm_launch_tie *tie = job != 0 ? rank_tie(rank, job) : NULL;
    struct dm_launch_tie *new;

    if (tie != NULL) {
        tie->is_on = true;
        return true;
    }
    new = realloc(rank->ties, ((size_t)rank->n_ties + 1) * sizeof(*new));
    if (new == NULL)
        return false;
    rank->ties = new;
    new[rank->n_ties++] = (struct dm_launch_tie){.job = job, .serial = serial, .is_on = true};
    return true;
}

void dm_launch_jobs_untie(struct dm_launch_rank *rank, uint64_t job)
{
    struct dm_launch_tie *tie = rank_tie(rank, job);
    const struct dm_launch_node *node = rank->node->kin.jobs->first;

    if (tie == NULL || job == 0)
        return;
    tie->is_on = false;
    while (node != NULL && (node->kin.id != job || node->kin.is_over))
        node = node->kin.next;
    if (node == NULL) /* one of another mpiexec, or over */
        *tie = rank->ties[--rank->n_ties];
}

/* Nobody speaks of that job any more. */
static void jobs_forget(struct dm_launch_jobs *jobs, const struct dm_launch_node *gone)
{
    for (struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next)
        for (int i = 0; i < node->n_ranks; i++) {
            struct dm_launch_rank *rank = &node->ranks[i];

            for (int k = 0; k < rank->n_ties; k++)
                if (tie_is_of(&rank->ties[k], gone))
                    rank->ties[k--] = rank->ties[--rank->n_ties];
        }
}

/* What the ranks of a job say of another one. */
struct opinion {
    bool is_tied;
    bool is_there; /* one has spoken of it */
};

static struct opinion node_opinion(const struct dm_launch_node *node,
                                   const struct dm_launch_node *other)
{
    struct opinion opinion = {false, false};

    for (int i = 0; i < node->n_ranks; i++)
        for (int k = 0; k < node->ranks[i].n_ties; k++) {
            const struct dm_launch_tie *tie = &node->ranks[i].ties[k];

            opinion.is_there |= tie_is_of(tie, other);
            opinion.is_tied |= tie_is_of(tie, other) && tie->is_on;
        }
    return opinion;
}

void dm_launch_jobs_fail_tied(struct dm_launch_node *node)
{
    struct dm_launch_jobs *jobs = node->kin.jobs;

    for (struct dm_launch_node *one = jobs->first; one != NULL; one = one->kin.next) {
        struct opinion own;

        if (one == node || one->is_ending || one->kin.is_over)
            continue;
        own = node_opinion(one, node);
        if (!own.is_tied && (own.is_there || !node_opinion(node, one).is_tied))
            continue;
        if (one->failed != NULL) { /* ranks of it are on other hosts */
            dm_launch_verdict_status(one, node->status);
            one->failed(one->arg);
        }
        dm_launch_node_kill(one);
        dm_launch_jobs_fail_tied(one);
    }
}
