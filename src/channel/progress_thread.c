/*
 * Progress threads (DATUM_PROGRESS=thread and threads2): progress while the program computes, and while it waits.
 *
 * There is one; or two, of which the first sleeps until something comes, and the second until something that was posted
 * is done or a connection needs attention. A call that has polled long enough waits until one of them has done
 * something; it does not sleep in the provider itself. While threads of the program come in and poll, a progress thread waits
 * and looks every 0.1 to 1 ms whether they still do. When they have been outside for a whole wait, or a call waits for it, it makes
 * a pass and sleeps in the provider, which wakes it when something arrives.
 *
 * Invariant: one at a time is inside the global lock, only for a pass, and leaves it when somebody wants in.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "channel/chan.h"
#include "channel/channel.h"
#include "util/err.h"
#include "util/futex.h"
#include "util/glock.h"

#define BUSY_ENTRIES 16 /* calls of the program in a wait: it will not compute soon */
#define PASSES_MAX   256
#define NS_PER_US    1000

struct worker {
    struct dm_progress_thread *pt;
    pthread_t thread;
    struct dm_adapt_sleep sleep; /* written inside the global lock */
    _Atomic uint32_t doorbell;   /* futex: a call waits, or it shall end */
    atomic_bool is_waiting;      /* at the doorbell */
    unsigned int turns;          /* at the last look */
    uint64_t wait_us;
    uint64_t sleep_us;
    _Atomic uint64_t n_wakes, n_passes, n_useful;
};

struct dm_progress_thread {
    struct dm_chan *chan;
    pthread_mutex_t enter_lock; /* who may try to get inside the global lock */
    atomic_bool is_stopping;
    atomic_int n_awaiting;   /* calls that wait for news */
    _Atomic uint32_t n_news; /* futex: how often something was done that they may wait for */
    int n_workers;
    struct worker worker[DM_SIDES];
};

static void thread_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void thread_ring(struct worker *worker)
{
    atomic_fetch_add(&worker->doorbell, 1);
    if (atomic_load(&worker->is_waiting))
        dm_futex_wake(&worker->doorbell, 1);
}

void dm_progress_thread_news(struct dm_progress_thread *pt)
{
    if (atomic_load(&pt->n_awaiting) == 0)
        return;
    atomic_fetch_add(&pt->n_news, 1);
    dm_futex_wake(&pt->n_news, INT_MAX);
}

bool dm_progress_thread_await(struct dm_progress_thread *pt, uint64_t us)
{
    uint32_t n_news = atomic_load(&pt->n_news);
    bool is_ready[DM_SIDES];
    int levels;

    atomic_fetch_add(&pt->n_awaiting, 1);
    for (int side = 0; side < pt->n_workers; side++)
        is_ready[side] = dm_adapt_sleep_check(&pt->worker[side].sleep);
    levels = dm_glock_release_all();
    for (int side = 0; side < pt->n_workers; side++)
        if (!is_ready[side])
            thread_ring(&pt->worker[side]);
    (void)dm_futex_wait(&pt->n_news, n_news, dm_futex_now() + us * NS_PER_US);
    dm_glock_reacquire(levels);
    atomic_fetch_sub(&pt->n_awaiting, 1);
    return atomic_load(&pt->n_news) != n_news;
}

static void thread_go_to_sleep(struct worker *worker)
{
    if (dm_adapt_sleep(&worker->sleep))
        thread_count(&worker->n_wakes);
    worker->sleep_us = 2 * worker->sleep_us < DM_WAIT_THREAD_SLEEP_MAX_US
                           ? 2 * worker->sleep_us
                           : DM_WAIT_THREAD_SLEEP_MAX_US;
}

/* Is a thread of the program at work in here, or was since the last look? */
static bool thread_is_program_in(const struct worker *worker)
{
    return dm_glock_is_taken() || dm_glock_n_entries() != worker->turns;
}

/* See again later, or when the doorbell rings, which has rung so often. */
static void thread_look_later(struct worker *worker, uint32_t n_rings)
{
    unsigned int turns = dm_glock_n_entries();
    bool is_busy = dm_glock_is_taken() || turns - worker->turns > BUSY_ENTRIES;

    worker->wait_us = is_busy ? 2 * worker->wait_us : DM_WAIT_THREAD_MIN_US;
    worker->wait_us =
        worker->wait_us < DM_WAIT_THREAD_MAX_US ? worker->wait_us : DM_WAIT_THREAD_MAX_US;
    worker->turns = turns;
    worker->sleep_us = DM_WAIT_THREAD_SLEEP_MIN_US;
    atomic_store(&worker->is_waiting, true);
    (void)dm_futex_wait(&worker->doorbell, n_rings, dm_futex_now() + worker->wait_us * NS_PER_US);
    atomic_store(&worker->is_waiting, false);
}

/* All there is to do, as long as nobody wants in. */
static int thread_pass(struct worker *worker)
{
    int n_all = 0;
    int n = 1;

    for (int i = 0; i < PASSES_MAX && n > 0 && !dm_glock_is_wanted(); i++) {
        n = dm_chan_progress(worker->pt->chan);
        n_all += n;
        thread_count(&worker->n_passes);
        if (n > 0)
            thread_count(&worker->n_useful);
    }
    return n_all;
}

static bool thread_enter(struct dm_progress_thread *pt)
{
    pthread_mutex_lock(&pt->enter_lock);
    if (dm_glock_progress_enter())
        return true;
    pthread_mutex_unlock(&pt->enter_lock);
    return false;
}

static void thread_leave(struct dm_progress_thread *pt)
{
    dm_glock_progress_leave();
    pthread_mutex_unlock(&pt->enter_lock);
}

/* The program computes, or waits for this thread. */
static void thread_work(struct worker *worker, uint32_t n_rings)
{
    struct dm_progress_thread *pt = worker->pt;
    bool may_sleep, is_news;

    if (!thread_enter(pt)) {
        thread_look_later(worker, n_rings);
        return;
    }
    is_news = thread_pass(worker) > 0;
    if (is_news)
        worker->sleep_us = DM_WAIT_THREAD_SLEEP_MIN_US;
    worker->sleep.timeout_us = worker->sleep_us;
    may_sleep = !dm_glock_is_wanted() && !atomic_load(&pt->is_stopping) &&
                dm_adapt_sleep_begin(pt->chan->adapt, &worker->sleep);
    thread_leave(pt);
    if (is_news)
        dm_progress_thread_news(pt);
    if (may_sleep)
        thread_go_to_sleep(worker);
}

static void *thread_run(void *arg)
{
    struct worker *worker = arg;

    while (!atomic_load(&worker->pt->is_stopping)) {
        uint32_t n_rings = atomic_load(&worker->doorbell);

        if (atomic_load(&worker->pt->n_awaiting) == 0 && thread_is_program_in(worker))
            thread_look_later(worker, n_rings);
        else
            thread_work(worker, n_rings);
    }
    return NULL;
}

static void thread_init(struct dm_progress_thread *pt, struct dm_chan *chan)
{
    struct worker *worker;

    pt->chan = chan;
    for (int side = 0; side < DM_SIDES; side++) {
        worker = &pt->worker[side];
        worker->pt = pt;
        worker->sleep.adapt = chan->adapt;
        worker->sleep.side = (enum dm_side)side;
        worker->wait_us = DM_WAIT_THREAD_MIN_US;
        worker->sleep_us = DM_WAIT_THREAD_SLEEP_MIN_US;
    }
    pthread_mutex_init(&pt->enter_lock, NULL);
}

static void thread_fini(struct dm_progress_thread *pt)
{
    pthread_mutex_destroy(&pt->enter_lock);
    free(pt);
}

/* End those that run, and wait for it. */
static void thread_end(struct dm_progress_thread *pt)
{
    atomic_store(&pt->is_stopping, true);
    for (int i = 0; i < pt->n_workers; i++) {
        thread_ring(&pt->worker[i]);
        dm_adapt_wake(pt->chan->adapt, pt->worker[i].sleep.side);
    }
    for (int i = 0; i < pt->n_workers; i++)
        pthread_join(pt->worker[i].thread, NULL);
}

int dm_chan_progress_thread_start(struct dm_chan *chan)
{
    int n = dm_adapt_has_sides(chan->adapt) ? DM_SIDES : 1;
    struct dm_progress_thread *pt;
    sigset_t all, old;
    int err = 0;

    if (!dm_adapt_has_rails(chan->adapt) || chan->progress_thread != NULL)
        return DM_OK;
    pt = calloc(1, sizeof(*pt));
    if (pt == NULL)
        return DM_FAIL(DM_ENOMEM, "the thread for progress, %zu bytes", sizeof(*pt));
    thread_init(pt, chan);
    /* The program's signals are not for these threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int i = 0; i < n && err == 0; i++) {
        err = pthread_create(&pt->worker[i].thread, NULL, thread_run, &pt->worker[i]);
        pt->n_workers += err == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err != 0) {
        thread_end(pt);
        thread_fini(pt);
        return DM_FAIL(DM_ENOMEM, "a thread for progress (DATUM_PROGRESS): %s", strerror(err));
    }
    chan->progress_thread = pt;
    return DM_OK;
}

void dm_chan_progress_thread_stop(struct dm_chan *chan)
{
    struct dm_progress_thread *pt = chan->progress_thread;

    if (pt == NULL)
        return;
    chan->progress_thread = NULL;
    thread_end(pt);
    for (int i = 0; i < pt->n_workers; i++) {
        chan->thread_counts[i].n_wakes += pt->worker[i].n_wakes;
        chan->thread_counts[i].n_passes += pt->worker[i].n_passes;
        chan->thread_counts[i].n_useful += pt->worker[i].n_useful;
    }
    thread_fini(pt);
}

bool dm_chan_has_progress_thread(const struct dm_chan *chan)
{
    return chan->progress_thread != NULL;
}

struct dm_chan_progress_thread_counts dm_chan_progress_thread_stats(const struct dm_chan *chan,
                                                                    enum dm_side side)
{
    struct dm_chan_progress_thread_counts sum = chan->thread_counts[side];
    const struct worker *worker;

    if (chan->progress_thread == NULL)
        return sum;
    worker = &chan->progress_thread->worker[side];
    sum.n_wakes += worker->n_wakes;
    sum.n_passes += worker->n_passes;
    sum.n_useful += worker->n_useful;
    return sum;
}
