/*
 * The poller and those that wait.
 *
 * Invariants: what is in struct dm_chan_turns is written inside the global lock; the atomic words are looked at
 * outside, too. A waiting thread's state is TURN_OVER only after it was taken from the list.
 */
#include "channel/turns.h"

#include <sched.h>

#include "channel/channel.h"
#include "util/clock.h"
#include "util/futex.h"
#include "util/glock.h"

#define TURN_LOOKS     20       /* at the own word between two yields */
#define TURN_AWAKE_NS  200000   /* before it sleeps */
#define TURN_DEPUTY_NS 500000   /* a sleep of the one that looks whether there is a poller, */
#define TURN_SLEEP_NS  20000000 /* and of the others; they are woken when their wait is over */
#define TURN_LONG_NS   50000 /* a poller that waited so long leaves its place to somebody it wakes */

enum { TURN_WAITS, TURN_SLEEPS, TURN_OVER };

/* A thread that waits; on its stack. */
struct turn {
    struct dm_list link;
    const volatile int *n_pending; /* NULL: anything may end it */
    _Atomic uint32_t state;        /* TURN_*; futex */
};

static void turn_end(struct dm_chan_turns *turns, struct turn *turn)
{
    dm_list_del(&turn->link);
    turns->n_waiting--;
    dm_mlock_add_listening(-1);
}

static void turn_notify(struct dm_chan_turns *turns, struct turn *turn)
{
    turn_end(turns, turn);
    if (atomic_exchange(&turn->state, TURN_OVER) == TURN_SLEEPS)
        dm_futex_wake(&turn->state, 1);
}

/* Somebody is about to give the lock back. */
static void turns_notify(void *arg)
{
    struct dm_chan_turns *turns = &((struct dm_chan *)arg)->turns;

    dm_list_for_each_safe (it, next, &turns->waiting) {
        struct turn *turn = dm_container_of(it, struct turn, link);

        if (turn->n_pending != NULL ? *turn->n_pending == 0 : !turns->is_idle)
            turn_notify(turns, turn);
    }
}

void dm_turns_init(struct dm_chan *chan)
{
    dm_list_init(&chan->turns.waiting);
    dm_mlock_listen(turns_notify, chan);
}

/* ---- the poller ---- */

static bool turns_may_poll(const struct dm_chan_turns *turns)
{
    const void *poller = atomic_load_explicit(&turns->poller, memory_order_relaxed);

    return poller == NULL || poller == &dm_mlock_self || atomic_load(&turns->is_poller_asleep);
}

static void turns_take(struct dm_chan_turns *turns)
{
    atomic_store_explicit(&turns->poller, (void *)&dm_mlock_self, memory_order_relaxed);
    atomic_store_explicit(&turns->is_poller_asleep, false, memory_order_relaxed);
}

static bool turns_are_mine(const struct dm_chan_turns *turns)
{
    return atomic_load_explicit(&turns->poller, memory_order_relaxed) == &dm_mlock_self;
}

/* Nobody may be awake who would take the place. */
static void turns_wake_one(struct dm_chan_turns *turns)
{
    dm_list_for_each (it, &turns->waiting) {
        struct turn *turn = dm_container_of(it, struct turn, link);
        uint32_t sleeps = TURN_SLEEPS;

        if (atomic_load(&turn->state) == TURN_WAITS)
            return;
        if (atomic_compare_exchange_strong(&turn->state, &sleeps, TURN_WAITS)) {
            dm_futex_wake(&turn->state, 1);
            return;
        }
    }
}

static void turns_leave(struct dm_chan_turns *turns, bool was_long)
{
    if (!turns_are_mine(turns))
        return;
    atomic_store_explicit(&turns->poller, NULL, memory_order_relaxed);
    atomic_store_explicit(&turns->number, atomic_load(&turns->number) + 1, memory_order_relaxed);
    if (was_long && turns->n_waiting > 0)
        turns_wake_one(turns);
}

/* Others want the lock, or the core. */
static void turns_let_in(struct dm_chan_turns *turns, bool is_idle)
{
    int levels;

    turns->is_idle = is_idle;
    levels = dm_glock_release_all();
    sched_yield();
    dm_glock_reacquire(levels);
    turns->is_idle = false;
}

/* As the poller: a pass. True: it is time to sleep. */
static bool turns_poll(struct dm_chan *chan, struct dm_waiter *w)
{
    struct dm_chan_turns *turns = &chan->turns;
    int n = dm_chan_progress(chan);

    w->has_yielded = turns->n_waiting > 0 || dm_glock_is_wanted();
    if (w->has_yielded)
        turns_let_in(turns, n == 0);
    if (n == 0)
        return dm_wait_idle(chan, w);
    if (chan->progress_thread != NULL)
        dm_progress_thread_news(chan->progress_thread);
    dm_wait_reset(w);
    return false;
}

static void turns_sleep(struct dm_chan *chan, struct dm_waiter *w)
{
    struct dm_chan_turns *turns = &chan->turns;

    atomic_store(&turns->is_poller_asleep, true);
    turns->is_idle = true;
    dm_wait_sleep(chan, w, UINT64_MAX);
    turns->is_idle = false;
    if (turns_are_mine(turns))
        atomic_store(&turns->is_poller_asleep, false);
}

static void turns_poll_until(struct dm_chan *chan, const volatile int *n_pending)
{
    bool is_oversubscribed = dm_adapt_is_oversubscribed(chan->adapt);
    struct dm_chan_turns *turns = &chan->turns;
    uint64_t since = 0;
    struct dm_waiter w;

    turns_take(turns);
    dm_wait_begin(chan, &w, DM_WAIT_MESSAGE, is_oversubscribed, 0);
    while (*n_pending != 0 && turns_are_mine(turns)) {
        since = w.since;
        if (turns_poll(chan, &w) && *n_pending != 0)
            turns_sleep(chan, &w);
    }
    dm_wait_end(chan, &w);
    turns_leave(turns, since != 0 && dm_clock_ns() - since > TURN_LONG_NS);
}

/* ---- the others ---- */

/* Looks at the poller's place; outside the lock. */
struct watch {
    unsigned int number; /* of the last time that it was empty */
    bool was_empty;
};

/* Has it been empty for a whole round of yields, or is the poller asleep? */
static bool watch_is_free(const struct dm_chan_turns *turns, struct watch *watch)
{
    unsigned int number;
    bool was_empty = watch->was_empty;

    watch->was_empty = atomic_load_explicit(&turns->poller, memory_order_relaxed) == NULL;
    if (!watch->was_empty)
        return atomic_load_explicit(&turns->is_poller_asleep, memory_order_relaxed);
    number = watch->number;
    watch->number = atomic_load_explicit(&turns->number, memory_order_relaxed);
    return was_empty && watch->number == number;
}

static void turn_sleep(struct dm_chan_turns *turns, struct turn *turn)
{
    uint32_t waits = TURN_WAITS, sleeps = TURN_SLEEPS;
    void *nobody = NULL;
    bool is_deputy =
        atomic_compare_exchange_strong(&turns->deputy, &nobody, (void *)&dm_mlock_self);

    if (atomic_compare_exchange_strong(&turn->state, &waits, TURN_SLEEPS)) {
        (void)dm_futex_wait(&turn->state, TURN_SLEEPS,
                            dm_futex_now() + (is_deputy ? TURN_DEPUTY_NS : TURN_SLEEP_NS));
        (void)atomic_compare_exchange_strong(&turn->state, &sleeps, TURN_WAITS);
    }
    if (is_deputy)
        atomic_store(&turns->deputy, NULL);
}

/* Outside the lock: until its wait is over, or there is no poller. */
static void turn_watch(struct dm_chan_turns *turns, struct turn *turn)
{
    struct watch watch = {0, false};
    uint64_t since = 0;

    for (;;) {
        for (int i = 0; i < TURN_LOOKS; i++) {
            if (atomic_load_explicit(&turn->state, memory_order_acquire) == TURN_OVER)
                return;
            dm_cpu_relax();
        }
        if (watch_is_free(turns, &watch))
            return;
        if (since == 0)
            since = dm_futex_now();
        if (dm_futex_now() - since < TURN_AWAKE_NS)
            sched_yield();
        else
            turn_sleep(turns, turn);
    }
}

static void turns_wait_for_poller(struct dm_chan *chan, const volatile int *n_pending)
{
    struct dm_chan_turns *turns = &chan->turns;
    struct turn turn = {.n_pending = n_pending, .state = TURN_WAITS};
    int levels;

    dm_list_add_tail(&turns->waiting, &turn.link);
    turns->n_waiting++;
    dm_mlock_add_listening(1);
    levels = dm_glock_release_all();
    turn_watch(turns, &turn);
    dm_glock_reacquire(levels);
    if (atomic_load(&turn.state) != TURN_OVER)
        turn_end(turns, &turn);
}

/* ---- waits ---- */

void dm_turns_wait(struct dm_chan *chan, const int *n_pending)
{
    const volatile int *flag = n_pending;

    while (*flag != 0) {
        if (turns_may_poll(&chan->turns))
            turns_poll_until(chan, flag);
        else
            turns_wait_for_poller(chan, flag);
    }
}

void dm_turns_progress_wait(struct dm_chan *chan)
{
    struct dm_waiter *w = &chan->waiter;

    if (!turns_may_poll(&chan->turns)) {
        turns_wait_for_poller(chan, NULL);
        return;
    }
    turns_take(&chan->turns);
    if (w->n == 0)
        dm_wait_begin(chan, w, DM_WAIT_MESSAGE, dm_adapt_is_oversubscribed(chan->adapt), 0);
    if (turns_poll(chan, w) && turns_are_mine(&chan->turns))
        turns_sleep(chan, w);
    turns_leave(&chan->turns, false);
}

bool dm_turns_pass(struct dm_chan *chan, struct dm_waiter *w)
{
    bool may_sleep;

    if (!turns_may_poll(&chan->turns)) {
        turns_let_in(&chan->turns, true);
        w->has_yielded = true;
        return dm_wait_idle(chan, w);
    }
    turns_take(&chan->turns);
    may_sleep = turns_poll(chan, w);
    turns_leave(&chan->turns, false);
    return may_sleep;
}

void dm_turns_test_idle(struct dm_chan *chan)
{
    if (chan->turns.n_waiting > 0 || dm_glock_is_wanted())
        dm_mlock_yield_after();
}
