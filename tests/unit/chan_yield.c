/* test: timeout=20 layers=util,channel */
/* When processes outnumber cores: how long a yield takes that nobody takes up is learnt on any machine. */
#include <sched.h>
#include <sys/resource.h>

#include "channel/chan.h"
#include "channel/wait.h"
#include "fake_adapt.h"
#include "test.h"
#include "util/clock.h"

static struct {
    uint64_t now;
    uint64_t empty_ns, taken_ns;
    long n_switches;
    bool is_taken, is_counted;
    int n;
} sys;

static uint64_t clock_read(void *arg)
{
    (void)arg;
    return sys.now;
}

/* In place of the system's. */
int sched_yield(void)
{
    sys.n++;
    sys.now += sys.is_taken ? sys.taken_ns : sys.empty_ns;
    sys.n_switches += sys.is_taken && sys.is_counted;
    return 0;
}

int getrusage(__rusage_who_t who, struct rusage *use)
{
    CHECK_EQ(who, RUSAGE_THREAD);
    use->ru_nivcsw = sys.n_switches;
    return 0;
}

/* Yields on a machine where they take so long; are those that nobody takes up known as such in the end? */
static bool is_learnt(uint64_t empty_ns, bool is_counted)
{
    static struct dm_chan chan;

    memset(&chan, 0, sizeof(chan));
    chan.cores.next_look = UINT64_MAX; /* the machine's load is not looked at */
    sys.empty_ns = empty_ns;
    sys.taken_ns = 4 * empty_ns;
    sys.is_counted = is_counted;
    sys.n_switches = 0;
    sys.is_taken = true;
    for (int i = 0; i < 10000; i++)
        dm_chan_yield_oversubscribed(&chan, sys.now);
    CHECK_EQ(chan.cores.n_free, 0);
    sys.is_taken = false;
    for (int i = 0; i < 10000; i++)
        dm_chan_yield_oversubscribed(&chan, sys.now);
    if (chan.cores.n_free == 0)
        return false;
    CHECK(chan.cores.n_free > DM_WAIT_FREE_YIELDS);
    CHECK_EQ(chan.cores.free_until, sys.now + 16 * empty_ns);
    sys.is_taken = true; /* one that is taken up ends that, some more that all are measured */
    dm_chan_yield_oversubscribed(&chan, sys.now);
    CHECK(chan.cores.n_free > 0 && chan.cores.n_free < DM_WAIT_FREE_YIELDS);
    for (int i = 0; i < 5; i++)
        dm_chan_yield_oversubscribed(&chan, sys.now);
    CHECK_EQ(chan.cores.n_free, 0);
    return true;
}

static void empty_yields_are_learnt(void)
{
    CHECK(is_learnt(300, true));
    CHECK(is_learnt(800, true));
    CHECK(is_learnt(1300, true));
    CHECK(is_learnt(15000, true));
    CHECK(!is_learnt(25000, true)); /* no yield takes so long that nobody takes up */
}

/* Some containers count no changes of the process: what takes long may be one. */
static void uncounted_ones_are_short(void)
{
    CHECK(is_learnt(800, false));
    CHECK(!is_learnt(1300, false));
}

/* With a core for each one: empty yields of a slow machine do not part it from anybody, as the first few may. */
static void a_core_for_each(void)
{
    static struct dm_chan chan;
    int n_early;

    memset(&chan, 0, sizeof(chan));
    chan.cores.next_sleep = 0;
    sys.empty_ns = 2000;
    sys.is_taken = false;
    sys.n_switches = 1;
    for (int i = 0; i < 5000; i++)
        dm_chan_yield(&chan, sys.now);
    n_early = (int)chan.cores.n_taken;
    for (int i = 0; i < 5000; i++)
        dm_chan_yield(&chan, sys.now);
    CHECK_EQ(chan.cores.n_taken, n_early);
}

int main(void)
{
    static const struct dm_clock_source source = {.now = clock_read};

    sys.now = dm_clock_ns();
    dm_clock_use(&source);
    empty_yields_are_learnt();
    uncounted_ones_are_short();
    a_core_for_each();
    CHECK(sys.n > 0);
    dm_clock_use(NULL);
    return test_result();
}
