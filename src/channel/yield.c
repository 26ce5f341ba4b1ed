/*
 * Giving the core to others while waiting.
 */
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "channel/chan.h"
#include "channel/turns.h"
#include "channel/wait.h"
#include "util/clock.h"
#include "util/host.h"

#define TAKEN_NS      1500 /* a yield that nobody takes up is shorter, or as empty ones below */
#define TAKEN_LONG_NS 100000
#define TAKEN_MOST    8
/* When processes outnumber cores, a yield is empty up to this time, or twice the shortest of a few that the system
 * has counted as no change of the process, each below a limit: one where it has counted changes before. */
#define FREE_NS         600
#define FREE_PART       16 /* yields then take one of so many parts of the time */
#define EMPTY_MANY      4
#define EMPTY_MOST_NS   1000
#define EMPTY_LONG_NS   20000 /* system calls are slow in some virtual machines */
#define UNSEEN          8     /* one of so many is measured, */
#define UNLEARNT        512   /* and of so many one asks for that count, */
#define UNLEARNT_FIRST  32    /* of the first ones more often */
#define LOOK_PAUSE_MIN  UINT64_C(1000000)
#define LOOK_PAUSE_MAX  UINT64_C(16000000)
#define SLEEP_PAUSE_MIN UINT64_C(1000000)
#define SLEEP_PAUSE_MAX UINT64_C(8000000)
#define TESTS_ROUND_NS                                                                             \
    20000 /* of tests that find nothing, for all ranks of a core one after the other */
#define HOLD_MIN         UINT64_C(1000000) /* without yields, after one that was taken up long */
#define HOLD_MAX         UINT64_C(32000000)
#define SPREAD_PAUSE_MIN UINT64_C(1000000)
#define SPREAD_PAUSE_MAX UINT64_C(64000000)

/* Go to one of some cores. The thread may run where it could before. */
static void yield_go_to(const cpu_set_t *some, const cpu_set_t *all)
{
    if (CPU_COUNT(some) > 0 && sched_setaffinity(0, sizeof(*some), some) == 0)
        (void)sched_setaffinity(0, sizeof(*all), all);
}

static void yield_leave_core(int core)
{
    cpu_set_t all, others;

    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof(all), &all) != 0)
        return;
    others = all;
    CPU_CLR(core, &others);
    yield_go_to(&others, &all);
}

/*
 * Somebody else wants this core though every process should have one: two of the job that started on the same,
 * say, which the system lets yield to each other for tenths of a second, as it moves nobody
 * who ran a moment ago. But for who wakes up it looks for an idle core: so sleep for a moment. Where none is
 * idle, because somebody of low priority computes there, that does not help: the next time, move.
 */
static void yield_part(struct dm_chan_cores *c, uint64_t now)
{
    static const struct timespec moment = {.tv_nsec = 1};
    int core = sched_getcpu();

    if (now < c->next_sleep)
        return;
    if (now > c->next_sleep + 2 * SLEEP_PAUSE_MAX || c->sleep_pause == 0) {
        c->sleep_pause = SLEEP_PAUSE_MIN;
        c->sleep_core = -1;
    } else if (c->sleep_pause < SLEEP_PAUSE_MAX) {
        c->sleep_pause *= 2;
    }
    c->next_sleep = now + c->sleep_pause;
    if (core == c->sleep_core) {
        yield_leave_core(core);
        c->sleep_core = -1;
    } else {
        (void)nanosleep(&moment, NULL);
        c->sleep_core = core;
    }
}

/*
 * It was no process of the job that took the yield up: that would have yielded, too. Such a one gets its share of the
 * core anyhow, and what we are waiting for may come while it has it: yield no more for a while.
 */
static void yield_hold_core(struct dm_chan_cores *c, uint64_t now)
{
    uint64_t pause = 2 * c->yield_pause;

    c->sleep_core = -1;
    pause = pause > HOLD_MIN ? pause : HOLD_MIN;
    c->yield_pause = pause < HOLD_MAX ? pause : HOLD_MAX;
    c->next_yield = now + c->yield_pause;
}

/*
 * Somebody shares this core though all that run could have one: two that were on the same when the others fell asleep,
 * say. To see that takes some us: the more rarely, the longer it is in vain.
 */
static void yield_look(struct dm_chan_cores *c, uint64_t now)
{
    c->n_taken = 0;
    if (dm_host_is_core_for_all("/proc/loadavg")) {
        yield_part(c, now);
        c->look_pause = 0;
    }
    if (c->look_pause < LOOK_PAUSE_MIN)
        c->look_pause = LOOK_PAUSE_MIN;
    else if (c->look_pause < LOOK_PAUSE_MAX)
        c->look_pause *= 2;
    c->next_look = now + c->look_pause;
}

/* A yield that somebody takes up counts as one; -1: unknown. */
static long yield_n_switches(void)
{
    struct rusage use;

    return getrusage(RUSAGE_THREAD, &use) == 0 ? use.ru_nivcsw : -1;
}

/* What a yield costs that nobody takes up depends on the machine. */
static void yield_learn(struct dm_chan_cores *c)
{
    long n = yield_n_switches();
    uint64_t ns = dm_clock_ns();

    sched_yield();
    ns = dm_clock_ns() - ns;
    if (n < 0 || yield_n_switches() != n || ns > (n > 0 ? EMPTY_LONG_NS : EMPTY_MOST_NS))
        return;
    if (c->n_empty++ == 0 || ns < c->empty_ns)
        c->empty_ns = (uint32_t)ns;
}

static bool yield_is_to_learn(struct dm_chan_cores *c)
{
    if (c->n_empty == EMPTY_MANY)
        return false;
    c->n_unlearnt++;
    return c->n_unlearnt % (c->n_unlearnt < UNLEARNT ? UNLEARNT_FIRST : UNLEARNT) == 0;
}

static bool yield_was_empty(const struct dm_chan_cores *c, uint64_t ns)
{
    return ns <= FREE_NS || (c->n_empty == EMPTY_MANY && ns <= 2 * c->empty_ns);
}

void dm_chan_yield_oversubscribed(struct dm_chan *chan, uint64_t start)
{
    struct dm_chan_cores *c = &chan->cores;
    uint64_t end;

    if (yield_is_to_learn(c)) {
        yield_learn(c);
        return;
    }
    sched_yield();
    if (c->n_free == 0 && ++c->n_unseen % UNSEEN != 0)
        return;
    end = dm_clock_ns();
    if (yield_was_empty(c, end - start)) {
        c->n_free++;
        c->free_at = end;
        c->free_until = end + FREE_PART * (end - start);
        return;
    }
    /* it may just have been interrupted */
    c->n_free = c->n_free > DM_WAIT_FREE_YIELDS ? DM_WAIT_FREE_YIELDS / 2 : c->n_free / 2;
    if (end - start < TAKEN_LONG_NS && ++c->n_taken >= TAKEN_MOST && end >= c->next_look)
        yield_look(c, end);
}

void dm_chan_yield(struct dm_chan *chan, uint64_t start)
{
    struct dm_chan_cores *c = &chan->cores;
    uint64_t ns;

    if (start < c->next_yield)
        return;
    if (yield_is_to_learn(c)) {
        yield_learn(c);
        return;
    }
    sched_yield();
    ns = dm_clock_ns() - start;
    if (ns > TAKEN_LONG_NS)
        yield_hold_core(c, start + ns);
    else
        c->yield_pause = 0;
    if (ns <= TAKEN_NS || yield_was_empty(c, ns))
        return;
    if (++c->n_taken >= TAKEN_MOST) {
        c->n_taken = 0;
        yield_part(c, start + ns);
    }
}

static uint64_t yield_tests_hold(const struct dm_chan *chan)
{
    int n_cores = chan->job.n_cores > 0 ? chan->job.n_cores : dm_host_cores();
    int n = chan->job.n_local / n_cores;

    return TESTS_ROUND_NS / (uint64_t)(n > 1 ? n : 1);
}

/*
 * Where yields find nothing new again and again, the program has work of its own between its tests: it keeps the core
 * for more and more of them, up to the time that makes a change of the process cheap. What comes right after a yield
 * makes them few again. Where many ranks take turns on a core that time is short: they may all be testing.
 */
void dm_chan_tests_idle(struct dm_chan *chan)
{
    struct dm_chan_tests *tests = &chan->tests;
    uint64_t ns;

    tests->n_idle = 0;
    if (dm_unlikely(dm_turns_are_shared())) {
        dm_turns_test_idle(chan);
        return;
    }
    if (!dm_adapt_is_oversubscribed(chan->adapt))
        return;
    if (tests->hold_ns == 0)
        tests->hold_ns = yield_tests_hold(chan);
    ns = dm_clock_ns() - tests->since;
    if (tests->most < DM_WAIT_IDLE_TESTS)
        tests->most = DM_WAIT_IDLE_TESTS;
    if (ns < tests->hold_ns)
        tests->most += tests->most / 8;
    else if (ns > 2 * tests->hold_ns)
        tests->most /= 2;
    sched_yield();
    tests->since = dm_clock_ns();
}

/* Among those that I may use, when each has got one more process n times: the core with the fewest then. */
static int yield_least_used(const uint16_t *n_on, const cpu_set_t *all, int n)
{
    uint16_t more[CPU_SETSIZE] = {0};
    int least = 0;

    for (; n >= 0; n--) {
        least = 0;
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, all) &&
                (!CPU_ISSET(least, all) || n_on[i] + more[i] < n_on[least] + more[least]))
                least = i;
        more[least]++;
    }
    return least;
}

/* So many processes are on each core, and so many of those on mine stay before I do. */
static void yield_spread(struct dm_chan_cores *c, const uint16_t *n_on, int n_below)
{
    cpu_set_t all, one;
    int n = 0, fair;

    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE; i++)
        n += CPU_ISSET(i, &all) ? n_on[i] : 0;
    fair = (n + CPU_COUNT(&all) - 1) / CPU_COUNT(&all);
    if (n_below < fair)
        return;
    CPU_ZERO(&one);
    CPU_SET(yield_least_used(n_on, &all, n_below - fair), &one);
    yield_go_to(&one, &all);
    c->spread_pause = 2 * c->spread_pause;
}

void dm_chan_spread(struct dm_chan *chan, struct dm_chan_core *first, size_t stride, int n, int me)
{
    struct dm_chan_cores *c = &chan->cores;
    uint16_t n_on[CPU_SETSIZE] = {0};
    int mine = sched_getcpu(), n_below = 0;
    uint64_t now;

    if (mine < 0 || mine >= CPU_SETSIZE)
        return;
    for (int i = 0; i < n; i++) {
        struct dm_chan_core *core = (void *)((char *)first + (size_t)i * stride);
        uint32_t is = (uint32_t)mine + 1;

        if (i == me)
            atomic_store_explicit(&core->number, is, memory_order_relaxed);
        else
            is = atomic_load_explicit(&core->number, memory_order_relaxed);
        if (is != 0)
            n_on[is - 1]++;
        n_below += i < me && is == (uint32_t)mine + 1;
    }
    if (n_below == 0)
        return;
    now = dm_clock_ns();
    if (now < c->next_spread)
        return;
    if (now > c->next_spread + SPREAD_PAUSE_MAX || c->spread_pause == 0)
        c->spread_pause = SPREAD_PAUSE_MIN;
    yield_spread(c, n_on, n_below);
    if (c->spread_pause > SPREAD_PAUSE_MAX)
        c->spread_pause = SPREAD_PAUSE_MAX;
    c->next_spread = now + c->spread_pause;
}
