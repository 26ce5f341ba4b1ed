/*
 * The waiter: the table of policies, and the loops that go by it.
 */
#include "channel/wait.h"

#include <limits.h>
#include <stdatomic.h>

#include "channel/chan.h"
#include "channel/channel.h"
#include "channel/turns.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/futex.h"
#include "util/glock.h"
#include "util/host.h"
#include "util/slice.h"

#define SPIN_AUTO_NS  1000000 /* DATUM_SPIN=auto while every process has a core */
#define BACKOFF_MAX   1023    /* waits that sleep at once after yielding was in vain ten times */
#define CROWD         4 /* ranks that rounds of yields are short for, on any number of cores */
#define YIELDS_ROUNDS 4 /* of slices of all ranks of a core */
#define YIELDS_MAX_NS UINT64_C(500000000)
#define FREE_LOOK_NS  100000 /* as long as it looks so often */
#define FIRST_HURRIED 2 /* idle passes before the first look at the clock when it polls for less */

/* dm_wait_round_ns: this, for each rank besides, and 1 ns for so many bytes; at most; halved so often at most. */
#define ROUND_NS       20000
#define ROUND_RANK_NS  4000
#define ROUND_BYTES_NS 8
#define ROUND_MAX_NS   1000000
#define ROUND_LONG_MAX 5
#define ROUND_LONG     8 /* times that: a wait that was too long to yield for */

/* Passes before the first sleep for a job, and sleeps. */
static const uint32_t wait_job_passes[2] = {200, 4};
#define JOB_FIRST_NS  UINT64_C(50000)
#define JOB_DOUBLINGS 5

const struct dm_wait_policy dm_wait_policies[DM_N_WAITS] = {
    /* When oversubscribed, the first sleep lets peers arm and notify; rounds of all ranks on a core take 0.5 ms. */
    [DM_WAIT_MESSAGE] = {.looks = {1, 1},
                         .free = 32,
                         .first = {256, 2},
                         .passes = {256, 1},
                         .awake = {4, 4},
                         .yield_ns = 20000,
                         .spin_ns = 500000,
                         .learns = true,
                         .by_message = true,
                         .sleep_us = {50, 500},
                         .sleep_max_us = {100000, 100000}},
    /* The writer sends a packet: sleeps may be long from the start. */
    [DM_WAIT_WORD] = {.looks = {16, 1},
                      .free = 32,
                      .first = {64, 1},
                      .passes = {64, 1},
                      .awake = {64, 1},
                      .yield_ns = 20000,
                      .spin_ns = 500000,
                      .learns = true,
                      .by_message = true,
                      .sleep_us = {2000, 2000},
                      .sleep_max_us = {100000, 100000}},
    /* While every process has a core nobody wakes us: 1 ms at most. Else somebody does; lost peers are looked for.
     * Yields that took long say nothing: were they followed by a sleep, all would sleep in each round, and wake
     * each other. So it is where others share the cores: ranks of other hosts that are on this machine, too. */
    [DM_WAIT_ROUND] = {.looks = {200, 20},
                       .first = {8, 1},
                       .passes = {8, 1},
                       .awake = {8, 1},
                       .yield_ns = 4000,
                       .spin_ns = 500000,
                       .yields = 16,
                       .sleep_us = {50, 500},
                       .sleep_max_us = {1000, 100000}},
};

/* ns of polling or yielding before the first sleep, by DATUM_PROGRESS and DATUM_SPIN. */
static uint64_t wait_spin_ns(bool is_oversubscribed, uint64_t oversubscribed_ns)
{
    switch (dm_cfg()->progress) {
    case DM_PROGRESS_POLL:
        return UINT64_MAX;
    case DM_PROGRESS_WAIT:
        return 0;
    default:
        if (dm_clock_is_virtual()) /* polling costs nothing */
            return UINT64_MAX;
        if (dm_cfg()->spin != DM_CFG_AUTO)
            return dm_cfg()->spin * 1000;
        return is_oversubscribed ? oversubscribed_ns : SPIN_AUTO_NS;
    }
}

uint64_t dm_chan_polls_until(const struct dm_chan *chan)
{
    uint64_t ns;

    if (dm_clock_is_virtual() || dm_chan_is_oversubscribed(chan))
        return 0;
    ns = wait_spin_ns(false, 0);
    return ns == UINT64_MAX ? ns : dm_clock_ns() + ns;
}

/*
 * A round of yields takes up to a slice for each rank of the core; who sleeps meanwhile costs all its peers a message,
 * which makes the round longer, so that more of them sleep. Where others compute on the core, each yield gives a slice
 * away: so it is short. It has to be for all: among some with short slices and others with long ones those with short
 * ones yield again and again before another runs.
 */
void dm_wait_start(struct dm_chan *chan)
{
    uint64_t n = (uint64_t)chan->job.n_local;

    dm_slice_shorten();
    chan->long_wait.every = DM_WAIT_LONG_NS;
    if (n <= CROWD) /* cores are counted where that matters only: it takes reading files */
        return;
    n /= (uint64_t)(chan->job.n_cores > 0 ? chan->job.n_cores : dm_host_cores());
    if (n > DM_WAIT_LONG_RANKS)
        chan->long_wait.every = DM_WAIT_LONG_NS * n / DM_WAIT_LONG_RANKS;
    chan->yields_ns = YIELDS_ROUNDS * n * DM_SLICE_NS;
    if (chan->yields_ns > YIELDS_MAX_NS)
        chan->yields_ns = YIELDS_MAX_NS;
}

void dm_wait_begin(struct dm_chan *chan, struct dm_waiter *w, enum dm_wait_kind kind,
                   bool is_oversubscribed, uint64_t spin_ns)
{
    const struct dm_wait_policy *policy = &dm_wait_policies[kind];

    if (chan->long_wait.n_pending == NULL && chan->long_wait.note == NULL)
        chan->long_wait.since = 0;
    if (spin_ns == 0)
        spin_ns = is_oversubscribed && chan->yields_ns > policy->spin_ns ? chan->yields_ns
                                                                         : policy->spin_ns;
    *w = (struct dm_waiter){.policy = policy,
                            .is_oversubscribed = is_oversubscribed,
                            .sleep_us = policy->sleep_us[is_oversubscribed]};
    w->spin_ns = w->first_spin_ns = wait_spin_ns(is_oversubscribed, spin_ns);
    if (policy->learns && is_oversubscribed && dm_backoff_skips(&chan->yield_backoff)) {
        w->spin_ns = wait_spin_ns(is_oversubscribed, 0);
        w->skipped_at = dm_clock_ns();
    }
    w->next_clock = w->spin_ns < SPIN_AUTO_NS && (!is_oversubscribed || w->spin_ns == 0)
                        ? FIRST_HURRIED
                        : policy->first[is_oversubscribed];
}

void dm_wait_end(struct dm_chan *chan, struct dm_waiter *w)
{
    bool has_worked =
        w->skipped_at != 0 ? dm_clock_ns() - w->skipped_at < w->first_spin_ns : w->spin_ns > 0;

    if (w->policy->learns && has_worked && w->n > 0)
        dm_backoff_worked(&chan->yield_backoff);
}

void dm_wait_reset(struct dm_waiter *w)
{
    w->n = 0;
    w->since = 0;
    w->next_clock = w->policy->first[w->is_oversubscribed];
    if (!w->policy->learns)
        w->spin_ns = w->first_spin_ns;
}

/* Nobody has taken up the last yields, which was a moment ago. */
static inline bool wait_is_free(struct dm_chan_cores *c, uint64_t now)
{
    if (c->n_free < DM_WAIT_FREE_YIELDS)
        return false;
    if (now - c->free_at > FREE_LOOK_NS)
        c->n_free = 0;
    c->free_at = now;
    return c->n_free > 0;
}

/* Processes outnumber cores: give the core away, rarely while nobody takes it. */
static void wait_yield_oversubscribed(struct dm_chan *chan, struct dm_waiter *w, uint64_t now)
{
    const struct dm_wait_policy *policy = w->policy;
    bool is_free = policy->free > 0 && wait_is_free(&chan->cores, now);

    w->next_clock = w->n + (is_free ? policy->free : policy->passes[1]);
    if (w->has_yielded || (is_free && (w->n < policy->free || now < chan->cores.free_until)))
        return;
    if (policy->free > 0)
        dm_chan_yield_oversubscribed(chan, now);
    else
        sched_yield();
}

DM_NOINLINE bool dm_wait_look_at_clock(struct dm_chan *chan, struct dm_waiter *w)
{
    const struct dm_wait_policy *policy = w->policy;
    uint64_t now;

    if (w->spin_ns == 0)
        return true;
    now = dm_clock_ns();
    dm_wait_look_after(chan, now);
    if (w->since == 0)
        w->since = now;
    if (w->is_oversubscribed && dm_adapt_awaits_place(chan->adapt))
        return true; /* yielding would only keep the peer from its core */
    if (now - w->since < w->spin_ns || (w->is_oversubscribed && w->n <= policy->yields)) {
        if (w->is_oversubscribed) {
            wait_yield_oversubscribed(chan, w, now);
            return false;
        }
        w->next_clock = w->n + policy->passes[0];
        if (!w->has_yielded && now - w->since > policy->yield_ns)
            dm_chan_yield(chan, now);
        return false;
    }
    if (w->is_oversubscribed && policy->learns)
        dm_backoff_failed(&chan->yield_backoff, BACKOFF_MAX);
    w->spin_ns = 0;
    return true;
}

bool dm_wait_pass(struct dm_chan *chan, struct dm_waiter *w)
{
    int n;

    if (dm_unlikely(dm_turns_are_shared()))
        return dm_turns_pass(chan, w);
    n = dm_chan_progress(chan);
    if (n == 0)
        return dm_wait_idle(chan, w);
    dm_wait_reset(w);
    return false;
}

/* Until something may have happened, in the provider; or, where there are progress threads, until one of them says so. */
void dm_wait_sleep(struct dm_chan *chan, struct dm_waiter *w, uint64_t max_us)
{
    bool has_thread = chan->progress_thread != NULL && !dm_glock_is_progress_thread();
    const struct dm_wait_policy *policy = w->policy;
    uint64_t most = policy->sleep_max_us[w->is_oversubscribed];
    bool is_long = has_thread || w->sleep_us >= most ||
                   (policy->by_message && w->is_oversubscribed && dm_adapt_is_woken(chan->adapt));
    uint64_t us = is_long ? most : w->sleep_us;
    bool is_news = false;

    dm_wait_look_after(chan, dm_clock_ns());
    w->n_sleeps++;
    us = us < max_us ? us : max_us;
    if (has_thread)
        is_news = dm_progress_thread_await(chan->progress_thread, us);
    else
        dm_adapt_wait(chan->adapt, us);
    w->next_clock = w->n + policy->awake[w->is_oversubscribed];
    w->sleep_us = 2 * us < most ? 2 * us : most;
    if (is_news)
        dm_wait_reset(w);
}

/* The writer may have come between the last look and our saying so: look again, then sleep. */
static void wait_sleep_for_word(struct dm_chan *chan, struct dm_waiter *w,
                                struct dm_wait_word *word)
{
    (*(volatile uint32_t *)word->asleep)++;
    atomic_thread_fence(memory_order_seq_cst);
    if (!word->is_over(word))
        dm_wait_sleep(chan, w, UINT64_MAX);
    (*(volatile uint32_t *)word->asleep)--;
}

static inline bool wait_looks_at_word(struct dm_wait_word *word, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (word->is_over(word))
            return true;
    return false;
}

void dm_wait_for_word(struct dm_chan *chan, struct dm_wait_word *word)
{
    bool is_oversubscribed = dm_adapt_is_oversubscribed(chan->adapt);
    uint32_t looks = dm_wait_policies[DM_WAIT_WORD].looks[is_oversubscribed];
    struct dm_waiter w;

    dm_wait_begin(chan, &w, DM_WAIT_WORD, is_oversubscribed, 0);
    while (!wait_looks_at_word(word, looks)) {
        if (dm_unlikely(dm_turns_are_shared()))
            dm_turns_wait_word(chan, word);
        else if (dm_wait_pass(chan, &w))
            wait_sleep_for_word(chan, &w, word);
    }
    dm_wait_end(chan, &w);
}

void dm_wait_until(struct dm_chan *chan, struct dm_wait_word *word)
{
    uint32_t n = 0;

    while (!word->is_over(word)) {
        if (dm_unlikely(dm_turns_are_shared())) {
            dm_turns_wait_word(chan, word);
        } else if (word->is_untold) {
            dm_chan_progress_test(chan);
            dm_wait_short(&n);
        } else {
            dm_chan_progress_wait(chan);
        }
    }
}

uint64_t dm_wait_round_ns(int n_ranks, uint64_t bytes, unsigned int n_overlong)
{
    uint64_t ns = ROUND_NS + ROUND_RANK_NS * (uint64_t)n_ranks + bytes / ROUND_BYTES_NS;

    return (ns < ROUND_MAX_NS ? ns : ROUND_MAX_NS) >> n_overlong;
}

void dm_wait_round_learn(unsigned int *n_overlong, int n_ranks, uint64_t bytes, uint64_t since)
{
    if (dm_clock_ns() - since > ROUND_LONG * dm_wait_round_ns(n_ranks, bytes, 0))
        *n_overlong += *n_overlong < ROUND_LONG_MAX;
    else
        *n_overlong -= *n_overlong > 0;
}

/* ---- what other threads of this process do ---- */

static struct {
    int n_jobs;
    _Atomic uint32_t n_notified;
} wait_others;

void dm_wait_jobs_add(int n)
{
    wait_others.n_jobs += n;
}

void dm_wait_notify(void)
{
    atomic_fetch_add(&wait_others.n_notified, 1);
    dm_futex_wake(&wait_others.n_notified, INT_MAX);
}

uint32_t dm_wait_n_notified(void)
{
    return atomic_load(&wait_others.n_notified);
}

void dm_wait_timed(uint32_t n_notified, uint64_t ns)
{
    int levels = dm_glock_release_all();

    (void)dm_futex_wait(&wait_others.n_notified, n_notified, dm_futex_now() + ns);
    dm_glock_reacquire(levels);
}

void dm_wait_job_pass(struct dm_chan *chan, uint32_t *n_idle)
{
    uint32_t n_notified = dm_wait_n_notified();
    uint32_t n_awake = wait_job_passes[dm_adapt_is_oversubscribed(chan->adapt)];

    if (wait_others.n_jobs == 0) {
        dm_chan_progress_wait(chan);
        return;
    }
    if (dm_chan_progress(chan) > 0) {
        *n_idle = 0;
        return;
    }
    if (*n_idle < n_awake) {
        if (chan->long_wait.note == NULL)
            chan->long_wait.since = 0;
        dm_glock_yield();
    } else {
        uint32_t n_sleeps = *n_idle - n_awake;
        uint64_t ns = JOB_FIRST_NS << (n_sleeps < JOB_DOUBLINGS ? n_sleeps : JOB_DOUBLINGS);

        dm_wait_look_after(chan, dm_clock_ns());
        dm_wait_timed(n_notified, ns < DM_WAIT_JOB_NS ? ns : DM_WAIT_JOB_NS);
    }
    ++*n_idle;
}
