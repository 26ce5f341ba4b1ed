/*
 * A job without a launcher, for tests of the adaptation layer: forked processes
 * with a key-value space in shared memory.
 */
#ifndef DM_TESTS_UNIT_ADAPT_JOB_H
#define DM_TESTS_UNIT_ADAPT_JOB_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/dapl_adapt.h"
#include "test.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define JOB_MAX   16
#define JOB_PAIRS 8

struct job_space {
    pthread_barrier_t barrier;
    char kvs[JOB_MAX][JOB_PAIRS][2][DM_KV_VAL_MAX];
    int shared[64]; /* for the tests */
};

/* Does the pipe take bytes? */
static inline bool job_is_ready(const struct dm_conn *conn)
{
    return conn->was_up && conn->links->at[DM_LINK_PIPE].may_post && !dm_conn_is_lost(conn);
}

struct job_proc {
    struct job_space *space;
    int rank;
    int size;
    int n_puts;
};

static inline int job_put(void *arg, const char *key, const char *val)
{
    struct job_proc *proc = arg;

    snprintf(proc->space->kvs[proc->rank][proc->n_puts][0], DM_KV_VAL_MAX, "%s", key);
    snprintf(proc->space->kvs[proc->rank][proc->n_puts++][1], DM_KV_VAL_MAX, "%s", val);
    return DM_OK;
}

static inline int job_get(void *arg, const char *key, char *buf, size_t len)
{
    struct job_proc *proc = arg;

    for (int r = 0; r < proc->size; r++) {
        for (int i = 0; i < JOB_PAIRS; i++) {
            if (strcmp(proc->space->kvs[r][i][0], key) == 0) {
                snprintf(buf, len, "%s", proc->space->kvs[r][i][1]);
                return DM_OK;
            }
        }
    }
    return DM_FAIL(DM_ELAUNCH, "no key %s", key);
}

static inline int job_fence(void *arg)
{
    struct job_proc *proc = arg;

    pthread_barrier_wait(&proc->space->barrier);
    return DM_OK;
}

static inline const char *job_host_of(void *arg, int proc)
{
    (void)arg;
    (void)proc;
    return "here";
}

/* Describe the job for dm_adapt_open. */
static inline void job_describe(struct job_proc *proc, const int *node_of, struct dm_adapt_job *job)
{
    memset(job, 0, sizeof(*job));
    job->rank = proc->rank;
    job->size = proc->size;
    job->n_local = proc->size;
    job->node_of = node_of;
    job->name = "unit-job";
    job->kv.arg = proc;
    job->kv.put = job_put;
    job->kv.get = job_get;
    job->kv.fence = job_fence;
    job->host_of = job_host_of;
}

/*
 * Run main_fn in n processes; settings are "NAME=value" ones separated by blanks.
 * Returns how many ended with a status other than 0 (a negative main_fn result kills itself
 * on purpose and is not counted).
 */
static inline int job_run(const char *what, int n, const char *settings,
                          void (*main_fn)(struct job_proc *proc))
{
    struct job_space *space;
    struct job_proc proc;
    pthread_barrierattr_t attr;
    pid_t pids[JOB_MAX];
    char *copy;
    char *save = NULL;
    int n_failed = 0;
    int status;

    space = mmap(NULL, sizeof(*space), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED)
        return n;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&space->barrier, &attr, (unsigned)n);
    fflush(stdout);
    for (int r = 0; r < n; r++) {
        pids[r] = fork();
        if (pids[r] != 0)
            continue;
        copy = strdup(settings);
        for (char *s = strtok_r(copy, " ", &save); s != NULL; s = strtok_r(NULL, " ", &save))
            putenv(strdup(s));
        free(copy);
        proc = (struct job_proc){.space = space, .rank = r, .size = n};
        if (dm_cfg_load(true) != DM_OK) {
            printf("settings: %s\n", dm_err_detail());
            _exit(1);
        }
        dm_log_identity(r, "here");
        main_fn(&proc);
        fflush(stdout);
        exit(test_result());
    }
    for (int r = 0; r < n; r++) {
        while (waitpid(pids[r], &status, 0) < 0 && errno == EINTR)
            ;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
            continue; /* a test's own */
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("%s: process %d of %d ended with status 0x%x (%s)\n", what, r, n, status,
                   settings);
            n_failed++;
        }
    }
    munmap(space, sizeof(*space));
    return n_failed;
}

static inline void *job_close(void *adapt)
{
    CHECK_EQ(dm_adapt_close(adapt), DM_OK);
    return NULL;
}

/* Both "processes" of one program end at once, as those of a job do; NULL: it is not there. */
static inline void job_close_both(struct dm_adapt *a, struct dm_adapt *b)
{
    pthread_t thread;

    if (a != NULL && pthread_create(&thread, NULL, job_close, a) != 0) {
        CHECK(!"a thread");
        return;
    }
    if (b != NULL)
        job_close(b);
    if (a != NULL)
        pthread_join(thread, NULL);
}

#endif
