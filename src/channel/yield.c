/*
 * Giving the core to others while waiting.
 */
#include <sched.h>
#include <time.h>

#include "channel/chan.h"
#include "util/clock.h"

#define TAKEN_NS      1500 /* a yield that nobody takes up lasts a fifth of it */
#define TAKEN_LONG_NS 100000
#define TAKEN_MOST    8
#define NAP_PAUSE_MIN UINT64_C(1000000)
#define NAP_PAUSE_MAX UINT64_C(8000000)
#define HOLD_MIN      UINT64_C(1000000) /* without yields, after one that was taken up long */
#define HOLD_MAX      UINT64_C(32000000)

/* Go to another core. The thread may run where it could before. */
static void leave_core(int core)
{
    cpu_set_t all, others;

    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof(all), &all) != 0)
        return;
    others = all;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0)
        return;
    (void)sched_setaffinity(0, sizeof(all), &all);
}

/*
 * Somebody else wants this core though every process should have one: two of the job that started on the same,
 * say, which the system lets yield to each other for tenths of a second, as it moves nobody
 * who ran a moment ago. But for who wakes up it looks for an idle core: so sleep for a moment. Where none is
 * idle, because somebody of low priority computes there, that does not help: the next time, move.
 */
static void part(struct dm_chan *chan, uint64_t now)
{
    static const struct timespec moment = {.tv_nsec = 1};
    int core = sched_getcpu();

    if (now < chan->next_nap)
        return;
    if (now > chan->next_nap + 2 * NAP_PAUSE_MAX || chan->nap_pause == 0) {
        chan->nap_pause = NAP_PAUSE_MIN;
        chan->nap_core = -1;
    } else if (chan->nap_pause < NAP_PAUSE_MAX) {
        chan->nap_pause *= 2;
    }
    chan->next_nap = now + chan->nap_pause;
    if (core == chan->nap_core) {
        leave_core(core);
        chan->nap_core = -1;
    } else {
        (void)nanosleep(&moment, NULL);
        chan->nap_core = core;
    }
}

/*
 * It was no process of the job that took the yield up: that would have yielded, too. Such a one gets its share of the
 * core anyhow, and what we are waiting for may come while it has it: yield no more for a while.
 */
static void hold_core(struct dm_chan *chan, uint64_t now)
{
    uint64_t pause = 2 * chan->yield_pause;

    chan->nap_core = -1;
    pause = pause > HOLD_MIN ? pause : HOLD_MIN;
    chan->yield_pause = pause < HOLD_MAX ? pause : HOLD_MAX;
    chan->next_yield = now + chan->yield_pause;
}

void dm_chan_yield(struct dm_chan *chan, bool is_crowded)
{
    uint64_t start, ns;

    if (is_crowded) {
        sched_yield();
        return;
    }
    start = dm_clock_ns();
    if (start < chan->next_yield)
        return;
    sched_yield();
    ns = dm_clock_ns() - start;
    if (ns > TAKEN_LONG_NS)
        hold_core(chan, start + ns);
    else
        chan->yield_pause = 0;
    if (ns <= TAKEN_NS)
        return;
    if (++chan->n_taken >= TAKEN_MOST) {
        chan->n_taken = 0;
        part(chan, start + ns);
    }
}
