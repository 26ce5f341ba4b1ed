/*
 * The state of a window towards one of its ranks, and what a call carries to its target.
 */
#ifndef DM_ONESIDED_PEER_H
#define DM_ONESIDED_PEER_H

#include "onesided/onesided.h"
#include "util/backoff.h"

struct dm_rma_msg;

/* Epochs of this process as an origin (win->access) and as a target (win->exposure). */
enum dm_epoch {
    DM_EPOCH_NONE,
    DM_EPOCH_FENCE, /* opened by a fence; ends with a fence without transfers in between too */
    DM_EPOCH_START, /* MPI_Win_start .. complete */
    DM_EPOCH_POST,  /* MPI_Win_post .. wait */
    DM_EPOCH_LOCK,  /* one or more MPI_Win_lock */
    DM_EPOCH_LOCK_ALL
};

/* State towards one rank of the window. */
struct dm_win_peer {
    int n_pending;    /* transfers and queued packets to it, not complete here */
    int n_awaited;    /* answers awaited from it: grant, acknowledgement, get reply */
    bool is_unacked;  /* packets that change its memory were sent since the last acknowledgement */
    bool is_started;  /* in the group of MPI_Win_start */
    bool is_locked;   /* I hold a lock on its part */
    bool is_locking;  /* a thread waits for it, under MPI_Win_lock_all */
    bool is_nocheck;  /* that lock was taken with MPI_MODE_NOCHECK: nothing to release */
    int lock_mode;    /* of that lock: MPI_LOCK_* */
    int next_locked;  /* rank, see dm_win.locked */
    int lrank;        /* in the control block of this host, -1: none */
    uint32_t n_posts; /* post notices from it that no start has consumed */
    char *map;        /* its part in this process' address space, or NULL */
    bool is_tried;    /* mapping it has been */
    void *view;       /* the file of a part that was mapped here, for unmapping */
    size_t view_len;
    struct dm_backoff assist_backoff; /* of assists and active-message gets: it did not look */
    struct dm_backoff split_backoff;  /* of split copies, for the same reason */
    bool is_called; /* a packet was sent to wake it since the last one that it carried out */
    /*
     * assists for it (assist_origin.c): so many were handed over, are over; bytes of the one being
     * filled
     */
    uint32_t n_asked;
    uint32_t n_over;
    uint32_t n_filled;
    bool is_gathering;       /* there are such */
    bool is_redoing;         /* some were taken back, and are done in other ways now */
    struct dm_rma_msg *held; /* the last update for it, held back; or NULL */
    uint64_t last_reply;     /* ns: to an active-message get */
    int bad;                 /* as a target: what went wrong with its packets since its last SYNC */
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
/* Packets went to rank that are to be acknowledged; or (acked) nobody asks about them any more. */
static inline void dm_rma_unacked(struct dm_win *win, int rank)
{
    win->n_unacked += !win->peers[rank].is_unacked;
    win->peers[rank].is_unacked = true;
}
static inline void dm_rma_acked(struct dm_win *win, int rank)
{
    win->n_unacked -= win->peers[rank].is_unacked;
    win->peers[rank].is_unacked = false;
}
/*
 * Is something on its way to rank that an update could overtake, another thread's flush included?
 */
static inline bool dm_rma_is_busy(const struct dm_win *win, int rank)
{
    const struct dm_win_peer *peer = &win->peers[rank];

    return !win->is_unordered && (peer->is_unacked || peer->n_pending != 0 || peer->n_awaited != 0);
}

#endif
