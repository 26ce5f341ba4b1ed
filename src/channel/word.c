/*
 * Waiting for a word in memory that other processes of the host write.
 *
 * While every process has a core that is spinning, with passes of progress in between; when
 * processes outnumber cores the core is given away after each pass. In the end the process sleeps
 * in the provider, after having said so where the writer of the word sees it: a packet wakes it.
 */
#include <stdatomic.h>

#include "channel/chan.h"
#include "channel/channel.h"
#include "util/clock.h"
#include "util/glock.h"

#define LOOKS        16    /* at the word, between two passes of progress */
#define YIELD_NS     20000 /* of spinning, before others on the core get a chance in between */
#define CLOCK_PASSES 64    /* between looks at the clock */
#define WAIT_MIN_US  2000
#define WAIT_MAX_US  100000

/* The writer may have come between the last look and our saying so: look again, then sleep. */
static void sleep_for(struct dm_chan *chan, struct dm_chan_word *word, uint64_t wait_us)
{
    (*(volatile uint32_t *)word->asleep)++;
    atomic_thread_fence(memory_order_seq_cst);
    if (!word->is_over(word))
        dm_chan_block(chan, wait_us);
    (*(volatile uint32_t *)word->asleep)--;
}

void dm_chan_wait_word(struct dm_chan *chan, struct dm_chan_word *word)
{
    bool is_oversubscribed = dm_adapt_is_oversubscribed(chan->adapt);
    uint32_t clock_passes = is_oversubscribed ? 1 : CLOCK_PASSES;
    uint64_t most = dm_chan_spin_ns(chan, is_oversubscribed);
    uint64_t since = 0, spent = 0;
    uint64_t wait_us = WAIT_MIN_US;

    for (uint32_t n = 1;; n++) {
        for (int i = 0; i < (is_oversubscribed ? 1 : LOOKS); i++) {
            if (word->is_over(word)) {
                if (most > 0 && n > 1)
                    dm_chan_spin_ended(chan, true);
                return;
            }
        }
        if (dm_chan_progress(chan) > 0) {
            since = spent = 0;
            continue;
        }
        if (n % clock_passes == 0) {
            uint64_t now = dm_clock_ns();

            since = since == 0 ? now : since;
            spent = now - since;
        }
        if (since != 0 && spent >= most) {
            if (is_oversubscribed && most > 0)
                dm_chan_spin_ended(chan, false);
            most = 0;
            sleep_for(chan, word, wait_us);
            wait_us = wait_us * 2 < WAIT_MAX_US ? wait_us * 2 : WAIT_MAX_US;
        } else if (is_oversubscribed || spent > YIELD_NS) {
            dm_chan_yield(chan, is_oversubscribed);
        }
        dm_glock_yield();
    }
}
