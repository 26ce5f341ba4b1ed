/*
 * The progress engine: one pass over what is active, and how to wait.
 *
 * While every process has a core, waiting is spinning for DATUM_SPIN (1 ms unless
 * set), then sleeping in the provider for ever longer times, so that a process
 * that waits long does not burn its core (DATUM_PROGRESS: poll never sleeps, wait never spins). When processes outnumber cores the core is
 * yielded after a few passes, and they sleep soon: whoever we wait for may need this very core.
 */
#include "channel/channel.h"

#include <sched.h>

#include "channel/chan.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/glock.h"

#define SPIN_AUTO_NS         1000000
#define YIELD_NS             20000 /* of spinning, before others on the core get a chance in between */
#define POLLS                256    /* idle passes between looks at the clock */
#define POLLS_OVERSUBSCRIBED 2      /* idle passes before yielding or sleeping, when crowded */
#define TESTS_OVERSUBSCRIBED 8      /* idle tests before yielding, when crowded */
#define OVERSUBSCRIBED_NS    500000 /* of yielding when crowded: rounds of all ranks on a core */
#define SKIPS_MAX            1023 /* waits that sleep at once after yielding was in vain ten times */
#define POLLS_AWAKE          4    /* idle passes between two sleeps */
#define POLLS_GATE           4    /* passes between letting other threads in */
#define WAIT_MIN_US          50
#define WAIT_KNOCK_US        500 /* the first sleep when crowded: long enough for the peers to be told */
#define WAIT_MAX_US          100000
#define SHARE_POLLS          8 /* idle passes of a wait for shared memory between looks at the clock, */
#define SHARE_NS             4000 /* the time before it yields while every process has a core, */
#define YIELDS               2    /* and yields before it may sleep when not */

static int run_hooks(struct dm_chan *chan)
{
    struct dm_chan_hook *next;
    int n = 0;

    for (struct dm_chan_hook *hook = chan->hooks; hook != NULL; hook = next) {
        next = hook->next;
        n += hook->fn(hook);
    }
    return n;
}

static DM_NOINLINE int progress_work(struct dm_chan *chan)
{
    int n = 0;

    if (chan->depth > 0)
        return 0;
    if (chan->todo & DM_TODO_LOST)
        n += dm_chan_work_lost(chan);
    if (chan->todo & DM_TODO_SEND)
        n += dm_chan_work_send(chan);
    if (chan->todo & DM_TODO_FLUSH)
        n += dm_chan_work_flush(chan);
    if (chan->todo & DM_TODO_SELF)
        n += dm_chan_work_self(chan);
    if (chan->todo & DM_TODO_HOOK)
        n += run_hooks(chan);
    return n;
}

int dm_chan_progress(struct dm_chan *chan)
{
    int n = dm_adapt_poll(chan->adapt);

    if (dm_unlikely(chan->todo != 0))
        n += progress_work(chan);
    return n;
}

uint64_t dm_chan_patience(bool is_oversubscribed, uint64_t oversubscribed_ns)
{
    switch (dm_cfg()->progress) {
    case DM_PROGRESS_POLL:
        return UINT64_MAX;
    case DM_PROGRESS_WAIT:
        return 0;
    default:
        if (dm_cfg()->spin != DM_CFG_AUTO)
            return dm_cfg()->spin * 1000;
        return is_oversubscribed ? oversubscribed_ns : SPIN_AUTO_NS;
    }
}

uint64_t dm_chan_spin_ns(struct dm_chan *chan, bool is_oversubscribed)
{
    uint64_t oversubscribed_ns = chan->n_skips > 0 ? 0 : OVERSUBSCRIBED_NS;

    chan->n_skips -= is_oversubscribed && chan->n_skips > 0;
    return dm_chan_patience(is_oversubscribed, oversubscribed_ns);
}

void dm_chan_spin_ended(struct dm_chan *chan, bool was_useful)
{
    if (was_useful)
        chan->skips = 0;
    else
        chan->skips = chan->skips < SKIPS_MAX ? chan->skips * 2 + 1 : SKIPS_MAX;
    chan->n_skips = chan->skips;
}

void dm_chan_block(struct dm_chan *chan, uint64_t us)
{
    if (chan->progress_thread != NULL && !dm_progress_thread_allow_sleep(chan->progress_thread))
        return;
    atomic_fetch_add_explicit(&chan->n_rests, 1, memory_order_relaxed);
    dm_adapt_wait(chan->adapt, us);
    if (chan->progress_thread != NULL)
        dm_progress_thread_wake(chan->progress_thread);
}

/* Passes have been idle for a while: sleep, if it is time to. */
static DM_NOINLINE void progress_sleep(struct dm_chan *chan)
{
    bool is_oversubscribed = dm_adapt_is_oversubscribed(chan->adapt);

    if (chan->idle_most > 0) {
        uint64_t now = dm_clock_ns();

        if (chan->idle_since == 0)
            chan->idle_since = now;
        if (now - chan->idle_since < chan->idle_most) {
            chan->n_polls = chan->n_idle + (is_oversubscribed ? 1 : POLLS);
            if (is_oversubscribed || now - chan->idle_since > YIELD_NS)
                dm_chan_yield(chan, is_oversubscribed);
            return;
        }
        if (is_oversubscribed)
            dm_chan_spin_ended(chan, false);
        chan->idle_most = 0;
    }
    dm_chan_block(chan, chan->wait_us);
    chan->n_polls = chan->n_idle + POLLS_AWAKE;
    chan->wait_us = chan->wait_us * 2 < WAIT_MAX_US ? chan->wait_us * 2 : WAIT_MAX_US;
}

static DM_NOINLINE void idle_begins(struct dm_chan *chan)
{
    bool is_oversubscribed = dm_adapt_is_oversubscribed(chan->adapt);

    /* the last wait ended while it yielded */
    if (is_oversubscribed && chan->idle_since != 0 && chan->idle_most > 0)
        dm_chan_spin_ended(chan, true);
    chan->idle_since = 0;
    chan->wait_us = is_oversubscribed ? WAIT_KNOCK_US : WAIT_MIN_US;
    chan->idle_most = dm_chan_spin_ns(chan, is_oversubscribed);
    chan->n_polls =
        is_oversubscribed || chan->idle_most < SPIN_AUTO_NS ? POLLS_OVERSUBSCRIBED : POLLS;
}

/* A pass found nothing. */
static inline void idle(struct dm_chan *chan)
{
    if (dm_unlikely(chan->n_idle++ == 0))
        idle_begins(chan);
    if (dm_unlikely(chan->n_idle >= chan->n_polls))
        progress_sleep(chan);
}

/* Other threads get their turn whether something happens or not. */
static inline void progress_share(struct dm_chan *chan)
{
    if (dm_unlikely(chan->n_turns++ % POLLS_GATE == 0))
        dm_glock_yield();
}

void dm_chan_progress_wait(struct dm_chan *chan)
{
    if (dm_chan_progress(chan) > 0)
        chan->n_idle = 0;
    else
        idle(chan);
    progress_share(chan);
}

void dm_chan_wait(struct dm_chan *chan, const int *n_pending)
{
    const volatile int *flag = n_pending;

    while (*flag != 0) {
        int n = dm_adapt_poll(chan->adapt);

        if (dm_unlikely(chan->todo != 0))
            n += progress_work(chan);
        if (n > 0)
            chan->n_idle = 0;
        else
            idle(chan);
        progress_share(chan);
    }
}

int dm_chan_progress_test(struct dm_chan *chan)
{
    int n = dm_chan_progress(chan);

    if (n > 0)
        chan->n_idle_tests = 0;
    else if (++chan->n_idle_tests % TESTS_OVERSUBSCRIBED == 0 &&
             dm_adapt_is_oversubscribed(chan->adapt))
        sched_yield();
    return n;
}

/* ---- waits for shared memory ---- */

bool dm_chan_is_oversubscribed(const struct dm_chan *chan)
{
    return dm_adapt_is_oversubscribed(chan->adapt);
}

/* Idle for long enough to sleep? */
static bool progress_is_over(struct dm_chan *chan, struct dm_chan_idle *idle)
{
    uint64_t spin = dm_chan_patience(idle->is_oversubscribed, idle->patience), now = dm_clock_ns();

    if (idle->since == 0)
        idle->since = now;
    if (now - idle->since >= spin)
        return true;
    if (!idle->is_oversubscribed && now - idle->since > SHARE_NS)
        dm_chan_yield(chan, false);
    return false;
}

bool dm_chan_progress_spin(struct dm_chan *chan, struct dm_chan_idle *idle)
{
    int n = dm_chan_progress(chan);

    progress_share(chan);
    if (n > 0) {
        idle->n = 0;
        idle->since = 0;
        return false;
    }
    idle->n++;
    if (!idle->is_oversubscribed)
        return idle->n % SHARE_POLLS == 0 && progress_is_over(chan, idle);
    if (idle->since == 0)
        idle->since = dm_clock_ns();
    sched_yield();
    return idle->n >= YIELDS && progress_is_over(chan, idle);
}

void dm_chan_sleep(struct dm_chan *chan, struct dm_chan_idle *idle, uint64_t max_us)
{
    uint64_t least = idle->is_oversubscribed ? WAIT_KNOCK_US : WAIT_MIN_US;
    uint64_t us = idle->wait_us > least ? idle->wait_us : least;

    dm_chan_block(chan, us < max_us ? us : max_us);
    idle->wait_us = us * 2 < WAIT_MAX_US ? us * 2 : WAIT_MAX_US;
}

bool dm_chan_is_busy(const struct dm_chan *chan)
{
    if (chan->todo & (DM_TODO_SELF | DM_TODO_FLUSH | DM_TODO_LOST))
        return true;
    for (int i = 0; i < chan->size; i++) {
        const struct dm_chan_peer *peer = chan->peers[i];

        if (peer != NULL && !peer->is_lost &&
            (peer->queue.head != NULL || peer->flush.head != NULL))
            return true;
    }
    return false;
}

void dm_chan_hook_add(struct dm_chan *chan, struct dm_chan_hook *hook)
{
    if (hook->is_on)
        return;
    hook->is_on = true;
    hook->next = chan->hooks;
    chan->hooks = hook;
    chan->todo |= DM_TODO_HOOK;
}

void dm_chan_hook_del(struct dm_chan *chan, struct dm_chan_hook *hook)
{
    struct dm_chan_hook **at = &chan->hooks;

    if (!hook->is_on)
        return;
    while (*at != NULL && *at != hook)
        at = &(*at)->next;
    if (*at != NULL)
        *at = hook->next;
    hook->is_on = false;
    if (chan->hooks == NULL)
        chan->todo &= ~(unsigned)DM_TODO_HOOK;
}
