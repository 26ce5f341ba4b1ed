/*
 * A connection to one peer process: the pipe's endpoint with its two rings, and endpoints for RDMA.
 *
 * What the server's thread and the main thread share (links' states, notes) is
 * guarded by dm_adapt.lock; the pipe itself belongs to the main thread.
 */
#ifndef DM_DAPL_ADAPT_CORE_CONN_H
#define DM_DAPL_ADAPT_CORE_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/conn_failover.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/provider/region.h"
#include "dapl_adapt/public/proc.h"
#include "dapl_adapt/public/types.h"
#include "util/port.h"

struct dm_adapt;
struct dm_addr;
struct dm_ctl;
struct dm_ia;
struct dm_proc;

/*
 * Life of a connection; the main thread's. How its links are being connected is in dm_link_state.
 *
 *     IDLE --> ASKED        a call of dm_adapt_connect(); the peer's attempt needs none
 *     IDLE, ASKED --> UP    the pipe is established
 *     UP --> MOVING         a link broke
 *     IDLE, ASKED --> MOVING    the same, before the pipe was up
 *     MOVING --> MOVING     it broke again, or the peer is in a later epoch
 *     MOVING --> UP         the pipe is established in a later epoch
 *     all of these --> DYING    no way is left
 *     DYING --> LOST        what had arrived is read, and `failed` was called
 */
enum dm_conn_state {
    DM_CONN_IDLE,
    DM_CONN_ASKED,
    DM_CONN_UP,
    DM_CONN_MOVING, /* between rails: the pipe's link is not there */
    DM_CONN_DYING,  /* lost; unread records are still delivered */
    DM_CONN_LOST
};

/* Who has consumed what, and when we looked (eager/credit.c). Counts of records. */
struct dm_conn_credits {
    uint32_t acked_to_peer; /* n_consumed in the last private data, */
    uint32_t tail;          /* and in the last write to the peer's control page */
    uint32_t acked_by_peer; /* of ours: consumed for certain */
    uint32_t written;       /* what the peer had written of that when we looked last */
    uint32_t looked;        /* ours when we looked at all that is unread, */
    uint32_t stale;         /* which was up to this one, */
    bool has_stale;         /* and some of it is unread still */
};

/* Both rings, agreed with the peer: at most what the settings say. */
struct dm_conn_ring {
    uint32_t n_slots;
    uint32_t slot_size;
    uint32_t stride;
    int n_events;            /* taken of the rail's space */
    bool has_srq;            /* no ring: receives are those of the rail's shared queue, */
    bool peer_has_srq;       /* and so are the peer's */
    struct dm_region shadow; /* if only ours are: the peer's ring */
};

/* Who the peer is. Fixed, but for `theirs`, which is guarded by the lock. */
struct dm_conn_who {
    struct dm_proc_id id;
    struct dm_proc *foreign; /* NULL: of the own job */
    bool is_higher;          /* by dm_proc_id_compare, than this process */
    uint8_t mine;            /* number of this instance, */
    uint8_t theirs;          /* and the peer's, 0: not known yet */
};

/* The end of a connection to a process of another job (conn/part.c). The main thread's. */
struct dm_conn_parting {
    bool is_end_sent; /* the peer has been told that nothing more will come, */
    uint32_t last;    /* by the last of so many posts */
    bool is_end_seen; /* so have we been, and all has been read */
    bool is_gone;     /* the peer has closed its end */
    bool is_over;     /* its links are being closed; shared with the server's thread */
    uint64_t until;   /* then it is freed, whatever links say */
};

/* Rails that both processes have, in order of preference. */
struct dm_conn_rails {
    int n;                         /* that both had when they began */
    int n_all;                     /* and those that have joined, behind them */
    int current;                   /* place of the one in use, or tried */
    uint8_t pair[DM_RAILS_MAX][2]; /* mine and the peer's number */
};

struct dm_conn_loss {
    int err;        /* what `failed` gets */
    bool is_silent; /* it is not called */
    char *why;      /* NULL: it is not lost, or there was no memory for it; dm_conn_why */
};

/* A process may be sent datagrams and never be connected: so these are made then. */
struct dm_conn_links {
    struct dm_link at[DM_LINK_N];
    struct dm_rdmaq rdmaq[DM_RDMAQS]; /* of at[DM_LINK_RDMA] and following */
};

/* The peer's plain memory to measure with; addr 0: there is none. */
struct dm_peer_probe {
    uint64_t addr;
    uint32_t ctx;
};

struct dm_conn {
    struct dm_tx tx;
    struct dm_rx rx DM_ALIGNED(DM_CACHE_LINE);
    /* one cache line: what sending and polling look at besides */
    struct dm_adapt *adapt DM_ALIGNED(DM_CACHE_LINE);
    struct dm_ctl *ctl;
    uint64_t ctl_remote;
    struct dm_ia *ia;
    struct dm_conn *next_made; /* in dm_adapt.all */
    int proc;
    struct dm_conn_who who;
    struct dm_conn_parting parting;
    int active;               /* index in dm_adapt.active, -1 */
    enum dm_conn_state state; /* changed by dm_conn_set_state() alone */
    uint16_t epoch;           /* shared with the server's thread */
    bool was_up;              /* the pipe has been established */
    bool is_writable_due;     /* the writable call is due */
    bool is_armed;            /* the peer notifies us when it has written to our ring */
    bool is_counted;          /* in the counts of its rail */
    bool is_sendrecv;         /* decided when the pipe is accepted */
    struct dm_conn_credits credits;
    struct dm_conn_failover failover;
    struct dm_region region;
    struct dm_conn_ring ring;
    struct dm_conn_links *_Atomic links; /* before it is connected: shared ones, never written */
    struct dm_conn_rails rails;
    struct dm_addr *addr; /* NULL: not fetched yet */
    struct dm_conn_loss loss;
    int sq_size; /* requests of the pipe */
    int rq_size; /* and of each RDMA queue at most */
    struct dm_peer_probe peer_probe;
};

/* Do rendezvous end with values (rma/value.h)? By the settings, alike in all processes. */
bool dm_conn_has_values(void);
/* Would a broken connection be made again? Fixed from the time there is a pipe. */
bool dm_conn_can_move(const struct dm_conn *conn);
/* Is its rail one that has joined? Memory that was made known before is not reached over it. */
static inline bool dm_conn_has_joined(const struct dm_conn *conn)
{
    return conn->rails.n > 0 && conn->rails.current >= conn->rails.n;
}
/* Could this side of the pipe have pending bits? */
bool dm_conn_has_pending(const struct dm_conn *conn);
/* Go to another state, and keep dm_adapt's counts of states. The main thread. */
void dm_conn_set_state(struct dm_conn *conn, enum dm_conn_state state);

/*
 * Links are the same idle, or lost, ones for all that have none of their own. To make them is for whoever
 * connects, holding the lock (want: without it, the main thread): DM_ENOMEM. That of one which is lost does
 * nothing.
 */
void dm_conn_init_links(struct dm_conn *conn);
int dm_conn_make_links(struct dm_conn *conn);
int dm_conn_want_links(struct dm_conn *conn);
bool dm_conn_has_links(const struct dm_conn *conn);
/* It has none, and will not be connected. */
void dm_conn_lose_links(struct dm_conn *conn);
/* Why it is lost: a later text replaces an earlier one. "": nobody has said, or there was no memory. */
void dm_conn_set_why(struct dm_conn *conn, const char *format, ...) DM_PRINTF(2, 3);
const char *dm_conn_why(const struct dm_conn *conn);

/* For good. */
static inline bool dm_conn_is_lost(const struct dm_conn *conn)
{
    return conn->state >= DM_CONN_DYING;
}

static inline bool dm_conn_is_moving(const struct dm_conn *conn)
{
    return conn->state == DM_CONN_MOVING;
}

static inline struct dm_link *dm_link_of(struct dm_conn *conn, const struct dm_rdmaq *rdmaq)
{
    struct dm_conn_links *links = conn->links;

    return &links->at[DM_LINK_RDMA + (rdmaq - links->rdmaq)];
}

static inline struct dm_rdmaq *dm_rdmaq_of(struct dm_link *link)
{
    return &link->conn->links->rdmaq[link->kind - DM_LINK_RDMA];
}

#endif
