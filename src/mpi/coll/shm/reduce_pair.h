/*
 * Reductions of long vectors between two ranks that may read and write each other's memory.
 */
#ifndef DM_MPI_COLL_SHM_REDUCE_PAIR_H
#define DM_MPI_COLL_SHM_REDUCE_PAIR_H

#include "mpi/coll/shm/coll_shm.h"

/* Is this one for them? Alike on both ranks, whose vectors are equally long. */
bool dm_coll_shm_is_pair(const struct dm_coll_shm *shm, const struct dm_coll_args *a, size_t bytes);
/* The root gets the result. */
void dm_coll_shm_pair_reduce(struct dm_run *run, struct dm_coll_shm *shm,
                             const struct dm_coll_args *a, size_t bytes, int root);

#endif
