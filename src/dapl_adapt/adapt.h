/*
 * The layer's object: one per process.
 */
#ifndef DM_DAPL_ADAPT_ADAPT_H
#define DM_DAPL_ADAPT_ADAPT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/conf.h"
#include "dapl_adapt/conn.h"
#include "dapl_adapt/dapl_adapt.h"
#include "dapl_adapt/ia.h"
#include "dapl_adapt/mem.h"
#include "util/list.h"

#define DM_PROBE_LEN 65536 /* bytes of plain memory that peers may read to measure */
#define DM_RARE      1000  /* idle polls between looks at connection and async events */

/* Values that are expected with RDMA writes: place and turn make the value. (rma_imm.c) */
#define DM_IMMS 32
struct dm_imms {
    struct dm_rdma *rdma[DM_IMMS]; /* NULL: free */
    uint16_t turn[DM_IMMS];        /* how many times it was used: what comes late is known */
};

struct dm_adapt {
    /* polling */
    struct dm_conn **active; /* pipes that are up */
    int n_active;
    int n_hot; /* of them looked at in every poll: the first ones */
    int next_cold;
    int n_blocked; /* pipes somebody waits for */
    int n_dying;
    int n_tell;   /* conns with tell_ready */
    int n_moving; /* between rails */
    int idle;     /* polls that count towards a look at rare events */
    int n_ias;
    int n_driven; /* pipes on rails that every poll has to look into */
    int n_sendrecv;
    bool is_quiet;   /* finalizing: losses are expected */
    bool is_waiting; /* a thread of the program blocks in a provider */
    bool can_knock;  /* peers wake who sleeps without a completion for every record */
    bool has_wakes;  /* every rail has something to sleep in that dm_adapt_wake wakes */
    bool has_sides;  /* and two of them, for what has come and for what was posted */
    atomic_bool is_aside_asleep[DM_SIDES]; /* the thread aside of that side is in dm_adapt_sleep */
    bool is_oversubscribed;
    bool wants_sendrecv;
    bool is_basic; /* DATUM_EAGER=basic */
    bool is_demand;
    bool has_moved;     /* a connection, to another rail */
    bool is_short;      /* some rings are smaller than the settings say */
    size_t ring_share;  /* bytes a connection may lock for rings, 0: no limit */
    size_t lock_max;    /* bytes that may be locked, 0: no limit that matters */
    uint64_t n_striped; /* transfers cut into shares */
    bool is_named;      /* DATUM_PROVIDER chose the rails */
    bool has_network;   /* some rail reaches other hosts */
    bool keeps_regs;    /* unused registrations of the program's memory stay */
    struct dm_adapt_events ev;
    struct dm_ia *ias[DM_RAILS_MAX];
    struct dm_rdma *done_head; /* finished transfers, to be told */
    struct dm_rdma *done_tail;
    struct dm_list connecting; /* links with an attempt of ours */
    /* shared with the connection server */
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct dm_list notes;
    atomic_int n_notes;
    /* fixed */
    struct dm_adapt_job job;
    uint32_t job_hash;
    uint32_t coll_hash; /* of the choice of algorithms of collectives */
    uint32_t n_slots;
    uint32_t slot_size; /* at most */
    uint32_t size_auto; /* unless large slots pay, when */
    bool is_auto_size;  /* nobody has set it */
    uint32_t stride;
    size_t page;
    uint64_t own_host; /* dm_card_own_host() */
    _Atomic uint64_t no_foot;
    _Atomic(struct dm_conn *) *conns; /* by process; NULL: nothing to do with it yet */
    _Atomic(struct dm_conn *) all;    /* those that exist, newest first */
    struct dm_reg_cache cache;
    struct dm_imms imms;
    struct dm_atomics *atomics; /* NULL: not needed yet (rma_atomic.c) */
    char *probe; /* DM_PROBE_LEN bytes for peers to read, and as many to measure with */
    struct dm_lmr probe_lmr[DM_RAILS_MAX];
    struct dm_conf conf;
    char *refused; /* who was refused and why, for explaining; lines */
};

static inline const char *dm_adapt_host_of(const struct dm_adapt *adapt, int proc)
{
    return adapt->job.host_of != NULL ? adapt->job.host_of(adapt->job.host_arg, proc) : "?";
}

/* The peer's object, NULL when there is none yet. */
static inline struct dm_conn *dm_conn_find(const struct dm_adapt *adapt, int proc)
{
    return atomic_load_explicit(&adapt->conns[proc], memory_order_acquire);
}

/* Walk over the connections that exist; others may be added meanwhile. */
#define dm_conn_for_each(conn, adapt)                                                              \
    for (conn = atomic_load_explicit(&(adapt)->all, memory_order_acquire); conn != NULL;           \
         conn = conn->next_made)

/* Handle an event that was taken off a rail's queue of completions, or a completion. (poll.c) */
void dm_poll_event(struct dm_ia *ia, const DAT_EVENT *event);
void dm_poll_dto(struct dm_ia *ia, const DAT_DTO_COMPLETION_EVENT_DATA *dto);
/* Take completions off the rails' queues (no upcalls); returns how many. (poll.c) */
int dm_poll_drain(struct dm_adapt *adapt);
/* Handle connection and async events of rails without a server thread. (poll.c) */
int dm_poll_rare(struct dm_adapt *adapt);
/* Put an established pipe on the list of active ones. */
void dm_poll_add(struct dm_adapt *adapt, struct dm_conn *conn);

/* All that has completed on one rail, or was there when it was called. (poll.c) */
void dm_poll_empty(struct dm_adapt *adapt);

/* A transfer is over: dm_adapt_poll will tell. (rma.c) */
void dm_rma_finish(struct dm_adapt *adapt, struct dm_rdma *rdma);
/* Post what is queued on an RDMA link. (rma.c) */
void dm_rma_push(struct dm_conn *conn, struct dm_lane *lane);
/* A part of a transfer completed. (rma.c) */
void dm_rma_completed(struct dm_conn *conn, struct dm_lane *lane, uint32_t place, bool is_ok);
/* The endpoint is gone: what was posted and not done is queued again, on lane `to`. (rma.c) */
void dm_rma_requeue(struct dm_conn *conn, struct dm_lane *lane, struct dm_lane *to);
/* Is anything queued on any lane? (rma.c) */
bool dm_rma_is_wanted(const struct dm_conn *conn);
/* An extra RDMA link broke, or could not be made: others take its work. (rma_stripe.c) */
void dm_lane_break(struct dm_link *link);
/* The connection is lost: give up what is queued. (rma.c) */
void dm_rma_fail(struct dm_conn *conn);

/* One RDMA write with an immediate value. (rma_imm.c) */
DAT_RETURN dm_imm_post(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                       DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint32_t value);
/* An event of the extension: such a write's end, or the arrival of a value. (rma_imm.c) */
void dm_imm_event(struct dm_ia *ia, const DAT_EVENT *event);
/* The connection is lost: no expected value will come. (rma_imm.c) */
void dm_imm_fail(struct dm_conn *conn);

/* Text of DATUM_EXPLAIN about what was refused; copied. (explain.c) */
void dm_explain_refused(struct dm_adapt *adapt, const char *name, const char *why);

#endif
