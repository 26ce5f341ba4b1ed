/*
 * Inside the channel: its object, its peers, and what its files call in each other.
 *
 * Invariant: handlers and `done` callbacks run at depth 1 at most. What the layer
 * beneath reports while one of them runs is noted in dm_chan.todo and done by the next pass.
 */
#ifndef DM_CHANNEL_CHAN_H
#define DM_CHANNEL_CHAN_H

#include <stdatomic.h>

#include "channel/account.h"
#include "channel/channel.h"
#include "channel/wait.h"
#include "util/list.h"
#include "util/pool.h"
#include "util/port.h"

#define DM_CHAN_LISTENERS 4

/* First in, first out, linked by dm_chan_send.next. */
struct dm_chan_queue {
    struct dm_chan_send *head;
    struct dm_chan_send *tail;
};

static inline void dm_chan_queue_add(struct dm_chan_queue *q, struct dm_chan_send *send)
{
    send->next = NULL;
    if (q->head == NULL)
        q->head = send;
    else
        q->tail->next = send;
    q->tail = send;
}

static inline struct dm_chan_send *dm_chan_queue_take(struct dm_chan_queue *q)
{
    struct dm_chan_send *send = q->head;

    if (send != NULL)
        q->head = send->next;
    return send;
}

/* The parser's place in the stream of packets. */
struct dm_chan_parser {
    uint32_t hdr_got; /* bytes of hdr filled */
    bool is_payload;  /* feeding the sink */
    uint64_t hdr[DM_PKT_MAX / 8];
    size_t data_len;
    size_t offset; /* of the next payload byte */
    struct dm_chan_sink sink;
};

/* A process that we have talked to. */
struct dm_chan_peer {
    struct dm_conn *conn; /* NULL: oneself */
    struct dm_chan_queue queue;
    size_t reserved_len;       /* record between dm_chan_reserve and commit */
    struct dm_chan_peer *next; /* in dm_chan.all */
    int proc;
    bool is_lost;
    bool is_blocked; /* the pipe took less than offered; `writable` will come */
    bool is_pushing;
    struct dm_list ready;       /* in dm_chan.ready: has queued sends and may push */
    struct dm_list flushing;    /* in dm_chan.flushing: has sends in flush */
    struct dm_list lost;        /* in dm_chan.lost: the loss is to be told */
    struct dm_chan_queue flush; /* taken by the pipe, memory still in use */
    struct dm_chan_parser in;
    struct dm_zero_copy *zero_copy; /* with DATUM_RNDV=zerocopy (zero_copy.h), or NULL */
    int lost_err;
    int n_copies; /* struct dm_chan_ctl in queue */
};

/* Work for dm_chan_work, besides what dm_adapt_poll does. */
enum dm_chan_todo {
    DM_TODO_SEND = 1,
    DM_TODO_SELF = 2,
    DM_TODO_HOOK = 4,
    DM_TODO_LOST = 8,
    DM_TODO_FLUSH = 16
};

/* A packet that could not go at once, with a copy of its payload (small.c). */
struct dm_chan_ctl {
    struct dm_chan_send send;
    struct dm_chan *chan;
    int proc;
    uint64_t data[DM_CHAN_SMALL / 8];
};

struct dm_chan_handler {
    dm_pkt_handler fn;
    void *arg;
};

/* Calls of MPI_Test and the like that found nothing, when processes outnumber cores (yield.c). */
struct dm_chan_tests {
    uint32_t n_idle;
    uint32_t most;    /* of them before the core is given away */
    uint64_t since;   /* ns: when it was had back */
    uint64_t hold_ns; /* that it is kept for at most; 0: not known yet */
};

/* Yielding the core and moving to another one (yield.c); times in ns. */
struct dm_chan_cores {
    uint32_t n_taken;               /* yields in which somebody else ran */
    uint64_t next_look, look_pause; /* at the load of the host */
    uint64_t next_yield, yield_pause;
    uint64_t next_sleep, sleep_pause;   /* for a moment, so that the system finds us an idle core */
    int sleep_core;                     /* where that was last, -1: nowhere of late */
    uint64_t next_spread, spread_pause; /* to a core with fewer processes */
    /* When processes outnumber cores, yields in a row: in which nobody ran, at that time last; that were not measured. */
    uint64_t free_at, free_until; /* until then the core is not given away again */
    uint32_t n_free, n_unseen;
    uint32_t n_unlearnt, n_empty, empty_ns; /* yields known to have changed nothing, shortest */
};

/* Who is told of connections that are closed. */
struct dm_chan_gone_listeners {
    int n;
    struct {
        dm_chan_gone fn;
        void *arg;
    } at[DM_CHAN_LISTENERS];
};

/* Threads that wait (turns.h). */
struct dm_chan_turns {
    _Atomic(void *) poller; /* dm_mlock_self of the thread that makes progress for all, or NULL */
    atomic_bool is_poller_away, is_poller_asleep; /* away, yields too: others may take its place */
    atomic_uint number;                           /* how often the place was left */
    _Atomic(void *) deputy; /* of those asleep the one that looks whether there is a poller */
    struct dm_list waiting;
    int n_waiting, n_notified; /* notified: its wait is over, it has not come back yet */
    bool is_idle, has_stayed;  /* nothing has happened; the poller's last wait left it its core */
    /* While some are notified: when the poller gives them its core; or if it has found nothing for so long. */
    uint64_t due, idle_since, idle_ns;
};

/* The wait that this process is in, if it has become long (account.c). */
struct dm_chan_long_wait {
    const int *n_pending;            /* of dm_chan_wait, or NULL */
    const struct dm_wait_note *note; /* of others, or NULL */
    uint64_t since;       /* the first look at the clock; 0: it is short, or there is none */
    uint64_t next, every; /* when it is looked after, and again */
    uint32_t number;
    bool is_timed;       /* DATUM_STATS=calls: */
    uint64_t timed_ns;   /* all waits so far, */
    uint64_t timed_from; /* and the present one; 0: there is none */
    void (*report)(const int *n_pending, struct dm_wait_account *account);
    void (*fn)(void *arg);
    void *arg;
};

struct dm_chan {
    struct dm_adapt *adapt;
    unsigned todo;               /* enum dm_chan_todo */
    int depth;                   /* > 0: inside a handler or callback */
    struct dm_chan_peer **peers; /* by process, NULL: not talked to; reserved */
    struct dm_chan_peer *all;    /* those that exist */
    size_t max;                  /* of peers */
    int rank;
    int size;
    int n_handlers;
    struct dm_chan_handler handlers[DM_PKT_N];
    struct dm_list ready;
    struct dm_list flushing;
    struct dm_list lost;
    struct dm_chan_hook *hooks;
    struct dm_chan_listener {
        dm_chan_lost fn;
        void *arg;
    } listeners[DM_CHAN_LISTENERS];
    int n_listeners;
    struct dm_chan_gone_listeners gone;
    struct dm_pool ctl; /* struct dm_chan_ctl */
    /* waiting (progress.c, wait.c) */
    struct dm_waiter waiter; /* of requests; n 0: the last pass found something */
    struct dm_chan_cores cores;
    struct dm_chan_long_wait long_wait;
    struct dm_chan_tests tests;
    struct dm_backoff yield_backoff;
    uint64_t yields_ns; /* what a round of yields of all ranks of a core may take */
    struct dm_chan_turns turns;
    struct dm_progress_thread *progress_thread; /* DATUM_PROGRESS=thread, threads2; or NULL */
    struct dm_chan_progress_thread_counts thread_counts[DM_SIDES]; /* of those that have ended */
    struct dm_adapt_job job;
};

/* The peer object, made at first use; NULL when out of memory (reported). (start.c) */
struct dm_chan_peer *dm_chan_peer_new(struct dm_chan *chan, int proc);
static inline struct dm_chan_peer *dm_chan_peer(struct dm_chan *chan, int proc)
{
    struct dm_chan_peer *peer = chan->peers[proc];

    return dm_likely(peer != NULL) ? peer : dm_chan_peer_new(chan, proc);
}

/* The upcalls of the adaptation layer. */
void dm_chan_input(void *arg, int proc, struct dm_conn *conn);           /* packet.c */
void dm_chan_writable(void *arg, int proc, struct dm_conn *conn);        /* send.c */
void dm_chan_failed(void *arg, int proc, struct dm_conn *conn, int err); /* start.c */
bool dm_chan_is_idle(void *arg, int proc);                               /* start.c */
void dm_chan_on_closed(void *arg, int proc, bool is_free);               /* start.c */

/* Note that a peer is gone; the next pass tells. (start.c) */
void dm_chan_peer_lost(struct dm_chan *chan, struct dm_chan_peer *peer, int err);
/* The loss of a peer is to be told by the next pass. (start.c) */
void dm_chan_note_lost(struct dm_chan *chan, struct dm_chan_peer *peer);
/* Tell of lost peers and give up their sends; returns how many. (start.c) */
int dm_chan_work_lost(struct dm_chan *chan);
/* Call a packet's handler. False: there is none, which is reported. (packet.c) */
bool dm_chan_deliver(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data,
                     size_t avail, struct dm_chan_sink *sink);
/* Push a peer's queue until it is empty or the pipe is full; returns packets completed. (send.c) */
int dm_chan_push(struct dm_chan *chan, struct dm_chan_peer *peer);
/* Push queues that may be pushed; returns packets completed. (send.c) */
int dm_chan_work_send(struct dm_chan *chan);
/* Complete sends whose memory is free again; returns how many. (send.c) */
int dm_chan_work_flush(struct dm_chan *chan);
/* A packet to oneself, at once. DM_EAGAIN: others are queued, or a handler runs. (self.c) */
int dm_chan_self_now(struct dm_chan *chan, const struct dm_pkt *pkt, const void *data);
/* Deliver packets queued to oneself; returns how many. (self.c) */
int dm_chan_work_self(struct dm_chan *chan);
/*
 * Wait outside of the global lock until a progress thread has done something, at most so long. True: it has.
 * (progress_thread.c)
 */
bool dm_progress_thread_await(struct dm_progress_thread *progress_thread, uint64_t us);
/* Something was done that those may wait for; any thread. (progress_thread.c) */
void dm_progress_thread_news(struct dm_progress_thread *progress_thread);
/* So many tests in a row found nothing as may be before the core is given away. (yield.c) */
void dm_chan_tests_idle(struct dm_chan *chan);
/* Is anything queued, to anybody? (progress.c) */
bool dm_chan_is_busy(const struct dm_chan *chan);
/* A wait has become long, or is looked after again. (account.c) */
void dm_wait_long(struct dm_chan *chan, uint64_t now) DM_COLD;
/* A wait begins or ends, and is timed. (account.c) */
void dm_wait_timed_begin(struct dm_chan *chan) DM_COLD;
void dm_wait_timed_end(struct dm_chan *chan) DM_COLD;
/* While it waits, with the time. */
static inline void dm_wait_look_after(struct dm_chan *chan, uint64_t now)
{
    if (dm_unlikely(chan->long_wait.since == 0 || now >= chan->long_wait.next))
        dm_wait_long(chan, now);
}

#endif
