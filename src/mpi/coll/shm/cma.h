/*
 * Long blocks are read where they are, for one copy instead of two: their owner exposes them, by a
 * span in its slot, and waits until the others have read them.
 */
#ifndef DM_MPI_COLL_SHM_CMA_H
#define DM_MPI_COLL_SHM_CMA_H

#include "mpi/coll/shm/rounds.h"

/* Bytes that are worth it; of two ranks twice as many, as one copies in while the other one copies out. */
#define DM_COLL_SHM_CMA_MIN ((size_t)64 << 10)
/* As the total of a post: there are spans in the slot; the data come as a message. */
#define DM_COLL_SHM_BY_CMA  ((uint64_t)1 << 63)
#define DM_COLL_SHM_MESSAGE ((uint64_t)1 << 62)

/* Memory of a rank. */
struct dm_coll_shm_span {
    uint64_t addr;
    uint64_t len;
};

/* A buffer as a program describes it. */
struct dm_coll_shm_buf {
    void *buf;
    size_t count;
    struct dm_type *type;
};

static inline bool dm_coll_shm_uses_cma(const struct dm_coll_shm *shm, size_t bytes)
{
    return shm->can_read && bytes / (shm->n == 2 ? 2 : 1) >= DM_COLL_SHM_CMA_MIN;
}
/* The spans in a local rank's slot of this round: one for all, or one for each local rank. */
static inline struct dm_coll_shm_span *dm_coll_shm_span(const struct dm_coll_shm *shm, int lrank)
{
    return (struct dm_coll_shm_span *)(void *)dm_coll_shm_slot_data(
        shm, lrank, sizeof(struct dm_coll_shm_span));
}
static inline size_t dm_coll_shm_spans_len(const struct dm_coll_shm *shm)
{
    return (size_t)shm->n * sizeof(struct dm_coll_shm_span);
}
static inline struct dm_coll_shm_span *dm_coll_shm_spans(const struct dm_coll_shm *shm, int lrank)
{
    return (struct dm_coll_shm_span *)(void *)dm_coll_shm_slot_data(shm, lrank,
                                                                    dm_coll_shm_spans_len(shm));
}
/* Where data are, packed in temporary memory unless they are one run of bytes. False: no memory. */
bool dm_coll_shm_expose(struct dm_run *run, struct dm_coll_shm_buf from,
                        struct dm_coll_shm_span *span);
/*
 * What a span of a local rank's memory has, into a buffer; more than it has space for is
 * DM_ERR_TRUNCATE. Split: that rank waits meanwhile, by dm_coll_shm_await_all_finished, and may
 * do a part of the copy.
 */
void dm_coll_shm_cma_read(struct dm_run *run, struct dm_coll_shm *shm, int lrank,
                          const struct dm_coll_shm_span *span, void *buf, size_t count,
                          struct dm_type *type, bool is_split);
/* The root begins the round; at the others it has come, with a post that says so. */
void dm_coll_shm_cma_bcast(struct dm_run *run, struct dm_coll_shm *shm, void *buf, size_t count,
                           struct dm_type *type, int root);
/* Everybody has finished this round. */
bool dm_coll_shm_await_all_finished(struct dm_run *run, struct dm_coll_shm *shm);

#endif
