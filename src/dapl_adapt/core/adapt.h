/*
 * The layer's object: one per process.
 */
#ifndef DM_DAPL_ADAPT_CORE_ADAPT_H
#define DM_DAPL_ADAPT_CORE_ADAPT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/mem_pool.h"
#include "dapl_adapt/core/datagram.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/proc.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/public/rdma.h"
#include "dapl_adapt/public/start.h"
#include "dapl_adapt/public/types.h"
#include "util/arena.h"
#include "util/clock.h"
#include "util/list.h"

struct dm_conn;

struct dm_atomics;
struct dm_conn_ops;
struct dm_watch;

#define DM_PROBE_LEN     65536 /* bytes of plain memory that peers may read to measure */
#define DM_RARE          1000  /* idle polls between looks at connection and async events */
#define DM_BUSY_PER_IDLE 8     /* so many polls with traffic count as one without */

/* Values that are expected with RDMA writes: place and turn make the value. */
struct dm_values {
    struct dm_rdma *rdma[DM_VALUES]; /* NULL: free */
    uint16_t turn[DM_VALUES];        /* how many times it was used: what comes late is known */
};

/* What polls look at. */
struct dm_poll {
    struct dm_conn **active; /* pipes that are up */
    int n_active;
    int n_plain; /* the first ones of them, without pending bits */
    int n_hot;   /* of these looked at in every poll: the first ones */
    int next_cold;
    struct dm_pending pending;
    struct dm_datagram_poll datagrams;
    uint64_t n_many;  /* polls of more peers than are always looked at, */
    uint64_t n_looks; /* and rings that they have looked at */
    int n_blocked;    /* pipes somebody waits for */
    int n_dying;
    int n_writable_due; /* conns with is_writable_due */
    int n_moving;       /* between rails */
    bool is_away;       /* some may have to go back to a better rail (conn/back.c) */
    int idle;           /* polls that count towards a look at rare events */
    int n_driven;       /* pipes on rails that every poll has to look into */
    int n_sendrecv;
    struct dm_rdma *done_head; /* finished transfers, to be reported */
    struct dm_rdma *done_tail;
    struct dm_list connecting; /* links with an attempt of ours */
};

#define DM_TURNS_MAX 100

/* Who sleeps in a provider. */
struct dm_sleepers {
    bool is_waiting; /* a thread of the program blocks in a provider */
    uint32_t turns;  /* factor of sleeps that nobody ends, by the ranks for each core */
    bool can_notify; /* peers wake who sleeps without a completion for every record */
    atomic_bool
        is_thread_asleep[DM_SIDES]; /* the progress thread of that side is in dm_adapt_sleep */
    struct dm_ia_relay *relays[DM_SIDES]; /* of the last sleep at that side */
};

/* Shared receive queues, as the settings and the size of the job have them (conn/receives.c). */
struct dm_srq_plan {
    uint32_t n;         /* receives of a queue */
    uint32_t n_slots;   /* of a connection, at most */
    uint32_t slot_size; /* bytes */
};

/* Rings, as the settings and the limits of memory have them; fixed at start. */
struct dm_ring_plan {
    uint32_t n_slots;
    uint32_t slot_size; /* at most */
    uint32_t size_auto; /* unless large slots pay, when */
    uint32_t stride;
    bool is_auto_size; /* nobody has set it */
    bool is_basic;     /* DATUM_EAGER=basic */
    bool wants_sendrecv;
    bool wants_srq;    /* DATUM_SRQ, and the job is large enough for it */
    bool is_short;     /* some rings are smaller than the settings say */
    size_t ring_share; /* bytes a connection may lock for rings, 0: no limit */
    size_t lock_max;   /* bytes that may be locked, 0: no limit that matters */
    struct dm_srq_plan srq;
};

/* Registered memory. */
struct dm_memory {
    size_t page;
    struct dm_arena arena; /* that the processes of this host share, if there is one */
    bool keeps_regs;       /* unused registrations of the program's memory stay */
    bool is_pinning;       /* a provider pins the pages of what is registered */
    struct dm_reg_cache cache;
    struct dm_watch *watch; /* of pinned memory; NULL: it is not kept registered */
    char no_watch[80];      /* why there is none */
    uint64_t n_single;      /* registrations of pinned memory that cannot be found again */
    struct dm_mem_pool pool;
    char *probe; /* DM_PROBE_LEN bytes for peers to read, and as many to measure with */
    struct dm_lmr probe_lmr[DM_RAILS_MAX];
};

/*
 * Endpoints that are not used any more, of providers that pin: libdapl finds out by memory of the
 * endpoint whose a completion is, and an adapter may flush requests after dat_ep_free. So they are
 * freed later, when nothing of theirs can be in a queue.
 */
struct dm_deferred_eps {
    pthread_mutex_t lock;
    struct dm_deferred_ep {
        DAT_EP_HANDLE ep;
        uint64_t until;
    } * list; /* oldest first */
    size_t n, max;
    atomic_bool has_some;
};

/* Shared with the connection server. */
struct dm_shared {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct dm_list notes; /* links with pending events */
    atomic_int n_notes;
};

/* Which addresses of this job's processes were asked for (conn/exchange.c). */
struct dm_addr_ahead {
    int last; /* whose */
    int n;    /* fetched together, the last time */
    int left; /* of those, behind the last one that was asked for */
};

struct dm_adapt {
    struct dm_poll poll;
    struct dm_rails rails;
    struct dm_sleepers sleep;
    bool is_quiet; /* finalizing: losses are expected */
    bool is_oversubscribed;
    bool is_demand;
    bool has_moved;     /* a connection, to another rail */
    uint64_t n_striped; /* transfers cut into stripes */
    uint64_t n_backs;   /* connections that went back to a better rail */
    const struct dm_conn_ops *ops;
    struct dm_adapt_events ev;
    struct dm_shared shared;
    struct dm_deferred_eps deferred;
    struct dm_ring_plan rings;
    struct dm_memory mem;
    /* fixed */
    struct dm_adapt_job job;
    struct dm_addr_ahead ahead;
    struct dm_proc_id self;
    uint32_t coll_hash; /* of the choice of algorithms of collectives */
    uint64_t own_host;  /* dm_addr_own_host() */
    _Atomic uint64_t no_trailer;
    _Atomic(struct dm_conn *) *conns; /* by process; NULL: nothing to do with it yet */
    _Atomic(struct dm_conn *) all;    /* those that exist, newest first */
    struct dm_procs procs;            /* of other jobs */
    struct dm_values values;
    struct dm_atomics *atomics; /* NULL: not needed yet (rma/atomic.c) */
    int n_words;                /* dm_words that others may change */
    int *virtual_nodes;         /* job.node_of in virtual time, else NULL */
    struct dm_clock_source clock;
};

static inline bool dm_adapt_is_one_host(const struct dm_adapt *adapt)
{
    return adapt->job.n_local == adapt->job.size;
}

/* The peer's object, NULL when there is none yet. */
static inline struct dm_conn *dm_conn_find(const struct dm_adapt *adapt, int proc)
{
    return atomic_load_explicit(&adapt->conns[proc], memory_order_acquire);
}

/*
 * Walk over the connections that exist; others may be added meanwhile. The main thread takes
 * connections of other jobs' processes out, under the lock.
 */
#define dm_conn_for_each(conn, adapt)                                                              \
    for (conn = atomic_load_explicit(&(adapt)->all, memory_order_acquire); conn != NULL;           \
         conn = conn->next_made)

#endif
