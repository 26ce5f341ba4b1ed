/*
 * Waiting for words of a segment, and waking those who wait. False: the run has failed and is
 * stopped.
 */
#ifndef DM_MPI_COLL_SHM_WAIT_H
#define DM_MPI_COLL_SHM_WAIT_H

#include "mpi/coll/shm/coll_shm.h"

/*
 * What is waited for: a local rank's private posts and finished rounds, its public posts, a
 * barrier.
 */
#define DM_COLL_SHM_IS_PUBLIC ((uint64_t)1 << 32)
#define DM_COLL_SHM_BARRIER   (DM_COLL_SHM_IS_PUBLIC | UINT32_MAX)
static inline uint64_t dm_coll_shm_private_of(int lrank)
{
    return (uint64_t)lrank + 1;
}
static inline uint64_t dm_coll_shm_public_of(int lrank)
{
    return DM_COLL_SHM_IS_PUBLIC | ((uint64_t)lrank + 1);
}

/* Has a word become that large? */
static inline bool dm_coll_shm_has_come(_Atomic uint64_t *word, uint64_t value)
{
    return atomic_load_explicit(word, memory_order_acquire) >= value;
}
/* Wait until it has, with progress. */
bool dm_coll_shm_wait_long(struct dm_run *run, struct dm_coll_shm *shm, _Atomic uint64_t *word,
                           uint64_t value, uint64_t what);
static inline bool dm_coll_shm_wait(struct dm_run *run, struct dm_coll_shm *shm,
                                    _Atomic uint64_t *word, uint64_t value, uint64_t what)
{
    return dm_likely(dm_coll_shm_has_come(word, value)) ||
           dm_coll_shm_wait_long(run, shm, word, value, what);
}

/*
 * Somebody is asleep: wake those who wait for that; or, if it is public, my neighbours in the
 * tree.
 */
void dm_coll_shm_wake(const struct dm_comm *comm, const struct dm_coll_shm *shm, uint64_t what);
/* Something that is waited for was stored, or seen, just now. */
static inline void dm_coll_shm_notify(const struct dm_comm *comm, const struct dm_coll_shm *shm,
                                      uint64_t what)
{
    if (!shm->is_oversubscribed)
        return;
    atomic_thread_fence(memory_order_seq_cst);
    if (dm_unlikely(atomic_load_explicit(&shm->shared->n_asleep.value, memory_order_acquire) != 0))
        dm_coll_shm_wake(comm, shm, what);
}

/* The segment is of no use any more: all ranks must give it up, and this run has failed. */
void dm_coll_shm_give_up(struct dm_run *run, struct dm_coll_shm *shm, int err);
/* Look whether others are on this core, and move if so. */
void dm_coll_shm_spread(struct dm_coll_shm *shm);

#endif
