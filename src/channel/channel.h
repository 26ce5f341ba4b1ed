/*
 * The RDMA channel: an ordered byte pipe to every process of the job and to known ones of other
 * jobs (dapl_adapt/public/proc.h), packets on top of it, bulk RDMA beside it, and the progress
 * engine.
 *
 * The pipe has the five-function face of Liu et al. 2004 ("Design and
 * Implementation of MPICH2 over InfiniBand with RDMA Support"): start, stop,
 * process management, put, get (dm_adapt_eager_put, dm_adapt_eager_peek), with zero copy inside them
 * (zero_copy.h). It never blocks and is FIFO per peer; partial completion at any byte is normal. A
 * process may talk to itself.
 *
 * Upper layers register one handler per packet type and embed struct dm_chan_send
 * in their requests. All calls are made under the global lock.
 */
#ifndef DM_CHANNEL_CHANNEL_H
#define DM_CHANNEL_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/account.h"
#include "channel/bulk.h"
#include "channel/packet.h"
#include "channel/send.h"
#include "channel/wait.h"
#include "dapl_adapt/dapl_adapt.h"

struct dm_chan; /* one per process */

/* A peer was lost. */
typedef void (*dm_chan_lost)(void *arg, int proc, int err);

/*
 * The connection to a process of another job has been closed in order. is_free: by us, and its
 * number may be somebody else's from now on; whatever is kept by that number is void. Else by the
 * process itself, while there are still references to it here: what is expected of it will not come.
 */
typedef void (*dm_chan_gone)(void *arg, int proc, bool is_free);

/* ---- start, stop, process management ---- */

/* Opens the adaptation layer beneath (whose job description is passed on). Collective. */
int dm_chan_start(const struct dm_adapt_job *job, struct dm_chan **chan_p);
/* Flush all queues, then close the layer beneath. Collective, after a barrier of the caller. */
int dm_chan_stop(struct dm_chan *chan);
int dm_chan_rank(const struct dm_chan *chan);
int dm_chan_size(const struct dm_chan *chan);
struct dm_adapt *dm_chan_adapt(struct dm_chan *chan);
/* Register the handler of a packet type before traffic; or another one in its place, at any time. */
void dm_chan_on_packet(struct dm_chan *chan, enum dm_pkt_type type, dm_pkt_handler fn, void *arg);
/* One more to be told of a lost peer (at most 4), in the order of the calls. */
void dm_chan_on_lost(struct dm_chan *chan, dm_chan_lost fn, void *arg);
/* One more to be told that a connection is closed (at most 4). */
void dm_chan_on_gone(struct dm_chan *chan, dm_chan_gone fn, void *arg);
/* What dm_adapt_eager_good() says of this peer. */
size_t dm_chan_eager_good(const struct dm_chan *chan, int proc);
/* And dm_adapt_eager_max(), which is one record, of a peer that this process has a connection to. */
size_t dm_chan_record_max(const struct dm_chan *chan, int proc);
/* And dm_adapt_is_software(). */
bool dm_chan_is_software(const struct dm_chan *chan, int proc);
/*
 * Number of the host that a process is on, also of another job; -1: a guest whose address nobody
 * told (dm_adapt_proc_node).
 */
int dm_chan_node(const struct dm_chan *chan, int proc);
/* Has this peer been lost? */
bool dm_chan_is_lost(const struct dm_chan *chan, int proc);

/* For debuggers: offsets in the channel's structures (util/queues.h). */
extern const uint32_t dm_chan_queues_at[];

/* ---- progress ---- */

/* One pass that never blocks; returns the number of things that happened. */
int dm_chan_progress(struct dm_chan *chan);
/*
 * For loops that wait: `while (!done) dm_chan_progress_wait(chan);`. A pass that,
 * after enough idle ones, yields or blocks in the provider, as DATUM_SPIN and
 * the number of processes per core demand; lets other threads in.
 */
void dm_chan_progress_wait(struct dm_chan *chan);
/* Make progress, as dm_chan_progress_wait does, until *n_pending, which is not 0 yet, is. */
void dm_chan_wait(struct dm_chan *chan, const int *n_pending);
/*
 * One pass for calls that only look (MPI_Test, MPI_Iprobe): never blocks, but when processes
 * outnumber cores it gives the core away after some idle ones.
 */
int dm_chan_progress_test(struct dm_chan *chan);
/*
 * DATUM_PROGRESS=thread and threads2: start threads that make progress while no thread of the program
 * holds the global lock, and end them (with or without it). They call handlers and hooks as any other pass does, one at a time;
 * dm_glock_is_progress_thread() tells them. A job that uses no provider gets none. DM_ENOMEM.
 */
int dm_chan_progress_thread_start(struct dm_chan *chan);
void dm_chan_progress_thread_stop(struct dm_chan *chan);
bool dm_chan_has_progress_thread(const struct dm_chan *chan);
/* For DATUM_STATS: how often one was woken in the provider, passes it made, and those that did something. */
struct dm_chan_progress_thread_counts {
    uint64_t n_wakes, n_passes, n_useful;
};
struct dm_chan_progress_thread_counts dm_chan_progress_thread_stats(const struct dm_chan *chan,
                                                                    enum dm_side side);
/* True when processes outnumber cores, so that waiting should give the core away. */
bool dm_chan_is_oversubscribed(const struct dm_chan *chan);
/*
 * The launcher says that this job has more processes than cores on this host: what all of them here know alike. False
 * where it says nothing.
 */
bool dm_chan_is_job_oversubscribed(const struct dm_chan *chan);
/* How long a wait that begins now polls on a core of its own, by dm_clock_ns; 0: not at all. */
uint64_t dm_chan_polls_until(const struct dm_chan *chan);
/*
 * Where processes outnumber cores: go to a core with fewer of them when there are too many on this thread's. The system leaves
 * those alone that ran a moment ago, so all may go on on one core, where one of them woke the others, while
 * another idles. n processes of this host say where they are in memory that they share, stride bytes from each other; this
 * one is number `me`. Once in a while is enough, and costs some 0.1 us.
 */
struct dm_chan_core {
    _Atomic uint32_t number; /* and 1; 0: has not said so yet */
};
void dm_chan_spread(struct dm_chan *chan, struct dm_chan_core *first, size_t stride, int n, int me);
/*
 * fn is called in every pass while it is registered (nonblocking collectives, generalized
 * requests); returns how many things it did. It may remove itself.
 */
struct dm_chan_hook {
    int (*fn)(struct dm_chan_hook *hook);
    struct dm_chan_hook *next;
    bool is_on;
};
void dm_chan_hook_add(struct dm_chan *chan, struct dm_chan_hook *hook);
void dm_chan_hook_del(struct dm_chan *chan, struct dm_chan_hook *hook);

#endif
