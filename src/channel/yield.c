/*
 * Giving the core to others while waiting.
 */
#include <sched.h>
#include <time.h>

#include "channel/chan.h"
#include "util/clock.h"

#define TAKEN_NS      1500 /* a yield that nobody takes up lasts a fifth of it */
#define TAKEN_MOST    8
#define NAP_PAUSE_MIN UINT64_C(1000000)
#define NAP_PAUSE_MAX UINT64_C(8000000)

/*
 * Somebody else wants this core though every process should have one: two of the job that started on the same,
 * say, which the system lets yield to each other for tenths of a second, as it moves nobody
 * who ran a moment ago. But for who wakes up it looks for an idle core: so sleep for a moment.
 */
static void nap(struct dm_chan *chan, uint64_t now)
{
    static const struct timespec moment = {.tv_nsec = 1};

    chan->n_taken = 0;
    if (now < chan->next_nap)
        return;
    if (now > chan->next_nap + 2 * NAP_PAUSE_MAX || chan->nap_pause == 0)
        chan->nap_pause = NAP_PAUSE_MIN;
    else if (chan->nap_pause < NAP_PAUSE_MAX)
        chan->nap_pause *= 2;
    chan->next_nap = now + chan->nap_pause;
    (void)nanosleep(&moment, NULL);
}

void dm_chan_yield(struct dm_chan *chan, bool is_crowded)
{
    uint64_t start, now;

    if (is_crowded) {
        sched_yield();
        return;
    }
    start = dm_clock_ns();
    sched_yield();
    now = dm_clock_ns();
    if (now - start > TAKEN_NS && ++chan->n_taken >= TAKEN_MOST)
        nap(chan, now);
}
