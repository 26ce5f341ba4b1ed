/*
 * The progress engine: one pass over what is active; waits for requests.
 */
#include "channel/channel.h"

#include <sched.h>

#include "channel/chan.h"
#include "channel/turns.h"
#include "channel/zero_copy.h"

static int progress_run_hooks(struct dm_chan *chan)
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
        n += progress_run_hooks(chan);
    return n;
}

int dm_chan_progress(struct dm_chan *chan)
{
    int n = dm_adapt_poll(chan->adapt);

    if (dm_unlikely(chan->todo != 0))
        n += progress_work(chan);
    return n;
}

/* The first idle pass after one that found something. */
static DM_NOINLINE void progress_idle_begin(struct dm_chan *chan)
{
    struct dm_waiter *w = &chan->waiter;
    bool is_oversubscribed = dm_adapt_is_oversubscribed(chan->adapt);

    if (is_oversubscribed && (w->since != 0 || w->skipped_at != 0)) { /* of the last wait */
        w->n = 1;
        dm_wait_end(chan, w);
    }
    dm_wait_begin(chan, w, DM_WAIT_MESSAGE, is_oversubscribed, 0);
}

/* A pass found nothing. */
static inline void progress_idle(struct dm_chan *chan)
{
    if (dm_unlikely(chan->waiter.n == 0))
        progress_idle_begin(chan);
    if (dm_wait_idle(chan, &chan->waiter))
        dm_wait_sleep(chan, &chan->waiter, UINT64_MAX);
}

void dm_chan_progress_wait(struct dm_chan *chan)
{
    if (dm_unlikely(dm_turns_are_shared()))
        dm_turns_progress_wait(chan);
    else if (dm_chan_progress(chan) > 0)
        chan->waiter.n = 0;
    else
        progress_idle(chan);
}

void dm_chan_wait(struct dm_chan *chan, const int *n_pending)
{
    const volatile int *flag = n_pending;

    chan->long_wait.n_pending = n_pending;
    if (dm_unlikely(chan->long_wait.is_timed))
        dm_wait_timed_begin(chan);
    while (*flag != 0) {
        int n;

        if (dm_unlikely(dm_turns_are_shared())) {
            dm_turns_wait(chan, n_pending);
            break;
        }
        n = dm_adapt_poll(chan->adapt);
        if (dm_unlikely(chan->todo != 0))
            n += progress_work(chan);
        if (n > 0)
            chan->waiter.n = 0;
        else
            progress_idle(chan);
    }
    chan->long_wait.n_pending = NULL;
    chan->long_wait.since = 0;
    if (dm_unlikely(chan->long_wait.is_timed))
        dm_wait_timed_end(chan);
}

int dm_chan_progress_test(struct dm_chan *chan)
{
    struct dm_chan_tests *tests = &chan->tests;
    int n = dm_chan_progress(chan);

    if (n > 0) {
        if (tests->n_idle < DM_WAIT_IDLE_TESTS)
            tests->most /= 2;
        tests->n_idle = 0;
    } else if (++tests->n_idle >= DM_WAIT_IDLE_TESTS && tests->n_idle >= tests->most) {
        dm_chan_tests_idle(chan);
    }
    return n;
}

bool dm_chan_is_oversubscribed(const struct dm_chan *chan)
{
    return dm_adapt_is_oversubscribed(chan->adapt);
}

bool dm_chan_is_job_oversubscribed(const struct dm_chan *chan)
{
    return chan->job.n_cores > 0 && chan->job.n_local > chan->job.n_cores;
}

bool dm_chan_is_busy(const struct dm_chan *chan)
{
    if (chan->todo & (DM_TODO_SELF | DM_TODO_FLUSH | DM_TODO_LOST))
        return true;
    for (const struct dm_chan_peer *peer = chan->all; peer != NULL; peer = peer->next) {
        if (!peer->is_lost && (peer->queue.head != NULL || peer->flush.head != NULL))
            return true;
        if (dm_zero_copy_is_busy(peer))
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
