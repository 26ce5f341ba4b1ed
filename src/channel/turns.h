/*
 * Threads that wait at the same time (MPI_THREAD_MULTIPLE): one of them, the poller, makes progress for all. The others
 * look at a word of their own, yield, and sleep after a while; whoever gives the global lock back notifies those whose
 * request is complete, or whose word is written. A thread whose wait is over leaves the poller's place empty, and takes it
 * again if it soon waits for something else; else one of the others does. Switches cost more than messages: so while
 * messages come to it a thread keeps its core for a while though others have been notified.
 */
#ifndef DM_CHANNEL_TURNS_H
#define DM_CHANNEL_TURNS_H

#include "channel/chan.h"
#include "util/mlock.h"

/* Does more than one thread come in? Else nothing of this is needed. */
static inline bool dm_turns_are_shared(void)
{
    return atomic_load_explicit(&dm_mlock.is_shared, memory_order_relaxed);
}

void dm_turns_init(struct dm_chan *chan);
/* Until *n_pending is 0. */
void dm_turns_wait(struct dm_chan *chan, const int *n_pending);
/* Until a word is as wanted: the poller looks at it, too. */
void dm_turns_wait_word(struct dm_chan *chan, struct dm_wait_word *word);
/* Until something has happened, or for a while: a pass of dm_chan_progress_wait. */
void dm_turns_progress_wait(struct dm_chan *chan);
/* A pass of dm_wait_pass. */
bool dm_turns_pass(struct dm_chan *chan, struct dm_waiter *w);
/* A call that only looks has found nothing: let others run when it gives the lock back. */
void dm_turns_test_idle(struct dm_chan *chan);

#endif
