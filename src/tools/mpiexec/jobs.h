/*
 * The jobs that this mpiexec, or agent, runs on its host: the first one, and those that processes
 * have spawned. A job that fails ends those of which a rank has said so; the others do not care.
 */
#ifndef DM_TOOLS_MPIEXEC_JOBS_H
#define DM_TOOLS_MPIEXEC_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/mpiexec/name_server.h"
#include "tools/mpiexec/names.h"
#include "tools/mpiexec/node.h"

struct dm_launch_jobs {
    struct dm_launch_loop *loop;
    struct dm_launch_node *first; /* by next; it stays, the others go when they are over */
    int n_made;
    bool is_ending; /* nothing is spawned any more */
    struct dm_launch_names names;
    struct dm_launch_server name_server; /* for jobs on other hosts */
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
/*
 * A job has failed: end those that are tied to it, directly or through others; and those that it is
 * tied to which have not said anything of it yet: they wait for it.
 */
void dm_launch_jobs_fail_tied(struct dm_launch_node *node);

/*
 * A rank is to end when a job fails; false: no memory. The job is named by its number; where that is
 * not known (0), by its place in the family, serial, which is -1 otherwise.
 */
bool dm_launch_jobs_tie(struct dm_launch_rank *rank, uint64_t job, int serial);
/* The rank knows the job, and goes on when that fails. */
void dm_launch_jobs_untie(struct dm_launch_rank *rank, uint64_t job);

#endif
