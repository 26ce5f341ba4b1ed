/*
 * What the files of src/onesided share: packets, per-target state, transfers.
 */
#ifndef DM_ONESIDED_RMA_H
#define DM_ONESIDED_RMA_H

#include "onesided/onesided.h"
#include "util/pool.h"

/* ---- epochs of this process as an origin (win->access) and as a target (win->exposure) ---- */

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
    bool is_nocheck;  /* that lock was taken with MPI_MODE_NOCHECK: nothing to release */
    uint32_t n_posts; /* post notices from it that no start has consumed */
};

/* ---- packets ---- */

enum dm_rma_pkt {
    DM_PKT_RMA_ACC = DM_PKT_RMA_FIRST, /* combine data into the target's memory */
    DM_PKT_RMA_GET,                    /* send me this range */
    DM_PKT_RMA_GET_REPLY,
    DM_PKT_RMA_SYNC, /* acknowledge everything I sent before */
    DM_PKT_RMA_SYNC_ACK,
    DM_PKT_RMA_POST,
    DM_PKT_RMA_COMPLETE,
    DM_PKT_RMA_LOCK,
    DM_PKT_RMA_LOCK_GRANT,
    DM_PKT_RMA_UNLOCK
};

/* Notices between windows: everything but data. */
struct dm_pkt_rma_note {
    struct dm_pkt pkt;
    int32_t win;    /* the window's handle at the receiver */
    int32_t source; /* the sender's rank in the window */
    int32_t mode;   /* of a lock */
    int32_t pad;
};

/*
 * Accumulate: n_runs 0: the payload is elements of `basic` for offset. Otherwise the payload starts
 * with n_runs run records, the last one first, then the data of the runs in order.
 */
struct dm_pkt_rma_acc {
    struct dm_pkt pkt;
    int32_t win;
    int32_t op;
    uint64_t offset; /* bytes from the start of the target's part */
    int32_t basic;
    uint32_t n_runs;
};
struct dm_rma_run {
    uint64_t offset;
    uint32_t n;
    int32_t basic;
};

struct dm_pkt_rma_get {
    struct dm_pkt pkt;
    int32_t win;
    uint32_t len;
    uint64_t offset;
    uint64_t id; /* of the request at the origin, echoed in the reply */
};
struct dm_pkt_rma_get_reply {
    struct dm_pkt pkt;
    uint64_t id;
};

_Static_assert(sizeof(struct dm_pkt_rma_note) <= DM_PKT_MAX, "packet header too long");
_Static_assert(sizeof(struct dm_pkt_rma_acc) <= DM_PKT_MAX, "packet header too long");
_Static_assert(sizeof(struct dm_pkt_rma_get) <= DM_PKT_MAX, "packet header too long");
_Static_assert(sizeof(struct dm_rma_run) == 16, "run record is sent as it is");

/* Payload bytes of one accumulate packet at most: fits a default ring record, applied in place. */
#define DM_RMA_ACC_BYTES 8192
#define DM_RMA_ACC_RUNS  64

/* A packet with its payload on its way. */
struct dm_rma_msg {
    struct dm_chan_send send;
    struct dm_win *win;
    int target;
    struct dm_rma_run runs[DM_RMA_ACC_RUNS]; /* filled from the end */
    char data[DM_RMA_ACC_BYTES];
};

/* An RDMA transfer, or the place where a get reply goes. */
struct dm_rma_xfer {
    struct dm_rdma rdma;
    struct dm_win *win;
    int target;
    void *dst;
};

/* Shared by all windows (rma_state.c). */
struct dm_rma_state {
    struct dm_pool msgs;
    struct dm_pool xfers;
    struct dm_list allocs; /* of MPI_Alloc_mem */
};
extern struct dm_rma_state dm_rma_state;

/* ---- helpers ---- */

static inline int dm_rma_proc(const struct dm_win *win, int rank)
{
    return dm_comm_proc(win->comm, rank);
}
/* Send a notice to a rank of the window. */
int dm_rma_note(struct dm_win *win, int rank, enum dm_rma_pkt type, int mode);
/* Queue a message (made by dm_rma_msg_new) with this header; its payload is data[0..] or runs and data. */
struct dm_rma_msg *dm_rma_msg_new(struct dm_win *win, int target);
int dm_rma_msg_send(struct dm_rma_msg *msg, const struct dm_pkt *pkt, const void *payload);
/* A transfer record, counted in n_pending; NULL when memory is out. */
struct dm_rma_xfer *dm_rma_xfer_new(struct dm_win *win, int target);
/*
 * Wait until *count is 0. DM_EPEER when rank (or, rank < 0, any rank of the window) is lost meanwhile.
 */
int dm_rma_wait(struct dm_win *win, int rank, const int *count);
/*
 * Make everything done so far to rank complete at the target; one acknowledgement if
 * packets were sent. Reports the first failed transfer.
 */
int dm_rma_flush(struct dm_win *win, int rank);
/* The same for all ranks, acknowledgements overlapped. */
int dm_rma_flush_all(struct dm_win *win);
/* Only: origin buffers may be reused. */
int dm_rma_flush_local(struct dm_win *win, int rank);
/*
 * The checks of every transfer: this process may access target now (DM_ERR_RMA_SYNC), the
 * target's bytes are inside its part (DM_ERR_RMA_RANGE; *offset_p gets where disp is), and both
 * sides have the same number of bytes (DM_ERR_TYPE).
 */
int dm_rma_check_call(const struct dm_win *win, size_t origin_count,
                      const struct dm_type *origin_type, int target, MPI_Aint disp,
                      size_t target_count, const struct dm_type *target_type, uint64_t *offset_p);
/* Give back what MPI_Alloc_mem allocated and the program did not free. */
void dm_rma_mem_stop(void);
/* Register the packet handlers of target.c. */
void dm_rma_target_start(void);

#endif
