/*
 * Rounds on a segment: in a round a rank may write its slot for it and post it, wait for posts of
 * others and read their slots, and finish the round. A slot is written again when all have finished the round that it was written in; that every rank posts what
 * others wait for makes this true without asking, in most rounds.
 *
 * Functions that return false, or NULL: the run has failed and is stopped.
 */
#ifndef DM_MPI_COLL_SHM_ROUNDS_H
#define DM_MPI_COLL_SHM_ROUNDS_H

#include "mpi/coll/shm/coll_shm.h"

/* Which of its slots a rank uses in a round; and the head. */
static inline uint64_t dm_coll_shm_slot(uint64_t round)
{
    return round % (round < DM_COLL_SHM_FEW_UNTIL ? DM_COLL_SHM_FEW : DM_COLL_SHM_SLOTS);
}
static inline struct dm_coll_shm_head *dm_coll_shm_head_of(const struct dm_coll_shm *shm, int lrank,
                                                           uint64_t round)
{
    struct dm_coll_shm_rank *ranks = shm->shared->ranks;
    uint64_t slot = dm_coll_shm_slot(round);

    if (slot < DM_COLL_SHM_FEW)
        return &ranks[lrank].heads[slot];
    return (struct dm_coll_shm_head *)(void *)&ranks[shm->n] + (size_t)lrank * DM_COLL_SHM_MORE +
           (slot - DM_COLL_SHM_FEW);
}
/* The next round; and mine to write: my slot in it is free for so many bytes. */
static inline void dm_coll_shm_next(struct dm_coll_shm *shm)
{
    shm->round++;
}
bool dm_coll_shm_claim(struct dm_run *run, struct dm_coll_shm *shm, size_t len);
/*
 * A local rank's slot of this round: its head, and where its data are when they have len bytes:
 * in the head, or outside.
 */
static inline struct dm_coll_shm_head *dm_coll_shm_head(const struct dm_coll_shm *shm, int lrank)
{
    return dm_coll_shm_head_of(shm, lrank, shm->round);
}
static inline char *dm_coll_shm_slot_data_at(const struct dm_coll_shm *shm, int lrank,
                                             uint64_t round, size_t len)
{
    if (len <= DM_COLL_SHM_INLINE)
        return dm_coll_shm_head_of(shm, lrank, round)->data;
    if (len <= DM_COLL_SHM_MID)
        return dm_coll_shm_mids(shm, lrank) + round % DM_COLL_SHM_MIDDLES * DM_COLL_SHM_MID;
    return dm_coll_shm_bigs(shm, lrank) + round % DM_COLL_SHM_BIG * shm->space;
}
static inline char *dm_coll_shm_slot_data(const struct dm_coll_shm *shm, int lrank, size_t len)
{
    return dm_coll_shm_slot_data_at(shm, lrank, shm->round, len);
}
/* Bytes in each of n parts of a slot. */
static inline size_t dm_coll_shm_part(const struct dm_coll_shm *shm, int n)
{
    return shm->space / (size_t)n & ~(size_t)15;
}
/*
 * Post what is in my slot. Private: a rank that waits for me is woken; public: all will wait for it
 * (dm_coll_shm_await with is_public), and wake each other.
 */
void dm_coll_shm_post(struct dm_run *run, struct dm_coll_shm *shm, size_t len, size_t total,
                      bool is_public);
/* Wait for the post of a local rank in this round; the head is its then. */
const struct dm_coll_shm_head *dm_coll_shm_await(struct dm_run *run, struct dm_coll_shm *shm,
                                                 int lrank, bool is_public);
/* Post, and wait until all have posted: nobody's head need be waited for. */
bool dm_coll_shm_barrier(struct dm_run *run, struct dm_coll_shm *shm, size_t len, size_t total);
/*
 * The same, and before it is over work is done for all: for each group of local ranks [from, to) by the
 * last of them that comes; then, if there are several, by the last of all. Who works has the core for a
 * slice, then waits until all others there have yielded: so among many ranks nobody has much to do. Not
 * on flat segments.
 */
struct dm_coll_shm_work {
    void (*on_group)(void *arg, int from, int to);
    void (*on_groups)(void *arg, int n_each); /* the last may have fewer */
    void *arg;
};
bool dm_coll_shm_barrier_work(struct dm_run *run, struct dm_coll_shm *shm, size_t len, size_t total,
                              const struct dm_coll_shm_work *work);
/* A barrier in a round of its own, which is finished. */
void dm_coll_shm_await_barrier(struct dm_run *run, struct dm_coll_shm *shm);
/* I shall not look at this round any more. */
void dm_coll_shm_finish(struct dm_run *run, struct dm_coll_shm *shm);
/* Wait until a local rank has finished this round. */
bool dm_coll_shm_await_finished(struct dm_run *run, struct dm_coll_shm *shm, int lrank);
/*
 * Say that there is a split copy in this round; wait until a local rank says so, or has finished.
 */
void dm_coll_shm_post_split(struct dm_run *run, struct dm_coll_shm *shm);
bool dm_coll_shm_await_split(struct dm_run *run, struct dm_coll_shm *shm, int lrank);
/* A collective is over: when it has failed here all others must know. */
void dm_coll_shm_close(struct dm_run *run, struct dm_coll_shm *shm);

#endif
