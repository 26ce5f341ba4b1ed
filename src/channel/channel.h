/*
 * The RDMA channel: an ordered byte pipe to every process of the job, packets
 * on top of it, bulk RDMA beside it, and the progress engine.
 *
 * The pipe has the five-function face of Liu et al. 2004 ("Design and
 * Implementation of MPICH2 over InfiniBand with RDMA Support"): start, stop,
 * process management, put, get. It never blocks and is FIFO per peer; partial
 * completion at any byte is normal. A process may talk to itself.
 *
 * Upper layers register one handler per packet type and embed struct dm_chan_send
 * in their requests. All calls are made inside the global lock.
 */
#ifndef DM_CHANNEL_CHANNEL_H
#define DM_CHANNEL_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "channel/wait.h"
#include "dapl_adapt/dapl_adapt.h"

struct dm_chan; /* one per process */

/* ---- packets ---- */

#define DM_PKT_VERSION 1
#define DM_PKT_MAX     32 /* bytes of the longest packet header */

/*
 * Every packet starts with this; the header is hdr_len bytes in all (at most DM_PKT_MAX, a
 * multiple of 8) and data_len bytes of payload follow it in the pipe.
 */
struct dm_pkt {
    uint8_t type;    /* enum dm_pkt_type */
    uint8_t version; /* DM_PKT_VERSION */
    uint8_t hdr_len;
    uint8_t flags; /* meaning belongs to the type */
    uint32_t data_len;
};

/* One number space; each layer defines the structs of its own types. */
enum dm_pkt_type {
    DM_PKT_NONE,
    /* src/mpi/pt2pt */
    DM_PKT_EAGER,      /* envelope and data */
    DM_PKT_EAGER_SYNC, /* the same, wants an ACK when matched */
    DM_PKT_ACK,
    DM_PKT_RTS,    /* envelope of a rendezvous, with address and keys */
    DM_PKT_CTS,    /* the receiver wants the data through the pipe, or where it says */
    DM_PKT_DATA,   /* rendezvous data through the pipe */
    DM_PKT_FIN,    /* the receiver has read the data, or the sender has written them */
    DM_PKT_CANCEL, /* withdraw an unmatched send */
    DM_PKT_CANCEL_ACK,
    DM_PKT_PART_INIT, /* MPI_Psend_init looks for its MPI_Precv_init */
    DM_PKT_PART_PAIR, /* found */
    DM_PKT_FLOW,      /* ask before you send, or no more */
    /* src/onesided */
    DM_PKT_RMA_FIRST,
    DM_PKT_RMA_LAST = DM_PKT_RMA_FIRST + 31,
    /* src/mpi/coll and others */
    DM_PKT_USER_FIRST,
    DM_PKT_COLL_WAKE = DM_PKT_USER_FIRST, /* empty: look at the shared memory again */
    DM_PKT_N = 64
};

/*
 * Where the payload goes of a packet that did not arrive in one piece: write is
 * called with consecutive pieces (offset from the payload's start), then done.
 */
struct dm_chan_sink {
    void *arg;
    void (*write)(void *arg, size_t offset, const void *data, size_t len);
    void (*done)(void *arg);
};

/*
 * A packet's header has arrived. Handlers and done callbacks may send, but must not make progress. avail bytes of its payload are at data, in place and
 * valid during the call. When avail == pkt->data_len the handler takes all of it
 * itself; otherwise it fills *sink, and the channel feeds the payload there from its first byte.
 */
typedef void (*dm_pkt_handler)(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                               size_t avail, struct dm_chan_sink *sink);

/* A peer was lost. */
typedef void (*dm_chan_lost)(void *arg, int proc, int err);

/* ---- start, stop, process management ---- */

/* Opens the adaptation layer beneath (whose job description is passed on). Collective. */
int dm_chan_start(const struct dm_adapt_job *job, struct dm_chan **chan_p);
/* Flush all queues, then close the layer beneath. Collective, after a barrier of the caller. */
int dm_chan_stop(struct dm_chan *chan);
int dm_chan_rank(const struct dm_chan *chan);
int dm_chan_size(const struct dm_chan *chan);
struct dm_adapt *dm_chan_adapt(struct dm_chan *chan);
/* Register the handler of a packet type (once per type, before traffic). */
void dm_chan_on_packet(struct dm_chan *chan, enum dm_pkt_type type, dm_pkt_handler fn, void *arg);
/* One more to be told of a lost peer (at most 4), in the order of the calls. */
void dm_chan_on_lost(struct dm_chan *chan, dm_chan_lost fn, void *arg);
/* What dm_adapt_eager_good() says of this peer. */
size_t dm_chan_eager_good(const struct dm_chan *chan, int proc);
/* Number of the host that a process of the job is on. */
int dm_chan_node(const struct dm_chan *chan, int proc);
/* Has this peer been lost? */
bool dm_chan_is_lost(const struct dm_chan *chan, int proc);

/* ---- the pipe ---- */

/* Offer a gather list to proc's pipe; *taken_p gets the bytes taken (any number, also 0). */
int dm_chan_put(struct dm_chan *chan, int proc, const struct iovec *iov, int n_iov,
                size_t *taken_p);
/* Drain unread bytes of proc's pipe into a scatter list; *got_p gets how many. */
int dm_chan_get(struct dm_chan *chan, int proc, const struct iovec *iov, int n_iov, size_t *got_p);

/* ---- sending packets ---- */

/*
 * A packet on its way, embedded in the caller's request; the caller fills the first
 * group and must not touch the object or the payload until done is called (perhaps before
 * dm_chan_send returns). hdr is copied.
 */
struct dm_chan_send {
    void (*done)(struct dm_chan_send *send, int err);
    const void *data; /* payload in one piece, or NULL and: */
    /* writes payload bytes [offset, offset+len) to dst; len bytes always */
    void (*read)(struct dm_chan_send *send, size_t offset, void *dst, size_t len);
    /* private to the channel */
    struct dm_chan_send *next;
    uint64_t sent; /* bytes of header and payload that the pipe has taken */
    uint64_t hdr[DM_PKT_MAX / 8];
};

/*
 * Send a packet after everything sent to proc before. DM_OK: done is, was or will be called;
 * a lost peer is told there, with DM_EPEER.
 */
int dm_chan_send(struct dm_chan *chan, int proc, const struct dm_pkt *pkt,
                 struct dm_chan_send *send);
/*
 * The eager fast path: a packet whose header and payload fit the pipe's next record.
 * DM_OK: sent, everything may be reused. DM_EAGAIN: nothing was done (queue not empty,
 * no credit, not connected, too long); use dm_chan_send.
 */
int dm_chan_send_now(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data);
/*
 * The same in two steps for payload that is not in one piece: place for the payload
 * (pkt->data_len bytes) of a packet, or NULL as above; write it, then commit.
 */
void *dm_chan_reserve(struct dm_chan *chan, int proc, const struct dm_pkt *pkt);
int dm_chan_commit(struct dm_chan *chan, int proc);
/*
 * A packet without payload that must not fail for lack of credit: sent now or
 * queued from a pool of the channel's own.
 */
int dm_chan_send_ctl(struct dm_chan *chan, int proc, const struct dm_pkt *pkt);
/* The same with a payload of at most DM_CHAN_SMALL bytes, which is copied. */
#define DM_CHAN_SMALL 64
int dm_chan_send_small(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data);

/*
 * Call fn with every queued packet to proc of which nothing has gone yet, first to last: it may change what is
 * sent (dm_chan_send.hdr, data, read, done), not send itself.
 */
void dm_chan_each_queued(struct dm_chan *chan, int proc, void (*fn)(struct dm_chan_send *send));

/* ---- bulk RDMA (also to oneself) ---- */

int dm_chan_rdma_write(struct dm_chan *chan, int proc, struct dm_rdma *rdma, const void *local,
                       struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len);
int dm_chan_rdma_read(struct dm_chan *chan, int proc, struct dm_rdma *rdma, void *local,
                      struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len);
/* As dm_adapt_rdma_write_imm and dm_adapt_expect_imm; never to oneself. */
int dm_chan_rdma_write_imm(struct dm_chan *chan, int proc, struct dm_rdma *rdma, const void *local,
                           struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey,
                           size_t len, uint32_t value);
int dm_chan_expect_imm(struct dm_chan *chan, int proc, struct dm_rdma *rdma, uint32_t *value_p);
/* How large messages to proc are offered: a value of DATUM_RNDV, not DM_RNDV_AUTO. */
int dm_chan_rndv(struct dm_chan *chan, int proc);
/* How they come from proc, as dm_adapt_rndv_begin. */
int dm_chan_rndv_begin(struct dm_chan *chan, int proc, size_t len,
                       struct dm_rndv_select **select_p);

/* ---- progress ---- */

/* One pass that never blocks; returns the number of things that happened. */
int dm_chan_progress(struct dm_chan *chan);
/*
 * For loops that wait: `while (!done) dm_chan_progress_wait(chan);`. A pass that,
 * after enough idle ones, yields or blocks in the provider, as DATUM_SPIN and
 * the number of processes per core demand; lets other threads in.
 */
void dm_chan_progress_wait(struct dm_chan *chan);
/* Make progress, as dm_chan_progress_wait does, until *n_pending is 0. */
void dm_chan_wait(struct dm_chan *chan, const int *n_pending);
/*
 * One pass for calls that only look (MPI_Test, MPI_Iprobe): never blocks, but when processes
 * outnumber cores it gives the core away after some idle ones.
 */
int dm_chan_progress_test(struct dm_chan *chan);
/*
 * DATUM_PROGRESS=thread and threads2: start threads that make progress while no thread of the program is inside the global lock,
 * and end them (outside or inside the global lock). They call handlers and hooks as any other pass does, one at a time;
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
