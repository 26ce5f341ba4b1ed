/*
 * mpiexec starts the ranks itself, and is their process manager.
 */
#include "tools/mpiexec/local.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tools/mpiexec/debugger.h"
#include "tools/mpiexec/guard.h"
#include "tools/mpiexec/input.h"
#include "tools/mpiexec/jobs.h"
#include "tools/mpiexec/name_server.h"
#include "tools/mpiexec/node.h"
#include "tools/mpiexec/parent.h"
#include "tools/mpiexec/report.h"
#include "tools/mpiexec/signals.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/log.h"

/* How long ranks that have got a signal have to end. */
#define GRACE_NS UINT64_C(2000000000)

enum { TIMEOUT_STATUS = 124 };

struct local_job {
    struct dm_launch_loop loop;
    struct dm_launch_signals signals;
    struct dm_launch_node node; /* of the first job */
    struct dm_launch_jobs jobs;
    struct dm_launch_timer timeout;
    struct dm_launch_timer grace;
    int signo; /* that ends the job, 0: none */
    char kvs_name[64];
};

static void on_ended(void *arg)
{
    struct local_job *job = arg;

    job->loop.is_over = true;
}

static void on_child(void *arg)
{
    struct local_job *job = arg;

    dm_launch_jobs_reap(&job->jobs);
}

static void on_grace_over(void *arg)
{
    struct local_job *job = arg;

    dm_launch_jobs_kill(&job->jobs);
}

/* Ranks get the signal, and time; asked twice, they get none. */
static void on_end(void *arg, int signo, bool is_from_terminal)
{
    struct local_job *job = arg;

    (void)is_from_terminal; /* it has not reached the ranks, which have groups of their own */
    if (job->jobs.is_ending && job->signo == 0)
        return;
    if (job->signo != 0) {
        dm_launch_jobs_kill(&job->jobs);
        return;
    }
    job->signo = signo;
    job->node.status = 128 + signo;
    job->node.status_ms = 0;
    dm_log_error("mpiexec got signal %d (%s); the job is ended", signo, strsignal(signo));
    dm_launch_jobs_end(&job->jobs, signo);
    dm_launch_jobs_signal(&job->jobs, SIGCONT);
    dm_launch_loop_after(&job->loop, &job->grace, GRACE_NS, on_grace_over, job);
}

static void on_pass(void *arg, int signo)
{
    struct local_job *job = arg;

    if (signo == SIGUSR1)
        dm_launch_report_ranks(&job->jobs, false);
    dm_launch_jobs_signal(&job->jobs, signo);
    if (signo == SIGTSTP)
        dm_launch_signals_stop();
    if (signo == SIGCONT)
        dm_launch_input_again();
}

static void on_timeout(void *arg)
{
    struct local_job *job = arg;

    if (job->jobs.is_ending)
        return;
    dm_log_error("mpiexec: the job has run for %d seconds (-timeout); it is ended",
                 job->node.options->timeout);
    dm_launch_debugger_aborts("time is up (-timeout)");
    dm_launch_report_ranks(&job->jobs, true);
    job->node.status = TIMEOUT_STATUS;
    job->node.status_ms = 0;
    dm_launch_jobs_kill(&job->jobs);
}

static void print_exit_codes(const struct dm_launch_node *node)
{
    for (int i = 0; i < node->n_ranks; i++)
        if (node->ranks[i].has_ended)
            fprintf(stderr, "rank %d on host %s: exit code %d\n", node->ranks[i].rank,
                    node->host_name, dm_launch_verdict_code(node->ranks[i].status));
}

static bool local_open(struct local_job *job)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    dm_launch_guard_start();
    snprintf(job->kvs_name, sizeof(job->kvs_name), "datum_%d_%llx", (int)getpid(),
             (unsigned long long)dm_clock_ns());
    job->signals.arg = job;
    job->signals.child = on_child;
    job->signals.end = on_end;
    job->signals.pass = on_pass;
    if (dm_launch_loop_open(&job->loop) &&
        dm_launch_signals_open(&job->signals, &job->loop, &job->node.mask))
        return true;
    dm_log_error("mpiexec: %s", strerror(errno));
    return false;
}

int dm_launch_local_run(const struct dm_launch_options *options,
                        const struct dm_launch_place *place, const struct rlimit *files)
{
    static struct local_job job;
    struct dm_launch_node *node = &job.node;

    if (!local_open(&job))
        return 1;
    node->loop = &job.loop;
    node->options = options;
    node->place = place;
    node->host = place->host_of[0];
    node->host_name = dm_host_name();
    node->kvs_name = job.kvs_name;
    node->files = *files;
    node->arg = &job;
    dm_launch_kvs_init(&node->kvs);
    dm_launch_jobs_init(&job.jobs, node, on_ended, &job);
    job.jobs.names.server = dm_launch_names_keeper(options->nameserver);
    node->kin.has_parent = dm_launch_parent_open() && dm_launch_parent_pairs(&node->kvs);
    if (options->timeout > 0)
        dm_launch_loop_after(&job.loop, &job.timeout, (uint64_t)options->timeout * 1000000000,
                             on_timeout, &job);
    if (dm_launch_node_start(node)) {
        dm_launch_debugger_show(node);
        dm_launch_parent_say(NULL);
    } else {
        dm_launch_parent_blame(node);
    }
    dm_launch_loop_run(&job.loop);
    node->status = dm_launch_jobs_status(&job.jobs);
    dm_launch_verdict_unheard(node);
    if (options->prints_exit_codes)
        print_exit_codes(node);
    dm_launch_guard_end();
    dm_launch_jobs_fini(&job.jobs);
    dm_launch_node_free(node);
    dm_launch_loop_close(&job.loop);
    return node->status;
}
