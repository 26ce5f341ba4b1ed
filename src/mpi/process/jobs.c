/*
 * Which jobs this process is connected with, and is to end with: the launcher is told.
 *
 * From the first reference to a process of a job on it is to end with that job. Once a communicator
 * of both is made, error handlers decide: it is as long as one of them is fatal.
 */
#include <stdlib.h>

#include "mpi/process/state.h"
#include "pmi/pmi_spawn.h"
#include "util/log.h"

struct known_job {
    uint64_t job;
    int64_t n_refs;
    int64_t n_fatal; /* references by communicators whose error handler is fatal */
    bool is_tied;    /* the launcher has been told that this process ends with it */
};

static struct {
    struct known_job *list;
    int n, cap;
} jobs;

static struct known_job *job_find(uint64_t job)
{
    for (int i = 0; i < jobs.n; i++)
        if (jobs.list[i].job == job)
            return &jobs.list[i];
    return NULL;
}

static struct known_job *job_add(uint64_t job)
{
    if (jobs.n == jobs.cap) {
        int cap = 2 * jobs.cap + 4;
        struct known_job *more = realloc(jobs.list, (size_t)cap * sizeof(*more));

        if (more == NULL)
            return NULL;
        jobs.list = more;
        jobs.cap = cap;
    }
    jobs.list[jobs.n] = (struct known_job){.job = job};
    return &jobs.list[jobs.n++];
}

static void job_tie(struct known_job *known, bool is_tied)
{
    if (known->is_tied == is_tied)
        return;
    known->is_tied = is_tied;
    if (is_tied)
        dm_pmi_connected(dm_process_state.pmi, known->job);
    else
        dm_pmi_disconnected(dm_process_state.pmi, known->job);
}

static void jobs_count_fatal(int proc, int n)
{
    struct known_job *known = job_find(dm_adapt_proc_id(dm_chan_adapt(dm_world.chan), proc).job);

    if (known == NULL)
        return;
    known->n_fatal += n;
    job_tie(known, known->n_fatal > 0);
}

void dm_jobs_review(void)
{
    for (int i = 0; i < jobs.n; i++)
        job_tie(&jobs.list[i], jobs.list[i].n_fatal > 0);
}

static void jobs_count(int proc, int n)
{
    uint64_t job = dm_adapt_proc_id(dm_chan_adapt(dm_world.chan), proc).job;
    struct known_job *known = job_find(job);

    if (known == NULL && n > 0) {
        known = job_add(job);
        if (known == NULL) {
            dm_log_warn("no memory to notify the launcher of another job");
            return;
        }
        dm_world.count_fatal = jobs_count_fatal;
        job_tie(known, true);
    }
    if (known == NULL)
        return;
    known->n_refs += n;
    if (known->n_refs == 0) {
        job_tie(known, false);
        *known = jobs.list[--jobs.n];
        if (jobs.n == 0)
            dm_world.count_fatal = NULL;
    }
}

void dm_jobs_start(void)
{
    dm_pmi_set_own(dm_process_state.pmi,
                   dm_adapt_proc_id(dm_chan_adapt(dm_world.chan), dm_world.rank).job);
    dm_world.count_foreign = jobs_count;
}

void dm_jobs_stop(void)
{
    dm_world.count_foreign = NULL;
    dm_world.count_fatal = NULL;
    free(jobs.list);
    jobs.list = NULL;
    jobs.n = jobs.cap = 0;
}
