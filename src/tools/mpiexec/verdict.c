/*
 * Who failed, and what that means for the others.
 *
 * The job ends when a rank is killed by a signal; when one leaves between MPI_Init and
 * MPI_Finalize; when one will never come to a barrier in which others are. Any other exit status is
 * that of the job in the end, the first that is not 0.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "tools/mpiexec/foreign.h"
#include "tools/mpiexec/jobs.h"
#include "tools/mpiexec/node.h"
#include "util/log.h"

/* How long a process may live without its connection: its exit status tells more. */
#define CLOSED_NS UINT64_C(300000000)
/* How much later than the ranks an agent may hear of the engine's end of the job. */
#define ENGINE_NS UINT64_C(500000000)

enum { WHO_LEN = 384 };

int dm_launch_verdict_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void dm_launch_verdict_status(struct dm_launch_node *node, int status)
{
    struct timespec now;

    if (node->status != 0 || status == 0)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    node->status = status;
    node->status_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void dm_launch_verdict_fail(struct dm_launch_node *node, int status)
{
    if (node->is_ending)
        return;
    dm_launch_verdict_status(node, status);
    if (node->options->stays)
        return;
    if (node->failed != NULL)
        node->failed(node->arg);
    dm_launch_node_kill(node);
    dm_launch_jobs_fail_tied(node);
}

/* "rank 3 on host a (process 71)", and of which job if not the first. Returns text. */
static const char *who_is(const struct dm_launch_rank *rank, char *text, size_t len)
{
    const struct dm_launch_node *node = rank->node;
    char job[32] = "";

    if (node->kin.is_spawned)
        snprintf(job, sizeof(job), " of spawned job %d", node->kin.serial);
    snprintf(text, len, "rank %d on host %s (process %d)%s", rank->rank, node->host_name,
             (int)rank->was, job);
    return text;
}

static void how_it_ended(const struct dm_launch_rank *rank, char *text, size_t len)
{
    int status = rank->status;

    if (!rank->has_ended)
        snprintf(text, len, "has closed its connection to mpiexec");
    else if (WIFSIGNALED(status))
        snprintf(text, len, "was killed by signal %d (%s)%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)),
                 WTERMSIG(status) == SIGPIPE ? ": nobody reads its output any more" : "");
    else
        snprintf(text, len, "ended with status %d", WEXITSTATUS(status));
}

/* Its status, but 1 where that would be a success. */
static int status_of_lost(const struct dm_launch_rank *rank)
{
    int code = rank->has_ended ? dm_launch_verdict_code(rank->status) : 1;

    return code != 0 ? code : 1;
}

static void lose_rank(struct dm_launch_rank *rank)
{
    const struct dm_launch_node *node = rank->node;
    bool is_killed = rank->has_ended && WIFSIGNALED(rank->status);
    char who[WHO_LEN];
    char how[128];

    how_it_ended(rank, how, sizeof(how));
    dm_log_error("%s %s%s%s", who_is(rank, who, sizeof(who)), how,
                 is_killed ? "" : " without MPI_Finalize",
                 node->options->stays ? "" : "; the job is ended");
    dm_launch_verdict_fail(rank->node, status_of_lost(rank));
}

static void on_closed_long(void *arg)
{
    struct dm_launch_rank *rank = arg;

    if (!rank->has_ended && !rank->node->is_ending)
        lose_rank(rank);
}

/* Srun ends a job by a signal to ranks and agents alike: then it is no rank's failure, and we will
 * have got the signal, too. */
static bool is_by_engine(const struct dm_launch_rank *rank)
{
    int signo = WTERMSIG(rank->status);

    return rank->node->is_agents && (signo == SIGTERM || signo == SIGINT);
}

static void on_undecided_long(void *arg)
{
    struct dm_launch_rank *rank = arg;

    rank->is_undecided = false;
    if (!rank->node->is_ending)
        lose_rank(rank);
    dm_launch_node_check(rank->node);
}

void dm_launch_verdict_look(struct dm_launch_rank *rank)
{
    struct dm_launch_node *node = rank->node;
    int code = rank->has_ended ? dm_launch_verdict_code(rank->status) : 0;

    if (node->is_ending)
        return;
    if (rank->has_ended && WIFSIGNALED(rank->status)) {
        if (is_by_engine(rank)) {
            rank->is_undecided = true;
            dm_launch_loop_after(node->loop, &rank->closed, ENGINE_NS, on_undecided_long, rank);
            return;
        }
        lose_rank(rank);
    } else if (rank->has_spoken && !rank->has_finalized && rank->is_closed) {
        if (rank->has_ended)
            lose_rank(rank);
        else
            dm_launch_loop_after(node->loop, &rank->closed, CLOSED_NS, on_closed_long, rank);
    } else {
        dm_launch_verdict_status(node, code);
        dm_launch_pmi_check_barrier(node);
    }
}

void dm_launch_verdict_abort(struct dm_launch_rank *rank, int code)
{
    dm_launch_verdict_fail(rank->node, code & 0xff);
}

/* ---- those who wait ---- */

struct dm_launch_rank *dm_launch_verdict_missing(const struct dm_launch_node *node)
{
    struct dm_launch_rank *missing = NULL;

    for (int i = 0; i < node->n_ranks; i++) {
        struct dm_launch_rank *rank = &node->ranks[i];
        bool is_gone = rank->has_ended && rank->is_closed && !rank->has_spoken;

        if (is_gone && (missing == NULL || rank->status != 0))
            missing = rank;
        if (rank->has_finalized && missing == NULL)
            missing = rank;
    }
    return missing;
}

void dm_launch_verdict_missed(struct dm_launch_rank *missing, int waiting)
{
    struct dm_launch_node *node = missing->node;
    char who[WHO_LEN];
    char how[128];

    if (node->options->stays)
        return;
    if (missing->has_finalized) {
        dm_log_error("%s has called MPI_Finalize, and rank %d waits for it in a barrier; the job "
                     "is ended",
                     who_is(missing, who, sizeof(who)), waiting);
        dm_launch_verdict_fail(node, 1);
        return;
    }
    how_it_ended(missing, how, sizeof(how));
    dm_log_error("%s %s before MPI_Init, where rank %d waits for it: all processes of a job must "
                 "call MPI_Init, or none; the job is ended",
                 who_is(missing, who, sizeof(who)), how, waiting);
    dm_launch_verdict_fail(node, status_of_lost(missing));
}

void dm_launch_verdict_barrier(struct dm_launch_node *node)
{
    struct dm_launch_rank *missing = dm_launch_verdict_missing(node);

    for (int i = 0; missing != NULL && i < node->n_ranks; i++)
        if (node->ranks[i].is_in_barrier) {
            dm_launch_verdict_missed(missing, node->ranks[i].rank);
            return;
        }
}

void dm_launch_verdict_unheard(const struct dm_launch_node *node)
{
    char name[128];
    const char *program;

    if (node->n_ranks < 2 || node->status != 0)
        return;
    for (int i = 0; i < node->n_ranks; i++)
        if (node->ranks[i].has_spoken)
            return;
    program = node->options->apps[node->ranks[0].app].argv[0];
    if (dm_launch_foreign_library(program, name, sizeof(name)))
        dm_log_warn(
            "mpiexec: %s is linked to %s, which this mpiexec does not start jobs of: its %d "
            "processes ran as %d jobs of one; use the mpiexec of that MPI, or compile it with "
            "Datum's mpicc",
            program, name, node->n_ranks, node->n_ranks);
}
