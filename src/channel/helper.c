/*
 * The thread aside (DATUM_PROGRESS=thread): progress while the program computes.
 *
 * While threads of the program come in and poll it naps and looks every 0.1 to 1 ms whether they
 * still do. When they have been outside for a whole nap it makes a pass and sleeps in the provider, which wakes
 * it when something arrives. While one of them sleeps in the provider itself, it is not needed, and parks.
 *
 * Invariant: it is inside the gate only for a pass, and leaves it when somebody wants in.
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
#include "util/gate.h"

#define NAP_MIN_US 100
#define NAP_MAX_US 1000
#define PARK_US    1000000
#define SLEEP_MIN  500 /* us in the provider, doubling up to */
#define SLEEP_MAX  100000
#define BUSY_TURNS 16 /* calls of the program in a nap: it will not compute soon */
#define PASSES_MAX 256
#define NS_PER_US  1000
#define NS_PER_S   1000000000

struct dm_helper {
    struct dm_chan *chan;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t cond; /* to end a nap early */
    atomic_bool is_stopping;
    atomic_bool is_parked;
    unsigned int turns; /* at the last look */
    unsigned int rests;
    uint64_t nap_us;
    uint64_t sleep_us;
    _Atomic uint64_t n_wakes, n_passes, n_useful;
};

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void nap(struct dm_helper *helper, uint64_t us, bool is_parking)
{
    uint64_t until = dm_clock_ns() + us * NS_PER_US;
    struct timespec ts = {.tv_sec = (time_t)(until / NS_PER_S),
                          .tv_nsec = (long)(until % NS_PER_S)};
    int err = 0;

    pthread_mutex_lock(&helper->lock);
    atomic_store(&helper->is_parked, is_parking);
    while (err == 0 && !atomic_load(&helper->is_stopping) &&
           (!is_parking || atomic_load(&helper->is_parked)))
        err = pthread_cond_timedwait(&helper->cond, &helper->lock, &ts);
    atomic_store(&helper->is_parked, false);
    pthread_mutex_unlock(&helper->lock);
}

void dm_helper_rouse(struct dm_helper *helper)
{
    if (dm_likely(!atomic_load_explicit(&helper->is_parked, memory_order_relaxed)))
        return;
    pthread_mutex_lock(&helper->lock);
    atomic_store(&helper->is_parked, false);
    pthread_cond_signal(&helper->cond);
    pthread_mutex_unlock(&helper->lock);
}

/* The program's threads are at work in here: see again later. */
static void look_later(struct dm_helper *helper)
{
    unsigned int turns = dm_gate_turns();
    unsigned int rests = atomic_load_explicit(&helper->chan->n_rests, memory_order_relaxed);
    bool is_busy = dm_gate_is_taken() || turns - helper->turns > BUSY_TURNS;

    helper->nap_us = is_busy ? 2 * helper->nap_us : NAP_MIN_US;
    helper->nap_us = helper->nap_us < NAP_MAX_US ? helper->nap_us : NAP_MAX_US;
    helper->turns = turns;
    helper->rests = rests;
    helper->sleep_us = SLEEP_MIN;
    nap(helper, helper->nap_us, false);
}

/* One of them sleeps in the provider. It has done so for a nap: park until it is awake. */
static void stand_back(struct dm_helper *helper)
{
    unsigned int rests = atomic_load_explicit(&helper->chan->n_rests, memory_order_relaxed);
    bool is_long = rests == helper->rests;

    helper->rests = rests;
    helper->turns = dm_gate_turns();
    nap(helper, is_long ? PARK_US : NAP_MAX_US, is_long);
}

/* All there is to do, as long as nobody wants in. */
static int pass(struct dm_helper *helper)
{
    int n_all = 0;
    int n = 1;

    for (int i = 0; i < PASSES_MAX && n > 0 && !dm_gate_is_wanted(); i++) {
        n = dm_chan_progress(helper->chan);
        n_all += n;
        count(&helper->n_passes);
        if (n > 0)
            count(&helper->n_useful);
    }
    return n_all;
}

/* The program computes. */
static void work(struct dm_helper *helper)
{
    struct dm_adapt *adapt = helper->chan->adapt;
    struct dm_adapt_sleep sleep = {.timeout_us = helper->sleep_us};
    bool is_taken;
    bool may_sleep;

    if (!dm_gate_enter_aside()) {
        look_later(helper);
        return;
    }
    is_taken = dm_adapt_is_waited_on(adapt);
    if (!is_taken && pass(helper) > 0)
        helper->sleep_us = SLEEP_MIN;
    sleep.timeout_us = helper->sleep_us;
    may_sleep = !is_taken && !dm_gate_is_wanted() && !atomic_load(&helper->is_stopping) &&
                dm_adapt_sleep_begin(adapt, &sleep);
    dm_gate_leave_aside();
    if (is_taken) {
        stand_back(helper);
    } else if (may_sleep) {
        dm_adapt_sleep(&sleep);
        count(&helper->n_wakes);
        helper->sleep_us = 2 * helper->sleep_us < SLEEP_MAX ? 2 * helper->sleep_us : SLEEP_MAX;
    }
}

static void *run(void *arg)
{
    struct dm_helper *helper = arg;

    while (!atomic_load(&helper->is_stopping)) {
        if (dm_gate_is_taken() || dm_gate_turns() != helper->turns)
            look_later(helper);
        else
            work(helper);
    }
    return NULL;
}

static void init(struct dm_helper *helper, struct dm_chan *chan)
{
    pthread_condattr_t attr;

    helper->chan = chan;
    helper->nap_us = NAP_MIN_US;
    helper->sleep_us = SLEEP_MIN;
    pthread_mutex_init(&helper->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&helper->cond, &attr);
    pthread_condattr_destroy(&attr);
}

static void fini(struct dm_helper *helper)
{
    pthread_cond_destroy(&helper->cond);
    pthread_mutex_destroy(&helper->lock);
    free(helper);
}

int dm_chan_helper_start(struct dm_chan *chan)
{
    struct dm_helper *helper;
    sigset_t all, old;
    int err;

    if (!dm_adapt_has_rails(chan->adapt) || chan->helper != NULL)
        return DM_OK;
    helper = calloc(1, sizeof(*helper));
    if (helper == NULL)
        return DM_FAIL(DM_ENOMEM, "the thread for progress, %zu bytes", sizeof(*helper));
    init(helper, chan);
    /* The program's signals are not for this thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&helper->thread, NULL, run, helper);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err != 0) {
        fini(helper);
        return DM_FAIL(DM_ENOMEM, "the thread for progress (DATUM_PROGRESS=thread): %s",
                       strerror(err));
    }
    chan->helper = helper;
    return DM_OK;
}

void dm_chan_helper_stop(struct dm_chan *chan)
{
    struct dm_helper *helper = chan->helper;

    if (helper == NULL)
        return;
    chan->helper = NULL;
    pthread_mutex_lock(&helper->lock);
    atomic_store(&helper->is_stopping, true);
    pthread_cond_signal(&helper->cond);
    pthread_mutex_unlock(&helper->lock);
    dm_adapt_wake(chan->adapt);
    pthread_join(helper->thread, NULL);
    chan->helper_wakes += helper->n_wakes;
    chan->helper_passes += helper->n_passes;
    chan->helper_useful += helper->n_useful;
    fini(helper);
}

bool dm_chan_has_helper(const struct dm_chan *chan)
{
    return chan->helper != NULL;
}

void dm_chan_helper_stats(const struct dm_chan *chan, uint64_t *wakes_p, uint64_t *passes_p,
                          uint64_t *useful_p)
{
    *wakes_p = chan->helper_wakes + (chan->helper != NULL ? chan->helper->n_wakes : 0);
    *passes_p = chan->helper_passes + (chan->helper != NULL ? chan->helper->n_passes : 0);
    *useful_p = chan->helper_useful + (chan->helper != NULL ? chan->helper->n_useful : 0);
}
