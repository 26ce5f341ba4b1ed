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
#define TURN_UNTOLD_US 50       /* a poller's sleep where somebody waits for what nobody tells */
#define TURN_LONG_NS   50000 /* a poller that waited so long leaves its place to somebody it wakes */
#define TURN_STAY_NS   300000 /* a poller with messages keeps its core from who is notified, */
#define TURN_IDLE_NS   1000   /* and one without */

enum { TURN_WAITS, TURN_SLEEPS, TURN_OVER };

/* What a wait is for: a request, or a word that another process writes. */
struct goal {
    const volatile int *n_pending;
    struct dm_wait_word *word; /* NULL: the request */
};

/* A thread that waits; on its stack. */
struct turn {
    struct dm_list link;
    const struct goal *goal; /* NULL: anything may end it */
    bool is_announced;       /* the poller sleeps and is to be woken for its word */
    _Atomic uint32_t state;  /* TURN_*; futex */
};

static inline bool goal_is_reached(const struct goal *goal)
{
    return goal->word == NULL ? *goal->n_pending == 0 : goal->word->is_over(goal->word);
}

/* Whoever writes the word has to send a packet from now on (1), or not any more (-1). */
static void goal_announce(const struct goal *goal, int n)
{
    if (goal != NULL && goal->word != NULL && goal->word->asleep != NULL)
        *(volatile uint32_t *)goal->word->asleep += (uint32_t)n;
}

static void turn_announce(struct turn *turn, bool is_on)
{
    if (turn->is_announced == is_on)
        return;
    turn->is_announced = is_on;
    goal_announce(turn->goal, is_on ? 1 : -1);
}

static void turn_end(struct dm_chan_turns *turns, struct turn *turn)
{
    turn_announce(turn, false);
    dm_list_del(&turn->link);
    turns->n_waiting--;
    dm_mlock_add_listening(-1);
}

static void turn_notify(struct dm_chan_turns *turns, struct turn *turn)
{
    turn_end(turns, turn);
    if (turns->n_notified++ == 0)
        turns->due = dm_futex_now() + TURN_STAY_NS;
    if (atomic_exchange(&turn->state, TURN_OVER) == TURN_SLEEPS)
        dm_futex_wake(&turn->state, 1);
}

/* Somebody is about to give the lock back. */
static void turns_notify(void *arg)
{
    struct dm_chan_turns *turns = &((struct dm_chan *)arg)->turns;

    dm_list_for_each_safe (it, next, &turns->waiting) {
        struct turn *turn = dm_container_of(it, struct turn, link);

        if (turn->goal != NULL ? goal_is_reached(turn->goal) : !turns->is_idle)
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

    return poller == NULL || poller == &dm_mlock_self || atomic_load(&turns->is_poller_away);
}

static void turns_take(struct dm_chan_turns *turns)
{
    turns->idle_since = 0;
    atomic_store_explicit(&turns->poller, (void *)&dm_mlock_self, memory_order_relaxed);
    atomic_store_explicit(&turns->is_poller_away, false, memory_order_relaxed);
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

/*
 * How long a poller that finds nothing keeps its core from who is notified. If the threads of two processes that wait
 * for each other changed at the same time, none would ever find its partner: so it is for a moment or long, by chance.
 */
static uint64_t turns_idle_ns(const struct dm_chan_turns *turns, uint64_t now)
{
    static const uint16_t ns[4] = {0, 0, 500, 4000};

    return turns->has_stayed ? TURN_IDLE_NS : ns[now / 64 % 4];
}

/*
 * A switch to another thread takes as long as ten messages of this one, and the peer's threads have to switch, too. So
 * who has been notified waits while this thread has what to do, but not for long.
 */
static bool turns_must_let_in(struct dm_chan_turns *turns, int n)
{
    uint64_t now;

    if (dm_glock_is_wanted())
        return true;
    if (turns->n_notified == 0)
        return false;
    now = dm_futex_now();
    if (n > 0) {
        turns->idle_since = 0;
    } else if (turns->idle_since == 0) {
        turns->idle_since = now;
        turns->idle_ns = turns_idle_ns(turns, now);
    }
    return n > 0 ? now >= turns->due : now - turns->idle_since >= turns->idle_ns;
}

/* A pass of the poller. What is to be done next: */
enum poll_result { POLL_GO_ON, POLL_SLEEP, POLL_LET_IN };

static enum poll_result turns_poll(struct dm_chan *chan, struct dm_waiter *w)
{
    struct dm_chan_turns *turns = &chan->turns;
    int n = dm_chan_progress(chan);

    if (turns->n_waiting > 0) {
        turns->is_idle = n == 0;
        turns_notify(chan);
        turns->is_idle = false;
    }
    if (n > 0) {
        if (chan->progress_thread != NULL)
            dm_progress_thread_news(chan->progress_thread);
        dm_wait_reset(w);
    }
    w->has_yielded = turns_must_let_in(turns, n);
    if (n == 0 && dm_wait_idle(chan, w))
        return POLL_SLEEP;
    return w->has_yielded ? POLL_LET_IN : POLL_GO_ON;
}

static void turns_announce(struct dm_chan_turns *turns, const struct goal *goal, bool is_on)
{
    goal_announce(goal, is_on ? 1 : -1);
    dm_list_for_each (it, &turns->waiting)
        turn_announce(dm_container_of(it, struct turn, link), is_on);
}

static bool goal_is_untold(const struct goal *goal)
{
    return goal != NULL && goal->word != NULL && goal->word->is_untold;
}

/* How long the poller may sleep. */
static uint64_t turns_most_us(const struct dm_chan_turns *turns, const struct goal *goal)
{
    bool is_untold = goal_is_untold(goal);

    dm_list_for_each (it, &turns->waiting)
        is_untold |= goal_is_untold(dm_container_of(it, struct turn, link)->goal);
    return is_untold ? TURN_UNTOLD_US : UINT64_MAX;
}

/*
 * The words of all that wait may have been written between the last look and our saying so: look again. The others
 * are notified when this thread gives the lock back to sleep.
 */
static void turns_sleep(struct dm_chan *chan, struct dm_waiter *w, const struct goal *goal)
{
    struct dm_chan_turns *turns = &chan->turns;

    atomic_store(&turns->is_poller_asleep, true);
    atomic_store(&turns->is_poller_away, true);
    turns_announce(turns, goal, true);
    atomic_thread_fence(memory_order_seq_cst);
    turns->is_idle = true;
    if (goal == NULL || !goal_is_reached(goal))
        dm_wait_sleep(chan, w, turns_most_us(turns, goal));
    turns->is_idle = false;
    turns_announce(turns, goal, false);
    if (turns_are_mine(turns))
        turns_take(turns);
}

/* ---- the others ---- */

/* Looks at the poller's place; outside the lock. */
struct watch {
    unsigned int number; /* of the last time that it was empty */
    bool was_empty;
};

/*
 * Has it been empty for a whole round of yields, or is the poller asleep while this wait has just begun? Once it has
 * lasted for long, the poller is woken for it, too.
 */
static bool watch_is_free(const struct dm_chan_turns *turns, struct watch *watch, bool is_fresh)
{
    unsigned int number;
    bool was_empty = watch->was_empty;

    if (turns_are_mine(turns))
        return true;
    watch->was_empty = atomic_load_explicit(&turns->poller, memory_order_relaxed) == NULL;
    if (!watch->was_empty)
        return is_fresh && atomic_load_explicit(&turns->is_poller_asleep, memory_order_relaxed);
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
    bool is_hurried = is_deputy && !atomic_load(&turns->is_poller_asleep);

    if (atomic_compare_exchange_strong(&turn->state, &waits, TURN_SLEEPS)) {
        (void)dm_futex_wait(&turn->state, TURN_SLEEPS,
                            dm_futex_now() + (is_hurried ? TURN_DEPUTY_NS : TURN_SLEEP_NS));
        (void)atomic_compare_exchange_strong(&turn->state, &sleeps, TURN_WAITS);
    }
    if (is_deputy)
        atomic_store(&turns->deputy, NULL);
}

static inline bool turn_has_come(struct turn *turn)
{
    const struct dm_wait_word *word = turn->goal != NULL ? turn->goal->word : NULL;

    return atomic_load_explicit(&turn->state, memory_order_acquire) == TURN_OVER ||
           (word != NULL && word->has_come != NULL && word->has_come(word));
}

/* Outside the lock: until its wait is over, or there is no poller; for a while if anything may end it. */
static void turn_watch(struct dm_chan_turns *turns, struct turn *turn)
{
    struct watch watch = {0, false};
    uint64_t since = 0;

    for (;;) {
        bool is_fresh;

        for (int i = 0; i < TURN_LOOKS; i++) {
            if (turn_has_come(turn))
                return;
            dm_cpu_relax();
        }
        if (since == 0)
            since = dm_futex_now();
        is_fresh = dm_futex_now() - since < TURN_AWAKE_NS;
        if (watch_is_free(turns, &watch, is_fresh))
            return;
        if (is_fresh) {
            sched_yield();
            continue;
        }
        turn_sleep(turns, turn);
        if (turn->goal == NULL)
            return;
    }
}

/* By the poller, too: it goes on if nobody has taken its place when it has its core again. */
static void turns_wait_for_poller(struct dm_chan *chan, const struct goal *goal)
{
    struct dm_chan_turns *turns = &chan->turns;
    struct turn turn = {.goal = goal, .state = TURN_WAITS};
    bool is_away = turns_are_mine(turns);
    int levels;

    dm_list_add_tail(&turns->waiting, &turn.link);
    turns->n_waiting++;
    dm_mlock_add_listening(1);
    if (is_away) {
        turns->has_stayed = false;
        atomic_store_explicit(&turns->is_poller_away, true, memory_order_relaxed);
    }
    levels = dm_glock_release_all();
    if (is_away)
        sched_yield();
    turn_watch(turns, &turn);
    dm_glock_reacquire(levels);
    if (atomic_load(&turn.state) != TURN_OVER)
        turn_end(turns, &turn);
    else if (--turns->n_notified == 0)
        turns->due = 0;
    if (turns_are_mine(turns))
        turns_take(turns);
}

static void turns_poll_until(struct dm_chan *chan, const struct goal *goal)
{
    bool is_oversubscribed = dm_adapt_is_oversubscribed(chan->adapt);
    struct dm_chan_turns *turns = &chan->turns;
    uint64_t since = 0;
    struct dm_waiter w;

    turns_take(turns);
    dm_wait_begin(chan, &w, DM_WAIT_MESSAGE, is_oversubscribed, 0);
    while (!goal_is_reached(goal) && turns_are_mine(turns)) {
        enum poll_result result = turns_poll(chan, &w);

        since = w.since;
        if (result == POLL_SLEEP)
            turns_sleep(chan, &w, goal);
        else if (result == POLL_LET_IN)
            turns_wait_for_poller(chan, goal);
    }
    dm_wait_end(chan, &w);
    turns->has_stayed = turns_are_mine(turns);
    turns_leave(turns, since != 0 && dm_clock_ns() - since > TURN_LONG_NS);
}

/* ---- waits ---- */

static void turns_wait_for(struct dm_chan *chan, const struct goal *goal)
{
    while (!goal_is_reached(goal)) {
        if (turns_may_poll(&chan->turns))
            turns_poll_until(chan, goal);
        else
            turns_wait_for_poller(chan, goal);
    }
}

void dm_turns_wait(struct dm_chan *chan, const int *n_pending)
{
    struct goal goal = {.n_pending = n_pending};

    turns_wait_for(chan, &goal);
}

void dm_turns_wait_word(struct dm_chan *chan, struct dm_wait_word *word)
{
    struct goal goal = {.word = word};

    turns_wait_for(chan, &goal);
}

void dm_turns_progress_wait(struct dm_chan *chan)
{
    struct dm_waiter *w = &chan->waiter;
    enum poll_result result;

    if (!turns_may_poll(&chan->turns)) {
        turns_wait_for_poller(chan, NULL);
        return;
    }
    turns_take(&chan->turns);
    if (w->n == 0)
        dm_wait_begin(chan, w, DM_WAIT_MESSAGE, dm_adapt_is_oversubscribed(chan->adapt), 0);
    result = turns_poll(chan, w);
    if (result == POLL_SLEEP)
        turns_sleep(chan, w, NULL);
    turns_leave(&chan->turns, result == POLL_SLEEP);
    if (result == POLL_LET_IN)
        turns_let_in(&chan->turns, w->n > 0);
}

bool dm_turns_pass(struct dm_chan *chan, struct dm_waiter *w)
{
    enum poll_result result;

    if (!turns_may_poll(&chan->turns)) {
        turns_let_in(&chan->turns, true);
        w->has_yielded = true;
        return dm_wait_idle(chan, w);
    }
    turns_take(&chan->turns);
    result = turns_poll(chan, w);
    turns_leave(&chan->turns, false);
    if (result == POLL_LET_IN)
        turns_let_in(&chan->turns, w->n > 0);
    return result == POLL_SLEEP;
}

void dm_turns_test_idle(struct dm_chan *chan)
{
    if (chan->turns.n_waiting > 0 || dm_glock_is_wanted())
        dm_mlock_yield_after();
}
