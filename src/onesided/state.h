/*
 * What all windows of the process share: pools, lists, counters (rma_state.c).
 */
#ifndef DM_ONESIDED_STATE_H
#define DM_ONESIDED_STATE_H

#include "onesided/onesided.h"
#include "onesided/path_select.h"
#include "util/copy_ways.h"
#include "util/pool.h"

/*
 * The paths of puts, gets and updates, and what is counted of them. The tables that choose are in
 * move.c and update.c; memory that this process can address needs no table.
 */
enum dm_rma_path {
    DM_PATH_LOAD_STORE,     /* calls */
    DM_PATH_ASSIST,         /* items that the target has executed */
    DM_PATH_SPLIT_COPY,     /* of which the target has copied its part */
    DM_PATH_GET_MODIFY_PUT, /* updates */
    DM_PATH_ATOMIC,         /* elements */
    DM_PATH_RDMA,           /* transfers */
    DM_PATH_AM_GET,         /* requests */
    DM_PATH_PACKETS,        /* with data, or that ask for data; sent */
    DM_N_PATHS
};
/* Its name in DATUM_STATS; blanks in front: it belongs to the line above. */
const char *dm_rma_path_name(enum dm_rma_path path);

struct dm_rma_state {
    struct dm_pool msgs;
    struct dm_pool xfers;
    struct dm_pool reqs;
    struct dm_list views;   /* of neighbours' memory (map.c) */
    struct dm_list awaited; /* transfers that wait for a reply */
    struct dm_list am_gets; /* those of them that RDMA can do, oldest first */
    struct dm_chan_hook am_hook;
    struct dm_list deferred; /* updates that wait for what follows them */
    struct dm_chan_hook deferred_hook;
    struct dm_list kept;      /* control blocks for the next window (mpi/node/kept.h) */
    uint32_t n_blocks;        /* control blocks that windows have */
    struct dm_list assisting; /* windows whose doorbells are looked at (assist_target.c) */
    struct dm_chan_hook assist_hook;
    uint32_t n_assist_passes;
    /* of get-modify-put: where elements are combined, registered; in use */
    char *copy;
    struct dm_mr *copy_mr;
    bool is_updating;
    int n_lost; /* processes */
    struct dm_rma_select select;
    struct dm_copy_ways copies;        /* to and from windows that are addressed */
    struct dm_copy_ways assist_copies; /* to slots of assists */
    struct {
        uint64_t n_path[DM_N_PATHS];
        uint64_t n_locks_word;   /* taken by a word */
        uint64_t n_locks_atomic; /* by a provider's fetch-and-add, */
        uint64_t n_lock_adds;    /* and those */
        uint64_t n_locks_packet; /* by a packet to the target */
        uint64_t n_syncs_word;   /* fences, posts, completes by stores */
        uint64_t n_syncs_packet; /* by packets */
        uint64_t n_wakes;        /* packets to those who slept */
    } counts;
};
extern struct dm_rma_state dm_rma_state;

#endif
