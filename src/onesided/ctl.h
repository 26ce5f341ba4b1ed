/*
 * The control block of a window on one host: memory that its processes there share, whatever the
 * window's own memory is. Locks are words in it, fences and post/start/complete/wait are
 * counters that the processes store into each other's seats.
 *
 * The lowest rank of each host makes the block; it is there on all hosts or on none. Whoever waits for
 * a word long enough to sleep says so in its seat, and is sent a packet (DM_PKT_RMA_WAKE).
 */
#ifndef DM_ONESIDED_CTL_H
#define DM_ONESIDED_CTL_H

#include "onesided/rma.h"

/*
 * The lock of one part: a ticket lock for readers and writers. Who wants the lock takes a ticket
 * of n_users. It is an exclusive holder's turn when `write` gets there, a shared one's when `read`
 * does; the latter lets the next one in at once. So nobody overtakes anybody.
 */
struct dm_rma_turns {
    uint32_t write;
    uint32_t read;
    uint32_t n_users;
};

/* What one process' peers write, and it. */
struct dm_rma_seat {
    DM_ALIGNED(DM_CACHE_LINE) struct dm_rma_turns turns;
    /* completes of origins that store */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_completes;
    /* held while many elements of the part are combined (combine.c) */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t is_bulk;
    /* written by its process only: */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_fences; /* that it has come to */
    uint32_t asleep;                             /* > 0: wants a packet */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t combines; /* seat + 1 whose elements it is combining */
    /* a bit for each seat, modulo 64, whose errand is for this process */
    DM_ALIGNED(DM_CACHE_LINE) uint64_t bell;
};

/*
 * A short transfer that the target carries out when it looks, which it does in every pass of
 * progress, and which the origin takes back when it does not: one for each origin.
 */
enum dm_rma_errand_state {
    DM_ERRAND_NONE,
    DM_ERRAND_TAKEN,
    DM_ERRAND_DONE,
    DM_ERRAND_ASKED /* + the target's seat: nobody else can take it */
};
/* An update as in a packet, a short get, or a share of a long transfer (share.c). */
enum dm_rma_errand_kind { DM_ERRAND_UPDATE, DM_ERRAND_GET, DM_ERRAND_FROM_ME, DM_ERRAND_TO_ME };
/* The data of the latter two: memory of the origin. */
struct dm_rma_share {
    uint64_t addr;
    uint64_t len;
    struct dm_rkey rkey;
};
struct dm_rma_errand {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t state; /* enum dm_rma_errand_state */
    int32_t err;
    uint32_t kind;             /* enum dm_rma_errand_kind */
    uint32_t result_len;       /* bytes that are fetched */
    struct dm_pkt_rma_acc acc; /* as in a packet without records; data_len bytes of data */
    /* in: the operands; out: what was read, or was there before; a short one shares the line */
    char data[DM_RMA_ERRAND_BYTES];
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

struct dm_rma_ctl {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_arrived; /* at fences, of all processes */
    DM_ALIGNED(DM_CACHE_LINE) uint32_t n_fences;  /* that everybody has come to, on all hosts */
    struct dm_rma_seat seats[];
};

/* This process' view of the block; behind the seats lie posts and waiters. */
struct dm_rma_node {
    struct dm_rma_ctl *ctl;
    size_t len;
    int fd;     /* of its maker until all have it mapped, else -1 */
    int n;      /* processes here */
    int me;     /* seat of this one */
    int *ranks; /* of the seats */
    /* posts[i * n + k]: so often has k posted to i; written by k */
    uint32_t *posts;
    uint32_t *posts_seen; /* of mine: by MPI_Win_start */
    /* waiters[i * (mask + 1) + (ticket & mask)]: who has this ticket of i's lock: a rank + 1 */
    uint32_t *waiters;
    uint32_t mask;
    struct dm_rma_errand *errands; /* by seat of the origin */
    struct dm_rma_help *helps;     /* what this process does for the origins; by seat, or NULL */
    bool is_sharing;               /* my errand is a share of a long transfer */
    bool is_inside;                /* between dm_rma_try_enter and dm_rma_leave */
    struct dm_rma_region *regions; /* DM_RMA_REGIONS for each seat, of a dynamic window */
    struct dm_chan_hook hook;      /* looks for those for me */
    struct dm_win *win;
    uint32_t completes_seen;
    /* fences over several hosts: rank of the first process of each, mine */
    int n_leaders;
    int leader;
    int *leaders;
};

static inline struct dm_rma_seat *dm_rma_seat(const struct dm_win *win, int seat)
{
    return &win->node->ctl->seats[seat];
}
static inline struct dm_rma_seat *dm_rma_my_seat(const struct dm_win *win)
{
    return dm_rma_seat(win, win->node->me);
}
/* Has rank a seat in this process' block? */
static inline bool dm_rma_has_seat(const struct dm_win *win, int rank)
{
    return win->node != NULL && win->peers[rank].seat >= 0;
}

/* Make the block if this process has to, and say so; collective, before the exchange of parts. */
void dm_rma_ctl_offer(struct dm_win *win, struct dm_win_part *mine);
/* All parts are known: map it. Collective; without memory, or when anybody cannot, none has it. */
int dm_rma_ctl_start(struct dm_win *win);
void dm_rma_ctl_free(struct dm_win *win);

/*
 * Wait until *at is want, or (is_past) want has been passed. DM_EPEER when a process of the window is
 * lost meanwhile.
 */
int dm_rma_wait_word(struct dm_win *win, const uint32_t *at, uint32_t want, bool is_past);
/* After a store and a full fence: send rank a packet if it sleeps; or (is_sure) in any case. */
void dm_rma_wake(struct dm_win *win, int rank, bool is_sure);

/* Look for errands from now on, where others cannot address my part (errand.c). */
void dm_rma_errand_start(struct dm_win *win);
void dm_rma_errand_stop(struct dm_win *win);
/* Ask the target's process to carry out my errand, whose fields are set but for state. */
void dm_rma_errand_ask(struct dm_win *win, int target, struct dm_rma_errand *e);
/* Take it back. False: the target has begun, or is done. */
bool dm_rma_errand_undo(const struct dm_win *win, int target, struct dm_rma_errand *e);
/* May this process ask the target for an errand just now? */
bool dm_rma_errand_may(const struct dm_win *win, int target);
/* It was carried out: the target looks. */
void dm_rma_errand_went(struct dm_win *win, int target);
/* Do the target's share of a long transfer; the errand is done when it is. (share.c) */
void dm_rma_help(struct dm_win *win, int seat, struct dm_rma_errand *e);

/* ---- updates of private memory (combine.c, update.c) ---- */

/*
 * Is this part memory that only its process can address, and that others on its host update by
 * RDMA, one at a time, while they keep all others off?
 */
static inline bool dm_rma_is_guarded(const struct dm_win *win, int rank)
{
    return win->flavor == MPI_WIN_FLAVOR_CREATE && dm_rma_has_seat(win, rank) &&
           win->parts[rank].fd < 0 && win->parts[rank].is_direct;
}
/*
 * Before elements of my own part are updated, which is over by dm_rma_leave without any waiting
 * in between. False: somebody keeps all off; only when it is a guarded one.
 */
bool dm_rma_try_enter(const struct dm_win *win);
void dm_rma_leave(const struct dm_win *win);
/* Keep all others off a guarded part; waits, with progress. DM_EPEER. */
int dm_rma_keep_off(const struct dm_win *win, int rank);
void dm_rma_let_on(const struct dm_win *win, int rank);
/* Once more in a loop that waits for another process' short work. */
void dm_rma_pause(uint32_t *n);

/* ---- locks (lock_word.c) ---- */

/* Take the lock of a rank that has a seat; waits. DM_EPEER. */
int dm_rma_word_lock(struct dm_win *win, int rank, int mode);
void dm_rma_word_unlock(struct dm_win *win, int rank, int mode);
/* For a process of another host that has asked for the lock of mine: its ticket. */
uint32_t dm_rma_word_ticket(struct dm_win *win);
/* Is it this ticket's turn? If so the lock is held; else a WAKE packet comes when it may be. */
bool dm_rma_word_try(struct dm_win *win, uint32_t ticket, int mode);

#endif
