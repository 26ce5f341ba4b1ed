/*
 * The jobs that this mpiexec, or agent, runs on its host: the first one, and those that processes
 * have spawned. Connected jobs end together when one fails; the others do not care.
 */
#ifndef DM_TOOLS_MPIEXEC_JOBS_H
#define DM_TOOLS_MPIEXEC_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/mpiexec/names.h"
#include "tools/mpiexec/node.h"

struct dm_launch_jobs {
    struct dm_launch_loop *loop;
    struct dm_launch_node *first; /* by next; it stays, the others go when they are over */
    int n_made;
    bool is_ending; /* nothing is spawned any more */
    struct dm_launch_names names;
    struct dm_launch_timer free_due;
    void (*ended)(void *arg); /* all jobs are over */
    void *arg;
};

/* Begin with a job, which is the caller's. */
void dm_launch_jobs_init(struct dm_launch_jobs *jobs, struct dm_launch_node *first,
                         void (*ended)(void *arg), void *arg);
/* Add a job that was spawned; it is freed when it is over, by dm_launch_spawned_free. */
void dm_launch_jobs_add(struct dm_launch_jobs *jobs, struct dm_launch_node *node);
/* Wait for all processes that have ended, and judge. */
void dm_launch_jobs_reap(struct dm_launch_jobs *jobs);
/* The user wants the end: the ranks are sent a signal, and whatever they do is no failure. */
void dm_launch_jobs_end(struct dm_launch_jobs *jobs, int signo);
void dm_launch_jobs_signal(struct dm_launch_jobs *jobs, int signo);
void dm_launch_jobs_kill(struct dm_launch_jobs *jobs);
/* The exit status of the job that has failed first; 0: none has. */
int dm_launch_jobs_status(const struct dm_launch_jobs *jobs);
void dm_launch_jobs_fini(struct dm_launch_jobs *jobs);

/* A job is over. */
void dm_launch_jobs_over(struct dm_launch_node *node);
/* Are all others over? */
bool dm_launch_jobs_is_last(const struct dm_launch_node *node);
/* A job has failed: end those that are connected to it, directly or through others. */
void dm_launch_jobs_fail_tied(struct dm_launch_node *node);

/* The job that calls itself so, NULL: none. */
struct dm_launch_node *dm_launch_jobs_find(struct dm_launch_jobs *jobs, uint64_t id);
/* A rank is connected to a job, or is not any more. False: no memory. */
bool dm_launch_jobs_tie(struct dm_launch_rank *rank, int serial);
void dm_launch_jobs_untie(struct dm_launch_rank *rank, int serial);

#endif
