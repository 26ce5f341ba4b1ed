/*
 * The control block of a window on one host: memory that its processes there share, whatever the
 * window's own memory is. Locks are words in it, fences and post/start/complete/wait are
 * counters that the processes store into each other's lranks.
 *
 * The lowest rank of each host makes the block; it is there on all hosts or on none. Whoever waits for
 * a word long enough to sleep says so in its lrank, and is sent a packet (DM_PKT_RMA_WAKE).
 */
#ifndef DM_ONESIDED_SHARED_H
#define DM_ONESIDED_SHARED_H

#include "onesided/rma.h"

/*
 * The lock of one part: a ticket lock for readers and writers. Who wants the lock takes a ticket
 * of n_users. It is an exclusive holder's turn when `write` gets there, a shared one's when `read`
 * does; the latter lets the next one in at once. So nobody overtakes anybody.
 */
struct dm_rma_ticket_lock {
    uint32_t write;
    uint32_t read;
    uint32_t n_users;
};

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

/*
 * Target-assisted RMA: short transfers that the target carries out when it looks, which it does in every pass of
 * progress, and which the origin takes back when it does not. Each origin has a row of them for each
 * target, in a ring: it gathers items in one, hands it over and goes on with the next. They are carried out
 * in order, and taken back the last one first; so the target need only look at the one that comes next.
 */
#define DM_RMA_ASSIST_SLOTS 4 /* of a row; a power of two */

enum dm_rma_assist_state {
    DM_ASSIST_NONE,
    DM_ASSIST_TAKEN,
    DM_ASSIST_DONE,
    DM_ASSIST_ASKED /* of a share: + the target's lrank, nobody else can take it */
};
/* One transfer; its bytes follow, in: the operands; out: what was read, or was there before. */
struct dm_rma_assist_item {
    uint64_t offset;    /* bytes from the start of the target's part */
    void *mine;         /* of the origin: what is put; where the answer goes */
    struct dm_req *req; /* of the origin, or NULL */
    uint32_t data_len;
    uint32_t result_len;
    int32_t op;
    int32_t basic;
    uint8_t kind;  /* enum dm_rma_assist_kind */
    uint8_t flags; /* as in a packet: DM_RMA_FETCH, DM_RMA_SWAP */
    int16_t err;   /* out */
};
struct dm_rma_assist_slot {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t state; /* enum dm_rma_assist_state */
    uint32_t len;                             /* bytes of items */
    char items[];                             /* a short one shares the line */
};

/*
 * The target's half of a long transfer (split_copy.c): by RDMA from or to memory of the origin. One for each
 * origin.
 */
struct dm_rma_split {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t state; /* enum dm_rma_assist_state */
    int32_t err;
    uint64_t is_put;
    uint64_t offset; /* in the target's part */
    uint64_t addr;   /* of the origin's */
    uint64_t len;
    struct dm_rkey rkey;
};

/* Attached memory of a dynamic window that RDMA reaches; size 0: none. Odd seq: being changed. */
#define DM_RMA_REGIONS 64 /* of one process; more are reached by packets */
struct dm_rma_region {
    uint32_t seq;
    uint32_t is_file; /* providers map it: RDMA is no system call */
    struct dm_rkey rkey;
    uint64_t base;
    uint64_t size;
};

struct dm_rma_shared {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_arrived; /* at fences, of all processes */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_fences;  /* that everybody has come to, on all hosts */
    struct dm_rma_rank_slot lranks[];
};

/* This process' view of the block; behind the lranks lie posts and waiters. */
struct dm_rma_node {
    struct dm_rma_shared *ctl;
    size_t len;
    int fd;     /* of its maker until all have it mapped, else -1 */
    int n;      /* processes here */
    int me;     /* lrank of this one */
    int *ranks; /* of the lranks */
    /* posts[i * n + k]: so often has k posted to i; written by k */
    uint32_t *posts;
    uint32_t *posts_seen; /* of mine: by MPI_Win_start */
    /* waiters[i * (mask + 1) + (ticket & mask)]: who has this ticket of i's lock: a rank + 1 */
    uint32_t *waiters;
    uint32_t mask;
    char
        *assists; /* by lrank of the origin, of the target, and number: see dm_rma_assist_slot_at */
    size_t assist_len;           /* of one, with its items */
    uint32_t *n_served;          /* assists that this process has begun; by lrank of the origin */
    struct dm_rma_split *shares; /* by lrank of the origin */
    struct dm_rma_split_work *helps; /* what this process does for the origins; by lrank, or NULL */
    bool is_sharing;                 /* mine is in use */
    bool is_inside;                  /* between dm_rma_try_enter and dm_rma_leave */
    struct dm_rma_region *regions;   /* DM_RMA_REGIONS for each lrank, of a dynamic window */
    struct dm_chan_hook hook;        /* looks for those for me */
    struct dm_win *win;
    uint32_t completes_seen;
    /* fences over several hosts: rank of the first process of each, mine */
    int n_leaders;
    int leader;
    int *leaders;
};

static inline struct dm_rma_rank_slot *dm_rma_slot(const struct dm_win *win, int lrank)
{
    return &win->node->ctl->lranks[lrank];
}
static inline struct dm_rma_rank_slot *dm_rma_my_slot(const struct dm_win *win)
{
    return dm_rma_slot(win, win->node->me);
}
/* Has rank a lrank in this process' block? */
static inline bool dm_rma_is_local(const struct dm_win *win, int rank)
{
    return win->node != NULL && win->peers[rank].lrank >= 0;
}

/* Make the block if this process has to, and say so; collective, before the exchange of parts. */
void dm_rma_shared_offer(struct dm_win *win, struct dm_win_part *mine);
/* All parts are known: map it. Collective; without memory, or when anybody cannot, none has it. */
int dm_rma_shared_start(struct dm_win *win);
void dm_rma_shared_free(struct dm_win *win);

/*
 * Wait until *at is want, or (is_past) want has been passed. DM_EPEER when a process of the window is
 * lost meanwhile.
 */
int dm_rma_wait_word(struct dm_win *win, const uint32_t *at, uint32_t want, bool is_past);
/* After a store and a full fence: send rank a packet if it sleeps; or (is_sure) in any case. */
void dm_rma_wake(struct dm_win *win, int rank, bool is_sure);

/* ---- assists (assist_origin.c at the origin, assist_target.c at the target) ---- */

static inline struct dm_rma_assist_slot *dm_rma_assist_slot_at(const struct dm_rma_node *node,
                                                               int origin, int target, uint32_t n)
{
    size_t row = (size_t)origin * (size_t)node->n + (size_t)target;

    return (struct dm_rma_assist_slot *)(void *)(node->assists + (row * DM_RMA_ASSIST_SLOTS +
                                                                  n % DM_RMA_ASSIST_SLOTS) *
                                                                     node->assist_len);
}
/* Bytes of an item with its data: the next one is aligned. */
static inline size_t dm_rma_assist_item_len(size_t data_len, size_t result_len)
{
    size_t len =
        sizeof(struct dm_rma_assist_item) + (data_len > result_len ? data_len : result_len);

    return (len + 7) & ~(size_t)7;
}
/* Look for assists and shares from now on, where others cannot address my part. */
void dm_rma_assist_start(struct dm_win *win);
void dm_rma_assist_stop(struct dm_win *win);
/* In a loop that waits for another process, which may wait for this one in the same way. */
static inline void dm_rma_assist_execute(struct dm_rma_node *node)
{
    if (node->hook.is_on)
        node->hook.fn(&node->hook);
}
static inline void dm_rma_doorbell_ring(const struct dm_win *win, int lrank)
{
    dm_atomic_or(&dm_rma_slot(win, lrank)->doorbell, UINT64_C(1) << win->node->me % 64);
}
/* May this process ask the target for an assist or a share just now? */
bool dm_rma_assist_may(const struct dm_win *win, int target);
/* The target has carried out something: it looks. */
void dm_rma_assist_executed(struct dm_win *win, int target);
/* Do this process' share of a long transfer of the origin in that lrank; over when state says so. (split_copy.c) */
void dm_rma_split_execute(struct dm_win *win, int lrank);

/* ---- updates of private memory (combine.c, get_modify_put.c) ---- */

/*
 * Is this part memory that only its process can address, and that others on its host update by
 * RDMA, one at a time, while they keep all others off?
 */
static inline bool dm_rma_is_guarded(const struct dm_win *win, int rank)
{
    return win->flavor == MPI_WIN_FLAVOR_CREATE && dm_rma_is_local(win, rank) &&
           win->parts[rank].fd < 0 && win->parts[rank].is_direct;
}
/*
 * Before elements of my own part are updated, which is over by dm_rma_leave without any waiting
 * in between. False: somebody keeps all off.
 */
bool dm_rma_try_enter(const struct dm_win *win);
void dm_rma_leave(const struct dm_win *win);
/* Keep all others off a guarded part; waits, with progress. DM_EPEER. */
int dm_rma_excl_lock(const struct dm_win *win, int rank);
void dm_rma_excl_unlock(const struct dm_win *win, int rank);

/* ---- locks (lock_word.c) ---- */

/* Take the lock of a rank that has a lrank; waits. DM_EPEER. */
int dm_rma_word_lock(struct dm_win *win, int rank, int mode);
void dm_rma_word_unlock(struct dm_win *win, int rank, int mode);
/* For a process of another host that has asked for the lock of mine: its ticket. */
uint32_t dm_rma_word_ticket(struct dm_win *win);
/* Is it this ticket's turn? If so the lock is held; else a WAKE packet comes when it may be. */
bool dm_rma_word_try(struct dm_win *win, uint32_t ticket, int mode);

/* ---- locks by a provider's fetch-and-add (lock_atomic.c) ---- */

/* Make this process' words, if the window may need such locks. Before the exchange of parts, */
void dm_rma_atomic_offer(struct dm_win *win, struct dm_win_part *mine);
/* and behind it: the same on all ranks, win->words or none. */
void dm_rma_atomic_start(struct dm_win *win);
void dm_rma_atomic_free(struct dm_win *win);
/* Take the lock of a rank; waits. DM_EPEER. */
int dm_rma_atomic_lock(struct dm_win *win, int rank, int mode);
/* Give it back; waits until the next one can have it. DM_EPEER. */
int dm_rma_atomic_unlock(struct dm_win *win, int rank, int mode);

#endif
