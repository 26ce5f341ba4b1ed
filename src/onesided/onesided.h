/*
 * One-sided communication (MPI-4.0 chapter 12): windows, epochs, put, get and
 * accumulates.
 *
 * Put and Get of memory that the target has registered are RDMA and need nothing of the
 * target's processor; accumulates, and everything on unregistered memory, travel as packets
 * that the target's progress engine applies in order of arrival. Memory that this process
 * can address is loaded and stored.
 */
#ifndef DM_ONESIDED_ONESIDED_H
#define DM_ONESIDED_ONESIDED_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/op/op.h"
#include "util/rbtree.h"

/* What the others know about a rank's part of a window; exchanged at creation. */
struct dm_win_part {
    uint64_t base;
    uint64_t size;
    struct dm_rkey rkey;
    struct dm_word_key lock; /* where its locks are fetched and added to; rail 0: nowhere */
    struct dm_word_key
        words;      /* the part as words of the provider's atomic operations; 0: it is none */
    int32_t handle; /* of the window in that process; 0: it could not make its part */
    uint32_t disp_unit;
    uint32_t is_direct; /* registered: RDMA can reach it */
    /* a memory file that processes of its host may map; fd -1: none */
    int32_t fd;
    int32_t pid;
    int32_t ctl_fd; /* of the first process on a host: the control block's (shared.h) */
    uint64_t dev;
    uint64_t ino;
    uint64_t file_offset; /* of base */
    uint64_t file_len;
    uint64_t ctl_dev;
    uint64_t ctl_ino;
    uint32_t ctl_block;    /* which of the file's */
    uint32_t ctl_n_blocks; /* that the file has */
};

struct dm_win_peer; /* private: state towards one rank, peer.h */
struct dm_rma_node; /* private: the node-shared window state, shared.h */

/* What is under way at this origin, towards all ranks. */
struct dm_win_pending {
    int n_transfers;  /* transfers and packets that are not complete here */
    int n_answers;    /* awaited: grants, acknowledgements */
    int n_unacked;    /* ranks that have packets to acknowledge */
    int err;          /* first failure of a transfer since the last synchronization */
    int n_assists;    /* ranks for which there are assists */
    int n_late;       /* replies still to come of transfers that are over */
    uint32_t n_polls; /* flushes and unlocks so far: some of them make progress */
};

/* Synchronization of this process, as an origin and as a target. */
struct dm_win_epoch {
    bool is_open;    /* all targets may be accessed, without a lock to be taken first */
    bool is_nocheck; /* of MPI_Win_lock_all: no locks are taken */
    int access;      /* enum dm_epoch, as origin */
    int exposure;    /* enum dm_epoch, as target */
    int n_locked;    /* ranks, by MPI_Win_lock */
    int last_locked; /* a rank whose lock is held, the others by dm_win_peer.lock.next; -1: none */
    struct dm_group *start_group;
    int n_completes;        /* MPI_Win_complete notices still to come */
    uint32_t n_fences;      /* that this process has come to */
    uint32_t n_notices[32]; /* fences over several hosts: from others, by round */
};

/* What this process does for origins: their locks, and packets that have to wait. */
struct dm_win_target {
    int lock_mode; /* of this rank's part: 0 free, else MPI_LOCK_* */
    int n_lock_holders;
    struct dm_list lock_queue;
    struct dm_list deferred; /* packets: another process holds the exclusive lock of the part */
    struct dm_chan_hook deferred_hook;
    uint32_t n_tries; /* to handle them */
    uint32_t n_wakes; /* packets that words have changed which this process may wait for */
};

struct dm_win {
    struct dm_obj obj;
    /* what a put, get or flush of mapped memory looks at */
    struct dm_win_part *parts; /* one per rank */
    struct dm_win_peer *peers; /* one per rank */
    struct dm_win_pending pending;
    bool is_unordered; /* accumulate_ordering=none: updates may overtake each other */
    bool is_fine;      /* mpi_accumulate_granularity: updates are of single elements */
    bool is_mapped;    /* others address this rank's part, or this rank theirs: dm_rma_combine */
    struct dm_win_epoch epoch;
    /* what the program sees */
    struct dm_comm *comm;   /* private duplicate of the program's */
    struct dm_group *group; /* of the window */
    void *base;
    MPI_Aint size; /* bytes; attribute MPI_WIN_SIZE points here */
    int disp_unit;
    int flavor; /* MPI_WIN_FLAVOR_* */
    int model;  /* MPI_WIN_UNIFIED */
    struct dm_errhandler *eh;
    struct dm_info *info;
    struct dm_attr *attrs;
    char name[MPI_MAX_OBJECT_NAME];
    /* private to src/onesided */
    struct dm_mr *mr;
    void *map; /* of a shared window: all parts */
    size_t map_len;
    struct dm_rbtree regions;     /* attached to a dynamic window (win_dynamic.c) */
    struct dm_list empty_regions; /* those of them without bytes */
    struct dm_rma_node *node;     /* NULL: locks, fences and so on go by packets */
    struct dm_words *fetch_locks; /* all its locks are taken by fetch-and-add of these; or NULL */
    struct dm_words *words;       /* its 8-byte integers are updated by the provider; or NULL */
    struct dm_win_target target;
};

/* Counters of the paths and synchronizations that this process took; at most max; how many. */
int dm_onesided_stats(struct dm_adapt_stat *stats, int max);
int dm_onesided_start(void);
void dm_onesided_stop(void);
static inline struct dm_win *dm_win_get(MPI_Win handle)
{
    return dm_handle_get(DM_KIND_WIN, handle);
}

/* ---- bodies of the MPI functions ---- */

/* Memory that peers reach fastest; hints in info are accepted and ignored. */
int dm_alloc_mem(size_t size, struct dm_info *info, void *baseptr);
int dm_free_mem(void *base);

/* Collective over comm. */
int dm_win_create(void *base, size_t size, int disp_unit, struct dm_info *info,
                  struct dm_comm *comm, struct dm_win **win_p);
int dm_win_allocate(size_t size, int disp_unit, struct dm_info *info, struct dm_comm *comm,
                    void *baseptr, struct dm_win **win_p);
/*
 * Memory that all processes of comm, which must be on one host, can load and store (12.2.3); one
 * piece in rank order unless info has alloc_shared_noncontig. DM_ERR_RMA_SHARED.
 */
int dm_win_allocate_shared(size_t size, int disp_unit, struct dm_info *info, struct dm_comm *comm,
                           void *baseptr, struct dm_win **win_p);
/*
 * Of other windows that have memory, too (MPI-4.1 section 12.2.3): no bytes and NULL where this process cannot load and
 * store it. MPI_PROC_NULL: the lowest rank that has memory. DM_ERR_RMA_FLAVOR: a dynamic window.
 */
int dm_win_shared_query(struct dm_win *win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                        void *baseptr);
/* No memory yet; displacements are addresses in the target (12.2.4). */
int dm_win_create_dynamic(struct dm_info *info, struct dm_comm *comm, struct dm_win **win_p);
/* DM_ERR_RMA_FLAVOR; DM_ERR_RMA_ATTACH: overlaps what is attached; or base is not attached. */
int dm_win_attach(struct dm_win *win, void *base, size_t size);
int dm_win_detach(struct dm_win *win, const void *base);
int dm_win_free(struct dm_win *win);
int dm_win_get_group(struct dm_win *win, struct dm_group **group_p);
/* Hints: keys that the library does not know are ignored; get_info shows all that it does. */
int dm_win_set_info(struct dm_win *win, struct dm_info *info);
int dm_win_get_info(struct dm_win *win, struct dm_info **info_p);

int dm_put(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
           MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win);
int dm_get(void *origin, size_t origin_count, struct dm_type *origin_type, int target,
           MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win);
int dm_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
                  MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_op *op,
                  struct dm_win *win);
/*
 * The old value of every element comes back (12.3.4). With MPI_NO_OP the origin's arguments are
 * ignored, and origin_type may be NULL. DM_ERR_TYPE: not predefined, in the last two.
 */
int dm_get_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type,
                      void *result, size_t result_count, struct dm_type *result_type, int target,
                      MPI_Aint disp, size_t target_count, struct dm_type *target_type,
                      struct dm_op *op, struct dm_win *win);
int dm_fetch_and_op(const void *origin, void *result, struct dm_type *type, int target,
                    MPI_Aint disp, struct dm_op *op, struct dm_win *win);
int dm_compare_and_swap(const void *origin, const void *compare, void *result, struct dm_type *type,
                        int target, MPI_Aint disp, struct dm_win *win);

/* Request forms (12.3.5), in passive target epochs only: DM_ERR_RMA_SYNC. */
int dm_rput(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
            MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win,
            struct dm_req **req_p);
int dm_rget(void *origin, size_t origin_count, struct dm_type *origin_type, int target,
            MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win,
            struct dm_req **req_p);
int dm_raccumulate(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
                   MPI_Aint disp, size_t target_count, struct dm_type *target_type,
                   struct dm_op *op, struct dm_win *win, struct dm_req **req_p);
int dm_rget_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type,
                       void *result, size_t result_count, struct dm_type *result_type, int target,
                       MPI_Aint disp, size_t target_count, struct dm_type *target_type,
                       struct dm_op *op, struct dm_win *win, struct dm_req **req_p);

int dm_win_fence(int assert_flags, struct dm_win *win);
int dm_win_start(struct dm_group *group, int assert_flags, struct dm_win *win);
int dm_win_complete(struct dm_win *win);
int dm_win_post(struct dm_group *group, int assert_flags, struct dm_win *win);
int dm_win_wait(struct dm_win *win);
int dm_win_test(struct dm_win *win, int *flag);
int dm_win_lock(int lock_type, int rank, int assert_flags, struct dm_win *win);
int dm_win_unlock(int rank, struct dm_win *win);
int dm_win_lock_all(int assert_flags, struct dm_win *win);
int dm_win_unlock_all(struct dm_win *win);
int dm_win_flush(int rank, struct dm_win *win);
int dm_win_flush_all(struct dm_win *win);
int dm_win_flush_local(int rank, struct dm_win *win);
int dm_win_flush_local_all(struct dm_win *win);
int dm_win_sync(struct dm_win *win);

#endif
