/*
 * What a rank has for each of the others: packed into slots, or exposed where it is.
 */
#ifndef DM_MPI_COLL_SHM_BLOCKS_H
#define DM_MPI_COLL_SHM_BLOCKS_H

#include "mpi/coll/shm/cma.h"

/* The blocks for the local ranks above mine, then for those below, one after another. */
struct dm_coll_shm_blocks {
    const struct dm_coll_args *a;
    bool is_in_place;                      /* they are in a->rbuf */
    const struct dm_coll_shm_span *copies; /* or here, by lrank */
    size_t total, most;                    /* bytes of all, of the longest */
    int next;                              /* the one under way: steps above me, */
    size_t at;                             /* and bytes of it that have been put */
};

void dm_coll_shm_blocks_open(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *shm,
                             const struct dm_coll_args *a, bool is_in_place);
/*
 * Most bytes of them in one round; what a slot with so many of them is to be claimed and posted
 * for.
 */
size_t dm_coll_shm_blocks_space(const struct dm_coll_shm *shm);
size_t dm_coll_shm_blocks_len(const struct dm_coll_shm *shm, size_t len);
/* The next len bytes into my slot of this round. */
void dm_coll_shm_blocks_put(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *shm,
                            size_t len);
/* Those for me in a local rank's slot, that was posted with slot_len bytes. */
const char *dm_coll_shm_blocks_get(const struct dm_coll_shm *shm, int lrank, size_t slot_len,
                                   size_t *len_p);
/* Spans of all blocks, by lrank, into my slot; or copies of all blocks. False: no memory. */
bool dm_coll_shm_blocks_expose(struct dm_run *run, const struct dm_coll_shm_blocks *x,
                               const struct dm_coll_shm *shm);
bool dm_coll_shm_blocks_copy(struct dm_run *run, struct dm_coll_shm_blocks *x,
                             const struct dm_coll_shm *shm);

#endif
