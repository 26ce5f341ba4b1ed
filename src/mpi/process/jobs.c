/*
 * Which jobs this process is connected with: the launcher is reported of the first reference to a
 * process of a job, and of the last one's end.
 */
#include <stdlib.h>

#include "mpi/process/state.h"
#include "pmi/pmi_spawn.h"
#include "util/log.h"

struct known_job {
    uint64_t job;
    int64_t n_refs;
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
        dm_pmi_connected(dm_process_state.pmi, job);
    }
    if (known == NULL)
        return;
    known->n_refs += n;
    if (known->n_refs == 0) {
        *known = jobs.list[--jobs.n];
        dm_pmi_disconnected(dm_process_state.pmi, job);
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
    free(jobs.list);
    jobs.list = NULL;
    jobs.n = jobs.cap = 0;
}
