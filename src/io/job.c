/*
 * The thread that does jobs, and the hook of the progress engine that sees when they are done.
 *
 * The thread takes no lock but that of its queue, and touches nothing that is counted.
 */
#include "io/job.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "channel/channel.h"
#include "mpi/core/core.h"
#include "util/err.h"
#include "util/glock.h"

/*
 * How long a job is left to a program that waits for it at once: longer than a program takes from the start
 * of a transfer to its wait, short beside the time of a large one.
 */
#define HEAD_START_NS 50000

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    bool is_running;
    bool is_ending;
    bool looks_soon; /* the thread waits for a job to be due, and no new one is before that */
    struct dm_list todo;
    struct dm_list done;
    atomic_int n_done;
    int n_pending; /* not over yet; used under the global lock only */
    struct dm_chan_hook hook;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

void dm_io_result_set(struct dm_io_result *result, int err)
{
    result->err = err;
    result->text[0] = '\0';
    if (err != DM_OK && dm_err_code() == err)
        snprintf(result->text, sizeof(result->text), "%s", dm_err_detail());
}

int dm_io_result_get(const struct dm_io_result *result)
{
    return result->err == DM_OK ? DM_OK : dm_err_fail(result->err, "%s", result->text);
}

/* The first one of the list, which leaves it; NULL: there is none. */
static struct dm_io_job *worker_take(struct dm_list *list)
{
    struct dm_io_job *job;

    if (dm_list_is_empty(list))
        return NULL;
    job = dm_container_of(list->next, struct dm_io_job, link);
    dm_list_del(&job->link);
    return job;
}

/* It is over, and has its result. */
static void job_end(struct dm_io_job *job)
{
    worker.n_pending--;
    dm_wait_jobs_add(-1);
    job->over(job->arg);
    if (worker.n_pending == 0)
        dm_chan_hook_del(dm_world.chan, &worker.hook);
}

static int worker_hook(struct dm_chan_hook *hook)
{
    struct dm_io_job *job;
    int n = 0;

    (void)hook;
    while (atomic_load_explicit(&worker.n_done, memory_order_acquire) > 0) {
        pthread_mutex_lock(&worker.lock);
        job = worker_take(&worker.done);
        atomic_fetch_sub_explicit(&worker.n_done, 1, memory_order_relaxed);
        pthread_mutex_unlock(&worker.lock);
        job_end(job);
        n++;
    }
    return n;
}

/* Until it is over, or those who wait for it want to do the rest. True: it is over. */
static bool worker_run(struct dm_io_job *job)
{
    int err;

    while (!job->part(job->arg, &err))
        if (atomic_load_explicit(&job->state, memory_order_relaxed) == DM_JOB_WANTED)
            return false;
    dm_io_result_set(&job->result, err);
    return true;
}

static bool is_due(const struct timespec *due)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > due->tv_sec || (now.tv_sec == due->tv_sec && now.tv_nsec >= due->tv_nsec);
}

/* The next job that is due, inside the lock; NULL: there are none any more, and the thread ends. */
static struct dm_io_job *worker_next(void)
{
    const struct dm_io_job *first;
    struct timespec due;

    for (;;) {
        if (dm_list_is_empty(&worker.todo)) {
            if (worker.is_ending)
                return NULL;
            pthread_cond_wait(&worker.cond, &worker.lock);
            continue;
        }
        first = dm_container_of(worker.todo.next, struct dm_io_job, link);
        if (worker.is_ending || is_due(&first->due))
            return worker_take(&worker.todo);
        due = first->due; /* it may be gone while this waits */
        worker.looks_soon = true;
        (void)pthread_cond_clockwait(&worker.cond, &worker.lock, CLOCK_MONOTONIC, &due);
        worker.looks_soon = false;
    }
}

static void *worker_main(void *arg)
{
    struct dm_io_job *job;
    bool is_over;

    (void)arg;
    (void)prctl(PR_SET_TIMERSLACK, 1UL); /* its waits are short */
    pthread_mutex_lock(&worker.lock);
    while ((job = worker_next()) != NULL) {
        atomic_store(&job->state, DM_JOB_RUNNING);
        pthread_mutex_unlock(&worker.lock);
        is_over = worker_run(job);
        pthread_mutex_lock(&worker.lock);
        if (is_over) {
            dm_list_add_tail(&worker.done, &job->link);
            atomic_fetch_add_explicit(&worker.n_done, 1, memory_order_release);
        }
        /* It may be gone as soon as it has this state. */
        atomic_store(&job->state, is_over ? DM_JOB_DONE : DM_JOB_OURS);
        pthread_mutex_unlock(&worker.lock);
        dm_wait_notify();
        pthread_mutex_lock(&worker.lock);
    }
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

/* Is there a thread? Signals of the program are not for it, but for that of its own copies (fault.c). */
static bool worker_start(void)
{
    sigset_t all, before;

    if (worker.is_running)
        return true;
    worker.is_ending = false;
    dm_list_init(&worker.todo);
    dm_list_init(&worker.done);
    worker.hook.fn = worker_hook;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker.is_running = pthread_create(&worker.thread, NULL, worker_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return worker.is_running;
}

bool dm_io_job_start(struct dm_io_job *job)
{
    if (!worker_start())
        return false;
    atomic_init(&job->state, DM_JOB_TODO);
    clock_gettime(CLOCK_MONOTONIC, &job->due);
    job->due.tv_nsec += HEAD_START_NS;
    if (job->due.tv_nsec >= 1000000000) {
        job->due.tv_nsec -= 1000000000;
        job->due.tv_sec++;
    }
    worker.n_pending++;
    dm_wait_jobs_add(1);
    dm_chan_hook_add(dm_world.chan, &worker.hook);
    pthread_mutex_lock(&worker.lock);
    dm_list_add_tail(&worker.todo, &job->link);
    if (!worker.looks_soon)
        pthread_cond_signal(&worker.cond);
    pthread_mutex_unlock(&worker.lock);
    return true;
}

/* Is it for those who wait to do the next part? Else the thread hears of it. */
static bool job_take(struct dm_io_job *job)
{
    enum dm_io_job_state running = DM_JOB_RUNNING;

    if (atomic_load(&job->state) == DM_JOB_TODO) {
        pthread_mutex_lock(&worker.lock);
        if (atomic_load(&job->state) == DM_JOB_TODO) {
            dm_list_del(&job->link);
            atomic_store(&job->state, DM_JOB_OURS);
        }
        pthread_mutex_unlock(&worker.lock);
    }
    (void)atomic_compare_exchange_strong(&job->state, &running, DM_JOB_WANTED);
    return atomic_load(&job->state) == DM_JOB_OURS;
}

bool dm_io_job_help(struct dm_io_job *job)
{
    int levels, err;
    bool is_over;

    if (!job_take(job))
        return false;
    levels = dm_glock_release_all();
    is_over = job->part(job->arg, &err);
    if (is_over)
        dm_io_result_set(&job->result, err);
    dm_glock_reacquire(levels);
    if (is_over)
        job_end(job);
    return true;
}

void dm_io_jobs_stop(void)
{
    if (!worker.is_running)
        return;
    pthread_mutex_lock(&worker.lock);
    worker.is_ending = true;
    pthread_cond_signal(&worker.cond);
    pthread_mutex_unlock(&worker.lock);
    (void)pthread_join(worker.thread, NULL);
    worker.is_running = false;
    (void)worker_hook(&worker.hook);
}
