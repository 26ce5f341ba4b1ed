/*
 * The state of a window towards one of its ranks, and what a call carries to its target.
 */
#ifndef DM_ONESIDED_PEER_H
#define DM_ONESIDED_PEER_H

#include "onesided/onesided.h"
#include "util/backoff.h"

struct dm_rma_msg;

/* Epochs of this process as an origin (win->epoch.access) and as a target (win->epoch.exposure). */
enum dm_epoch {
    DM_EPOCH_NONE,
    DM_EPOCH_FENCE, /* opened by a fence; ends with a fence without transfers in between too */
    DM_EPOCH_START, /* MPI_Win_start .. complete */
    DM_EPOCH_POST,  /* MPI_Win_post .. wait */
    DM_EPOCH_LOCK,  /* one or more MPI_Win_lock */
    DM_EPOCH_LOCK_ALL
};

/* Assists for one target (assist_origin.c). */
struct dm_win_assists {
    uint32_t n_posted; /* request slots, in all */
    uint32_t n_done;   /* those of them that are over */
    uint32_t n_bytes;  /* in the slot that is being filled */
    bool is_active;    /* there are some that are not over, or a slot is being filled */
    bool is_cancelled; /* some were cancelled, and go another way now */
    bool is_woken;     /* a packet was sent to wake the target since it last executed one */
};

/* The lock of a rank's part that this process holds. */
struct dm_win_lock {
    int mode;        /* MPI_LOCK_* */
    int next;        /* rank, see dm_win_epoch.last_locked */
    bool is_taking;  /* a thread waits for it, under MPI_Win_lock_all */
    bool is_nocheck; /* taken with MPI_MODE_NOCHECK: nothing to release */
};

/* State towards one rank of the window; first what is looked at in every call. */
struct dm_win_peer {
    char *map;       /* its part in this process' address space, or NULL */
    bool is_locked;  /* this process holds a lock on its part */
    bool is_started; /* in the group of MPI_Win_start */
    bool is_unacked; /* packets that change its memory were sent since the last acknowledgement */
    bool is_tried;   /* mapping its part was tried */
    int place;       /* on this host: dm_rma_lrank; 0: not looked up yet */
    int n_transfers; /* transfers and queued packets to it that are not complete here */
    int n_answers;   /* awaited from it: grant, acknowledgement */
    struct dm_win_assists assist;
    struct dm_backoff
        assist_backoff;              /* of assists and active-message gets that it did not answer */
    struct dm_backoff split_backoff; /* of split copies, for the same reason */
    struct dm_rma_msg *deferred;     /* the last update for it, not sent yet; or NULL */
    uint64_t last_reply;             /* ns: to an active-message get */
    struct dm_win_lock lock;
    uint32_t n_posts;         /* post notices from it that no start has consumed */
    int target_err;           /* what went wrong with its packets here since its last SYNC */
    struct dm_rma_view *view; /* of the file of a part that was mapped here (map.c) */
};

/* One call's way to its target. */
struct dm_rma_call {
    struct dm_win *win;
    int target;
    struct dm_req *req; /* of a request form, counts its transfers; else NULL */
};

static inline int dm_rma_proc(const struct dm_win *win, int rank)
{
    return dm_comm_proc(win->comm, rank);
}
/* Packets to rank are to be acknowledged; or (acked) that has been requested. */
static inline void dm_rma_unacked(struct dm_win *win, int rank)
{
    win->pending.n_unacked += !win->peers[rank].is_unacked;
    win->peers[rank].is_unacked = true;
}
static inline void dm_rma_acked(struct dm_win *win, int rank)
{
    win->pending.n_unacked -= win->peers[rank].is_unacked;
    win->peers[rank].is_unacked = false;
}
/*
 * Is something on its way to rank that an update could overtake, another thread's flush included?
 */
static inline bool dm_rma_is_busy(const struct dm_win *win, int rank)
{
    const struct dm_win_peer *peer = &win->peers[rank];

    return !win->is_unordered &&
           (peer->is_unacked || peer->n_transfers != 0 || peer->n_answers != 0);
}

#endif
