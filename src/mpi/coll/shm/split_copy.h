/*
 * A long copy by both of two ranks (mpi/node/split.h): the one that wants the data posts the copy,
 * and takes pieces from the front; the owner of the data takes pieces from the back.
 */
#ifndef DM_MPI_COLL_SHM_SPLIT_COPY_H
#define DM_MPI_COLL_SHM_SPLIT_COPY_H

#include "mpi/coll/shm/coll_shm.h"

/* Are there two, with a core each? Alike on all ranks. */
static inline bool dm_coll_shm_can_split(const struct dm_coll_shm *shm)
{
    return shm->n == 2 && !shm->is_oversubscribed;
}
/* As dm_host_vm_read from the other's memory; the other copies a part meanwhile where that is faster. */
int dm_coll_shm_split_copy(struct dm_run *run, struct dm_coll_shm *shm, uint64_t from, void *to,
                           size_t len);
/* Wait until the other has finished this round, and copy pieces for it meanwhile. */
bool dm_coll_shm_split_serve(struct dm_run *run, struct dm_coll_shm *shm);
/*
 * Describe what is divided, in my part of the segment: addresses in the other's memory and in mine,
 * bytes of all and of a piece. It begins; its number is the round's.
 */
void dm_coll_shm_split_open(const struct dm_coll_shm *shm, uint64_t from, uint64_t to, size_t len,
                            size_t piece);
static inline struct dm_split *dm_coll_shm_split(const struct dm_coll_shm *shm, int lrank)
{
    return &shm->shared->ranks[lrank].split.split;
}

#endif
