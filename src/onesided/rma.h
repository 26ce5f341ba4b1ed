/*
 * What the files of src/onesided share: packets, per-target state, transfers.
 */
#ifndef DM_ONESIDED_RMA_H
#define DM_ONESIDED_RMA_H

#include "onesided/onesided.h"
#include "util/backoff.h"
#include "util/cfg.h"
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
    /* assists for it (assist_origin.c): so many were handed over, are over; bytes of the one being filled */
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

/* ---- packets ---- */

enum dm_rma_pkt {
    DM_PKT_RMA_ACC = DM_PKT_RMA_FIRST, /* combine data into the target's memory */
    DM_PKT_RMA_GET,                    /* send me this range */
    DM_PKT_RMA_REPLY,                  /* the data of a get, or what was there before */
    DM_PKT_RMA_SYNC,                   /* acknowledge everything I sent before */
    DM_PKT_RMA_SYNC_ACK,
    DM_PKT_RMA_POST,
    DM_PKT_RMA_COMPLETE,
    DM_PKT_RMA_LOCK,
    DM_PKT_RMA_LOCK_GRANT,
    DM_PKT_RMA_UNLOCK,
    DM_PKT_RMA_FENCE, /* between the first processes of hosts; mode: which round */
    DM_PKT_RMA_WAKE   /* look at your words */
};

/* Notices between windows: everything but data. */
struct dm_pkt_rma_note {
    struct dm_pkt pkt;
    int32_t win;    /* the window's handle at the receiver */
    int32_t source; /* the sender's rank in the window */
    int32_t mode;   /* of a lock; in a SYNC_ACK enum dm_err of the packets before */
    int32_t from;   /* the window's handle at the sender */
};

/*
 * Accumulate. n_runs 0: the payload is elements of `basic` for offset. Otherwise the payload
 * starts with n_runs run records, the last one first, then the data of the runs in order.
 * Flags: with FETCH one more record comes before them, whose offset is the id to be
 * echoed in the reply; NO_OP brings no data. With SWAP there is one run of one element, and the
 * data are the new value and the one to compare with. With ACK, which has no runs, everything
 * up to this packet is acknowledged.
 */
enum { DM_RMA_FETCH = 1, DM_RMA_SWAP = 2, DM_RMA_ACK = 4 };
struct dm_pkt_rma_acc {
    struct dm_pkt pkt;
    int32_t win;
    int32_t op;
    uint64_t offset; /* bytes from the start of the target's part */
    int32_t basic;
    union {
        uint32_t n_runs;
        int32_t from; /* with ACK: the window's handle at the sender */
    };
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
    uint64_t id; /* of the transfer at the origin, echoed in the reply */
};
/* Flags of a reply: the range is not memory of the window; no data. */
enum { DM_RMA_REFUSED = 1 };
struct dm_pkt_rma_reply {
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

/* Bytes of an assist's data at most (shared.h). */
#define DM_RMA_ASSIST_BYTES 16384

/* A packet with its payload on its way. */
struct dm_rma_msg {
    struct dm_chan_send send;
    struct dm_rma_call call;
    struct dm_list link; /* in dm_rma_state.held, with its header: */
    struct dm_pkt_rma_acc acc;
    struct dm_rma_run runs[DM_RMA_ACC_RUNS + 1]; /* filled from the end */
    char data[DM_RMA_ACC_BYTES];
};

/* What has become of a question: asked, read by RDMA meanwhile, which of both is over. */
enum dm_rma_am_state {
    DM_AM_NONE,
    DM_AM_WAITS,
    DM_AM_READS,    /* the reply is not wanted any more */
    DM_AM_ANSWERED, /* and has come */
    DM_AM_LATE      /* and is still to come, though the transfer is over */
};

/* An RDMA transfer, or the place where a reply goes. */
struct dm_rma_xfer {
    struct dm_rdma rdma;
    struct dm_rma_call call;
    /* of a reply: packed bytes from `offset` of the buffer on; a reference to the type is held */
    struct dm_list link; /* in dm_rma_state.awaited */
    void *buf;
    size_t count;
    struct dm_type *type;
    size_t offset;
    /* of a question that RDMA can do without (am_get.c) */
    enum dm_rma_am_state ask;
    struct dm_list asked; /* in dm_rma_state.asked */
    uint64_t when;        /* ns */
    uint64_t remote;
    size_t len;
};

/* Shared by all windows (rma_state.c). */
struct dm_rma_state {
    struct dm_pool msgs;
    struct dm_pool xfers;
    struct dm_pool reqs;
    struct dm_list awaited; /* transfers that wait for a reply */
    struct dm_list asked;   /* those of them that RDMA can do, oldest first */
    struct dm_chan_hook am_hook;
    struct dm_list held; /* updates that wait for what follows them */
    struct dm_chan_hook deferred_hook;
    /* of dm_rma_get_modify_put: where elements are combined, registered; in use */
    char *copy;
    struct dm_mr *copy_mr;
    bool is_updating;
    int n_lost;            /* processes */
    struct dm_list allocs; /* of MPI_Alloc_mem */
    struct {
        uint64_t n_mapped;       /* transfers by loads and stores */
        uint64_t n_assists;      /* short ones that a waiting target carried out */
        uint64_t n_shared;       /* long ones that it did half of */
        uint64_t n_rdma;         /* RDMA transfers */
        uint64_t n_updates;      /* updates by reading and writing */
        uint64_t n_packets;      /* with data or questions; sent */
        uint64_t n_locks_word;   /* taken by a word */
        uint64_t n_locks_atomic; /* by a provider's fetch-and-add */
        uint64_t n_locks_asked;  /* by a packet to the target */
        uint64_t n_syncs_word;   /* fences, posts, completes by stores */
        uint64_t n_syncs_packet; /* by packets */
        uint64_t n_wakes;        /* packets to those who slept */
    } counts;
};
extern struct dm_rma_state dm_rma_state;

/* ---- helpers ---- */

/* What an item of an assist is: an update as in a packet, a short put or get. */
enum dm_rma_assist_kind { DM_ASSIST_UPDATE, DM_ASSIST_PUT, DM_ASSIST_GET };
/*
 * A short transfer that a target on this host which is looking for such carries out (assist_origin.c), on
 * memory that this process cannot address; over when it is settled, in whatever way. acc is as in a packet without
 * records, data its acc->pkt.data_len bytes, copied but those of a put, which may be read until then. result,
 * unless NULL, gets result_len bytes that were there. False: nothing was done.
 */
bool dm_rma_assist(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                   const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                   size_t result_len);
/* The same, over when it returns true; false: it was not done, and is not going to be. Waits. */
bool dm_rma_assist_now(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                       const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                       size_t result_len);
/*
 * What assists for target were to do is over, or in the case of puts and gets a transfer on its way. Before updates
 * go another way, and wherever transfers end. Waits; failures are told by the next synchronization.
 */
void dm_rma_assist_flush(struct dm_win *win, int target);
void dm_rma_assist_flush_all(struct dm_win *win);
/* One run by RDMA, or else packets; there is its offset in the target's part. (put_get.c) */
int dm_rma_move_remote(const struct dm_rma_call *call, void *local, uint64_t offset, size_t len,
                       bool is_put);
/* An item of kind update by RDMA, or else packets. Waits. (fetch.c) */
int dm_rma_update_remote(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                         const char *data, char *result, size_t result_len);
/* Contiguous elements of a basic type as packets, data packed. (acc.c) */
int dm_rma_send_plain(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                      const char *data, size_t len);
/*
 * A long put or get of registered memory that is private to a process on this host, half of it by
 * that process if it is looking (split_copy.c). False: nothing was done.
 */
bool dm_rma_split_copy(const struct dm_rma_call *call, void *local, uint64_t remote,
                       const struct dm_rkey *rkey, size_t len, bool is_put, int *err_p);
/*
 * Update n elements of registered memory that is private to a process on this host, which does not
 * look, by reading, combining and writing them while all others are kept off (get_modify_put.c); over when
 * it returns. acc is as in a packet without records, data packed (NULL with MPI_NO_OP); old, unless
 * NULL, gets what was there, packed. False: nothing was done.
 */
bool dm_rma_get_modify_put(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                           size_t n, const char *data, char *old, int *err_p);
void dm_rma_get_modify_put_stop(void);
/*
 * One RDMA transfer to or from registered memory of the target. DM_EAGAIN: mine cannot be
 * registered, nothing was done. (put_get.c)
 */
int dm_rma_move(const struct dm_rma_call *call, void *local, uint64_t remote,
                const struct dm_rkey *rkey, size_t len, bool is_put);
/* Apply an accumulate's data; old, unless NULL, gets what was there. DM_ERR_RMA_RANGE. (target.c) */
int dm_rma_apply(const struct dm_win *win, const struct dm_pkt_rma_acc *acc,
                 const struct dm_rma_run *run, const char *data, char *old);

static inline int dm_rma_proc(const struct dm_win *win, int rank)
{
    return dm_comm_proc(win->comm, rank);
}
/* A flag of a LOCK or UNLOCK: the word in the target's control block is the lock. */
enum { DM_RMA_BY_WORD = 0x100 };
/* Send a notice to a rank of the window. */
int dm_rma_note(struct dm_win *win, int rank, enum dm_rma_pkt type, int mode);
/*
 * The same as the answer to a note, whose `from` tells the handle: who is done with making the
 * window may ask somebody who does not know the others' handles yet.
 */
int dm_rma_answer(struct dm_win *win, int rank, int32_t handle, enum dm_rma_pkt type, int mode);
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
/* Queued packets hold memory: when there are many let some go before making more. Waits. */
void dm_rma_make_space(const struct dm_rma_call *call);
/* A packet for the call's target, after that; or at once. NULL: no memory. */
struct dm_rma_msg *dm_rma_msg_new(const struct dm_rma_call *call);
struct dm_rma_msg *dm_rma_msg_get(const struct dm_rma_call *call);
/* Queue it with this header; the payload lies in msg. Counted until it has left. */
int dm_rma_msg_send(struct dm_rma_msg *msg, const struct dm_pkt *pkt, const void *payload);
/* Send an update, at once or copied. DM_EAGAIN: too long to be copied (DM_RMA_ACC_BYTES). */
int dm_rma_packet(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                  const void *data);
/*
 * Is the target on another host, in a network where processors move the data? There a packet costs
 * no more than RDMA, and a target that waits answers sooner than its provider does.
 */
static inline bool dm_rma_prefers_packets(const struct dm_win *win, int target)
{
    return win->peers[target].lrank < 0 && dm_cfg()->rma == DM_RMA_AUTO &&
           dm_chan_eager_good(dm_world.chan, dm_rma_proc(win, target)) > 0;
}
/*
 * Hold an update of at most DM_RMA_ACC_BYTES back, copied, until the next pass of progress: a flush
 * may follow, and then needs no packet of its own. DM_ENOMEM.
 */
int dm_rma_defer(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                 const void *data);
/* Send what is held back for rank, if anything is; wants_ack: to be acknowledged. */
int dm_rma_send_deferred(struct dm_win *win, int rank, bool wants_ack);
/*
 * Get bytes by a question to a target that looks, or else, soon, by RDMA (am_get.c). False: not
 * now, nothing was done.
 */
bool dm_rma_am_get(const struct dm_rma_call *call, void *local, uint64_t remote, size_t len,
                   int *err_p);
/* The question's reply is here, from the first byte on. False: it is not wanted any more. */
bool dm_rma_am_get_replied(struct dm_rma_xfer *x);
/* The target of a question was lost; true when the transfer waits for nothing else. */
bool dm_rma_am_get_lost(struct dm_rma_xfer *x);
void dm_rma_ask_start(void);
/* A transfer record, counted until dm_rma_xfer_over; NULL when memory is out. */
struct dm_rma_xfer *dm_rma_xfer_new(const struct dm_rma_call *call);
void dm_rma_xfer_over(struct dm_rma_xfer *x, int err);
/* Its two halves: the call hears of it; the record is free again. */
void dm_rma_xfer_report(const struct dm_rma_xfer *x, int err);
void dm_rma_xfer_free(struct dm_rma_xfer *x);
/* A transfer was refused at once: its request, or else the next synchronization, tells. */
void dm_rma_refused(const struct dm_rma_call *call, int err);
/* The same for data that come in a reply: where they go. DM_EPEER, DM_ENOMEM. */
int dm_rma_reply_new(const struct dm_rma_call *call, void *buf, size_t count, struct dm_type *type,
                     size_t offset, struct dm_rma_xfer **x_p);
/* Listen for lost processes: their replies do not come. */
void dm_rma_xfer_start(void);

/* What the plain and the request forms of the transfers share; the target is not MPI_PROC_NULL. */
int dm_rma_put(const struct dm_rma_call *call, const void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type);
int dm_rma_get(const struct dm_rma_call *call, void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type);
int dm_rma_accumulate(const struct dm_rma_call *call, const void *origin, size_t origin_count,
                      struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
                      struct dm_type *target_type, struct dm_op *op);
int dm_rma_get_accumulate(const struct dm_rma_call *call, const void *origin, size_t origin_count,
                          struct dm_type *origin_type, void *result, size_t result_count,
                          struct dm_type *result_type, MPI_Aint disp, size_t target_count,
                          struct dm_type *target_type, struct dm_op *op);

/*
 * Request forms: begin checks the epoch (DM_ERR_RMA_SYNC outside passive target ones) and makes
 * the request of a call; step is one transfer of it that is over; end ends the call
 * itself: with an error of its own there is no request.
 */
void dm_rma_req_start(void);
int dm_rma_req_begin(struct dm_rma_call *call);
void dm_rma_req_step(struct dm_req *req, int err);
int dm_rma_req_end(struct dm_rma_call *call, int err, struct dm_req **req_p);

/*
 * Memory of the window in this process: address of len bytes at offset; NULL when that is not
 * (or no more) attached.
 */
char *dm_rma_place(const struct dm_win *win, uint64_t offset, uint64_t len);
void dm_rma_detach_all(struct dm_win *win);
/* The window's hints: defaults, and what info says. */
int dm_rma_info_init(struct dm_win *win, struct dm_info *info);
/* Make the memory of a shared window: sizes, base and maps of all ranks. DM_ERR_RMA_SHARED. */
int dm_rma_share(struct dm_win *win);
/* Do attached regions, perhaps several, cover these bytes (of a dynamic window)? */
bool dm_rma_is_attached(const struct dm_win *win, uint64_t addr, uint64_t len);
/*
 * The key to these bytes of another process of this host, when it has attached them (dynamic
 * windows), and whether providers can map them.
 */
bool dm_rma_region_key(const struct dm_win *win, int target, uint64_t addr, uint64_t len,
                       struct dm_rkey *rkey_p, bool *is_file_p);
/*
 * Combine n packed elements of a basic type at src (NULL with MPI_NO_OP) into memory of a part
 * of target that this process can address. What was there before is packed to old unless that is
 * NULL. Where others may do the same by themselves (win->is_mapped) and the machine can, each
 * element is updated by a compare and swap, or all while the others are kept off.
 */
int dm_rma_combine(const struct dm_win *win, int target, const struct dm_op *op, char *dst,
                   size_t n, int basic, const char *src, char *old);
/* The same in a copy that nobody else knows; and for one element. */
int dm_rma_combine_copy(const struct dm_op *op, char *dst, size_t n, int basic, const char *src,
                        char *old);
void dm_rma_swap_copy(char *dst, int basic, const char *src, const char *compare, char *old);
/* Compare and swap one element; the same rules. */
void dm_rma_swap(const struct dm_win *win, int target, char *dst, int basic, const char *src,
                 const char *compare, char *old);
/*
 * May this process combine elements of a basic type at that address by itself, though it belongs to
 * another's part? Otherwise only the owner does.
 */
static inline bool dm_rma_may_combine(const struct dm_win *win, int target, int basic,
                                      const char *dst)
{
    return target == win->comm->rank ||
           (dm_op_is_atomic(basic) && (uintptr_t)dst % (size_t)dm_type_get(basic)->extent == 0);
}
/* Say where my part's memory can be mapped from, if anywhere. */
void dm_rma_map_offer(const struct dm_win *win, struct dm_win_part *mine);
/* All parts are known: may somebody map anything of this window here? */
void dm_rma_map_start(struct dm_win *win);
/* Map the target's part if that is possible; once. */
void dm_rma_map_part(struct dm_win *win, int target);
void dm_rma_unmap_all(struct dm_win *win);
/* Is something on its way to rank that an update could overtake, another thread's flush included? */
static inline bool dm_rma_is_busy(const struct dm_win *win, int rank)
{
    const struct dm_win_peer *peer = &win->peers[rank];

    return !win->is_unordered && (peer->is_unacked || peer->n_pending != 0 || peer->n_awaited != 0);
}
/* Bytes from the first to the last of n elements of a basic type; a hole behind that is not its own. */
static inline size_t dm_rma_span(const struct dm_type *type, size_t n)
{
    return n > 0 ? (n - 1) * (size_t)type->extent + (size_t)type->true_extent : 0;
}
/* The target's part in this process' address space, or NULL. */
static inline char *dm_rma_reach(const struct dm_rma_call *call)
{
    struct dm_win_peer *peer = &call->win->peers[call->target];

    if (dm_unlikely(!peer->is_tried))
        dm_rma_map_part(call->win, call->target);
    return peer->map;
}
/*
 * Where len bytes of a target lie that this process can address now, when nothing needs a
 * second look: mapped, in an open epoch, in range. NULL: perhaps not.
 */
static inline char *dm_rma_quick(const struct dm_win *win, int target, MPI_Aint disp, size_t len)
{
    const struct dm_win_peer *peer;
    const struct dm_win_part *part;
    uint64_t offset;

    if (dm_unlikely(target < 0 || (uint64_t)disp > INT32_MAX))
        return NULL;
    peer = &win->peers[target];
    part = &win->parts[target];
    offset = (uint64_t)disp * part->disp_unit;
    if (dm_unlikely(peer->map == NULL || !(win->is_open || peer->is_locked || peer->is_started) ||
                    len > part->size || offset > part->size - len))
        return NULL;
    dm_rma_state.counts.n_mapped++;
    return peer->map + offset;
}
/*
 * The same if this call's updates may go there now: nothing that it
 * could overtake is on its way, another thread's flush of it included. Else NULL.
 */
static inline char *dm_rma_map(const struct dm_rma_call *call)
{
    return dm_rma_is_busy(call->win, call->target) ? NULL : dm_rma_reach(call);
}
/* dm_rma_quick for elements that are updated: nothing to overtake, and this process may do it. */
static inline char *dm_rma_quick_update(const struct dm_win *win, int target, MPI_Aint disp,
                                        size_t len, int basic)
{
    char *at = dm_rma_quick(win, target, disp, len);

    if (at == NULL || dm_rma_is_busy(win, target) || !dm_rma_may_combine(win, target, basic, at))
        return NULL;
    return at;
}
/* DM_EPEER when rank, or (rank < 0) any rank of the window, is lost. */
int dm_rma_check_lost(const struct dm_win *win, int rank);
/*
 * Wait until *count is 0. DM_EPEER when rank (or, rank < 0, any rank of the window) is lost meanwhile.
 */
int dm_rma_wait(struct dm_win *win, int rank, const int *count);
/*
 * Programs spin on a flush, or on lock and unlock, until somebody else's packet has changed their
 * memory; where nothing is to be waited for the packet must be let in now and then.
 */
void dm_rma_poll_others(struct dm_win *win);
/*
 * Make everything done so far to rank complete at the target; one acknowledgement if
 * packets were sent. Reports the first failed transfer.
 */
int dm_rma_flush(struct dm_win *win, int rank);
/* The same for all ranks, acknowledgements overlapped. */
int dm_rma_flush_all(struct dm_win *win);
/* Its first half: acknowledgements are asked for, not waited for. */
int dm_rma_flush_start(struct dm_win *win);
/* Only: origin buffers may be reused. */
int dm_rma_flush_local(struct dm_win *win, int rank);
/*
 * The checks of every transfer: this process may access target now (DM_ERR_RMA_SYNC), the
 * target's bytes are inside its part (DM_ERR_RMA_RANGE; *offset_p gets where disp is), and both
 * sides have the same number of bytes (DM_ERR_TYPE).
 */
int dm_rma_check_call(struct dm_win *win, size_t origin_count, const struct dm_type *origin_type,
                      int target, MPI_Aint disp, size_t target_count,
                      const struct dm_type *target_type, uint64_t *offset_p);
/* Only the last of them. */
int dm_rma_check_sizes(size_t origin_count, const struct dm_type *origin_type, size_t target_count,
                       const struct dm_type *target_type);
/* Lock rank's part; waits. DM_EPEER. */
int dm_rma_lock(struct dm_win *win, int rank, int mode);
/*
 * The same under MPI_Win_lock_all for a part that is used for the first time, perhaps by several
 * threads at once.
 */
int dm_rma_lock_used(struct dm_win *win, int rank);
/* Is the target in a passive target epoch of this process (rank < 0: is any)? */
bool dm_rma_is_passive(const struct dm_win *win, int rank);
/* Give back what MPI_Alloc_mem allocated and the program did not free. */
void dm_rma_mem_stop(void);
/* Updates that come while another process keeps this one off its part are put off. (target.c) */
void dm_rma_later_start(struct dm_win *win);
/* Register the packet handlers of target.c. */
void dm_rma_target_start(void);

#endif
