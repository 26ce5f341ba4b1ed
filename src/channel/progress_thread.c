/*
 * Progress threads (DATUM_PROGRESS=thread and threads2): progress while the program computes.
 *
 * There is one; or two, of which the first sleeps until something comes, and the second until something that was posted
 * is done or a connection needs attention. While threads of the program come in and poll it waits and looks every 0.1 to 1 ms whether they
 * still do. When they have been outside for a whole wait it makes a pass and sleeps in the provider, which wakes
 * it when something arrives. While one of them sleeps in the provider itself, the first is not needed, and is suspended; the
 * second is sent to sleep before, and wakes the program's when its pass has done something.
 *
 * Invariant: one at a time is inside the global lock, only for a pass, and leaves it when somebody wants in.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "channel/chan.h"
#include "channel/channel.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/glock.h"

#define BUSY_ENTRIES 16 /* calls of the program in a wait: it will not compute soon */
#define PASSES_MAX   256
#define NS_PER_US    1000
#define NS_PER_S     1000000000

struct worker {
    struct dm_progress_thread *pt;
    pthread_t thread;
    struct dm_adapt_sleep sleep; /* while it waits, the second's belongs to who has pt->lock */
    bool is_sent;                /* to sleep: under the lock */
    atomic_bool is_waiting;
    atomic_bool is_suspended;
    atomic_uint turns; /* at the last look */
    unsigned int n_sleeps;
    uint64_t wait_us;
    uint64_t sleep_us;
    _Atomic uint64_t n_wakes, n_passes, n_useful;
};

struct dm_progress_thread {
    struct dm_chan *chan;
    pthread_mutex_t enter_lock; /* who may try to get inside the global lock */
    pthread_mutex_t lock;
    pthread_cond_t cond; /* to end a wait early */
    atomic_bool is_stopping;
    int n_workers;
    struct worker worker[DM_SIDES];
};

static void thread_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void thread_sleep(struct worker *worker, uint64_t us, bool is_suspending)
{
    struct dm_progress_thread *pt = worker->pt;
    uint64_t until = dm_clock_ns() + us * NS_PER_US;
    struct timespec ts = {.tv_sec = (time_t)(until / NS_PER_S),
                          .tv_nsec = (long)(until % NS_PER_S)};
    int err = 0;

    pthread_mutex_lock(&pt->lock);
    atomic_store(&worker->is_suspended, is_suspending);
    atomic_store(&worker->is_waiting, true);
    while (err == 0 && !atomic_load(&pt->is_stopping) && !worker->is_sent &&
           (!is_suspending || atomic_load(&worker->is_suspended)))
        err = pthread_cond_timedwait(&pt->cond, &pt->lock, &ts);
    atomic_store(&worker->is_waiting, false);
    atomic_store(&worker->is_suspended, false);
    pthread_mutex_unlock(&pt->lock);
}

void dm_progress_thread_wake(struct dm_progress_thread *pt)
{
    struct worker *first = &pt->worker[DM_SIDE_RECV];

    if (dm_likely(!atomic_load_explicit(&first->is_suspended, memory_order_relaxed)))
        return;
    pthread_mutex_lock(&pt->lock);
    atomic_store(&first->is_suspended, false);
    pthread_cond_broadcast(&pt->cond);
    pthread_mutex_unlock(&pt->lock);
}

bool dm_progress_thread_allow_sleep(struct dm_progress_thread *pt)
{
    struct worker *second = &pt->worker[DM_SIDE_REQUEST];
    bool may_sleep = true;

    if (pt->n_workers < DM_SIDES || !atomic_load(&second->is_waiting))
        return true;
    pthread_mutex_lock(&pt->lock);
    if (atomic_load(&second->is_waiting) && !second->is_sent && !atomic_load(&pt->is_stopping)) {
        second->sleep.timeout_us = DM_WAIT_THREAD_SLEEP_MAX_US;
        may_sleep = second->is_sent = dm_adapt_sleep_begin(pt->chan->adapt, &second->sleep);
        atomic_store(&second->turns, dm_glock_n_entries());
        if (may_sleep)
            pthread_cond_broadcast(&pt->cond);
    }
    pthread_mutex_unlock(&pt->lock);
    return may_sleep;
}

static void thread_go_to_sleep(struct worker *worker)
{
    if (dm_adapt_sleep(&worker->sleep))
        thread_count(&worker->n_wakes);
    worker->sleep_us = 2 * worker->sleep_us < DM_WAIT_THREAD_SLEEP_MAX_US
                           ? 2 * worker->sleep_us
                           : DM_WAIT_THREAD_SLEEP_MAX_US;
}

/* Is it to sleep, since a thread of the program does? */
static bool thread_was_sent(struct worker *worker)
{
    bool thread_was_sent;

    pthread_mutex_lock(&worker->pt->lock);
    thread_was_sent = worker->is_sent;
    worker->is_sent = false;
    pthread_mutex_unlock(&worker->pt->lock);
    return thread_was_sent;
}

/* The program's threads are at work in here: see again later. */
static void thread_look_later(struct worker *worker)
{
    struct dm_chan *chan = worker->pt->chan;
    unsigned int turns = dm_glock_n_entries();
    bool is_busy = dm_glock_is_taken() || turns - atomic_load(&worker->turns) > BUSY_ENTRIES;

    worker->wait_us = is_busy ? 2 * worker->wait_us : DM_WAIT_THREAD_MIN_US;
    worker->wait_us =
        worker->wait_us < DM_WAIT_THREAD_MAX_US ? worker->wait_us : DM_WAIT_THREAD_MAX_US;
    atomic_store(&worker->turns, turns);
    worker->n_sleeps = atomic_load_explicit(&chan->n_sleeps, memory_order_relaxed);
    worker->sleep_us = DM_WAIT_THREAD_SLEEP_MIN_US;
    thread_sleep(worker, worker->wait_us, false);
    if (thread_was_sent(worker))
        thread_go_to_sleep(worker);
}

/* One of them sleeps in the provider. It has done so for a whole wait: suspended until it is awake. */
static void thread_stand_back(struct worker *worker)
{
    struct dm_chan *chan = worker->pt->chan;
    unsigned int n_sleeps = atomic_load_explicit(&chan->n_sleeps, memory_order_relaxed);
    bool is_long = n_sleeps == worker->n_sleeps;

    worker->n_sleeps = n_sleeps;
    atomic_store(&worker->turns, dm_glock_n_entries());
    thread_sleep(worker, is_long ? DM_WAIT_THREAD_SUSPEND_US : DM_WAIT_THREAD_MAX_US, is_long);
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

/* The program computes, or sleeps. */
static void thread_work(struct worker *worker)
{
    struct dm_progress_thread *pt = worker->pt;
    struct dm_adapt *adapt = pt->chan->adapt;
    enum dm_side side = worker->sleep.side;
    bool is_taken, is_first = side == DM_SIDE_RECV;
    bool may_sleep, is_news;

    if (!thread_enter(pt)) {
        thread_look_later(worker);
        return;
    }
    is_taken = dm_adapt_is_waited_on(adapt);
    is_news = !(is_taken && is_first) && thread_pass(worker) > 0;
    if (is_news)
        worker->sleep_us = DM_WAIT_THREAD_SLEEP_MIN_US;
    worker->sleep.timeout_us = worker->sleep_us;
    may_sleep = !(is_taken && is_first) && !dm_glock_is_wanted() &&
                !atomic_load(&pt->is_stopping) && dm_adapt_sleep_begin(adapt, &worker->sleep);
    thread_leave(pt);
    if (is_taken && !is_first && (is_news || !may_sleep))
        dm_adapt_wake(adapt, DM_SIDE_RECV); /* perhaps it is what the program waits for */
    if (is_taken && is_first)
        thread_stand_back(worker);
    else if (may_sleep)
        thread_go_to_sleep(worker);
}

static void *thread_run(void *arg)
{
    struct worker *worker = arg;

    while (!atomic_load(&worker->pt->is_stopping)) {
        if (dm_glock_is_taken() || dm_glock_n_entries() != atomic_load(&worker->turns))
            thread_look_later(worker);
        else
            thread_work(worker);
    }
    return NULL;
}

static void thread_init(struct dm_progress_thread *pt, struct dm_chan *chan)
{
    struct worker *worker;
    pthread_condattr_t attr;

    pt->chan = chan;
    for (int side = 0; side < DM_SIDES; side++) {
        worker = &pt->worker[side];
        worker->pt = pt;
        worker->sleep.side = (enum dm_side)side;
        worker->wait_us = DM_WAIT_THREAD_MIN_US;
        worker->sleep_us = DM_WAIT_THREAD_SLEEP_MIN_US;
    }
    pthread_mutex_init(&pt->enter_lock, NULL);
    pthread_mutex_init(&pt->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&pt->cond, &attr);
    pthread_condattr_destroy(&attr);
}

static void thread_fini(struct dm_progress_thread *pt)
{
    pthread_cond_destroy(&pt->cond);
    pthread_mutex_destroy(&pt->lock);
    pthread_mutex_destroy(&pt->enter_lock);
    free(pt);
}

/* End those that run, and wait for it. */
static void thread_end(struct dm_progress_thread *pt)
{
    pthread_mutex_lock(&pt->lock);
    atomic_store(&pt->is_stopping, true);
    pthread_cond_broadcast(&pt->cond);
    pthread_mutex_unlock(&pt->lock);
    for (int i = 0; i < pt->n_workers; i++)
        dm_adapt_wake(pt->chan->adapt, pt->worker[i].sleep.side);
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
