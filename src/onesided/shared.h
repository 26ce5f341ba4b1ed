/*
 * The node-shared state of a window (the control block): memory that its processes on a host share,
 * whatever the window's own memory is. Locks are words in it, fences and post/start/complete/wait
 * are counters that the processes store into each other's lranks.
 *
 * The lowest rank of each host makes the block; it is there on all hosts or on none. Whoever waits
 * for a word long enough to sleep says so in its lrank, and is sent a packet (DM_PKT_RMA_WAKE).
 */
#ifndef DM_ONESIDED_SHARED_H
#define DM_ONESIDED_SHARED_H

#include "mpi/node/segment.h"
#include "onesided/lock.h"
#include "onesided/peer.h"
#include "onesided/region.h"
#include "onesided/split_copy.h"

struct dm_win_least; /* win.h */

/* What one process' peers write, and it. */
struct dm_rma_rank_slot {
    DM_ALIGNED(DM_CACHE_LINE) struct dm_rma_ticket_lock turns;
    /* completes of origins that store */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_completes;
    /* held while many elements of the part are combined (combine.c) */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t excl_lock;
    /* written by its process only: */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_fences; /* that it has come to */
    uint32_t asleep;                             /* > 0: wants a packet */
    struct dm_chan_core core;
    DM_ALIGNED(DM_CACHE_LINE) uint32_t combines; /* lrank + 1 whose elements it is combining */
    /* a bit for each lrank, modulo 64, whose assist is for this process */
    DM_ALIGNED(DM_CACHE_LINE) uint64_t doorbell;
};

struct dm_rma_shared {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_arrived; /* at fences, of all processes */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_fences;  /* that everybody has come to, on all hosts */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_kept;    /* of mpi/node/kept.h */
    uint32_t is_used;                             /* windows before had the block */
    uint32_t has_assists;                         /* its tail has been written to */
    struct dm_rma_rank_slot lranks[];
};

/* This process' view of the block; behind the lranks lie posts and waiters. */
struct dm_rma_node {
    struct dm_rma_shared *ctl;
    int n;            /* processes here */
    int me;           /* lrank of this one */
    const int *ranks; /* of the lranks */
    /* posts[i * n + k]: so often has k posted to i; written by k */
    uint32_t *posts;
    uint32_t *posts_seen; /* those for this process: by MPI_Win_start */
    /* waiters[i * (mask + 1) + (ticket & mask)]: who has this ticket of i's lock: a rank + 1 */
    uint32_t *waiters;
    uint32_t mask;
    char
        *assists; /* by lrank of the origin, of the target, and number: see dm_rma_assist_slot_at */
    size_t assist_len;           /* of one, with its items */
    uint32_t *n_executed;        /* assists that this process has begun; by lrank of the origin */
    struct dm_rma_split *splits; /* by lrank of the origin */
    struct dm_rma_split_work *split_work; /* of this process for the origins; by lrank, or NULL */
    uint32_t n_splits;                    /* that this process has begun */
    bool is_splitting;                    /* this process' own is in use */
    bool is_inside;                       /* between dm_rma_try_enter and dm_rma_leave */
    struct dm_rma_region *regions;        /* DM_RMA_REGIONS for each lrank, of a dynamic window */
    struct dm_list assisting; /* of those where this process executes assists and split copies */
    bool is_assisting;
    struct dm_win *win;
    uint32_t completes_seen;
    /* fences over several hosts: rank of the first process of each; index of this host */
    int n_leaders;
    int leader;
    const int *leaders;
    struct dm_node_segment segment;
    struct dm_node_file file;  /* of its maker */
    uint32_t n_made;           /* blocks that came with it */
    bool is_agreed;            /* all have it */
    struct dm_win_part *parts; /* by rank, in the segment; NULL: not all are on this host */
};

static inline struct dm_rma_rank_slot *dm_rma_slot(const struct dm_win *win, int lrank)
{
    return &win->node->ctl->lranks[lrank];
}
static inline struct dm_rma_rank_slot *dm_rma_my_slot(const struct dm_win *win)
{
    return dm_rma_slot(win, win->node->me);
}
/* Where a rank is, for dm_rma_lrank: lrank + 2, 1 if it has none in this process' block. */
DM_PURE int dm_rma_find_place(const struct dm_win *win, int rank);
/* The lrank of a rank in this process' block; -1: it has none, or there is no block. */
static inline int dm_rma_lrank(const struct dm_win *win, int rank)
{
    int place = win->peers[rank].place;

    return (dm_likely(place != 0) ? place : dm_rma_find_place(win, rank)) - 2;
}
static inline bool dm_rma_is_local(const struct dm_win *win, int rank)
{
    return dm_rma_lrank(win, rank) >= 0;
}

/* Make the block if this process has to; before the exchange of parts, of which own is one. */
void dm_rma_shared_offer(struct dm_win *win, struct dm_win_part *own);
/*
 * Exchange the parts through the block of a window whose processes are all on one host: there is one
 * table of them then, and none in each process. least: of the own part; becomes that of all. Without
 * has_block nobody has the block. Collective over comm, as the next.
 */
int dm_rma_shared_exchange(struct dm_win *win, struct dm_comm *comm, const struct dm_win_part *own,
                           struct dm_win_least *least);
/* Of several hosts: all parts are known, map it. Without memory, or when anybody cannot, none has it. */
int dm_rma_shared_start(struct dm_win *win, struct dm_comm *comm);
void dm_rma_shared_free(struct dm_win *win);

/*
 * Wait until *at is want, or (is_past) want has been passed. DM_EPEER when a process of the window
 * is lost meanwhile.
 */
int dm_rma_wait_word(struct dm_win *win, const uint32_t *at, uint32_t want, bool is_past);
static inline bool dm_rma_is_asleep(const struct dm_win *win, int lrank)
{
    return *(volatile uint32_t *)&dm_rma_slot(win, lrank)->asleep != 0;
}
/* After a store and a full fence: send rank a packet if it sleeps; or (is_sure) in any case. */
void dm_rma_wake(struct dm_win *win, int rank, bool is_sure);

#endif
