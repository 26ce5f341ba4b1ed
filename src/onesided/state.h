/*
 * What all windows of the process share: pools, lists, counters (rma_state.c).
 */
#ifndef DM_ONESIDED_STATE_H
#define DM_ONESIDED_STATE_H

#include "onesided/onesided.h"
#include "util/pool.h"

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

#endif
