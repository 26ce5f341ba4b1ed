/*
 * Data into and out of slots: bytes [offset, offset + len) of the packed form; and in how many
 * pieces.
 */
#ifndef DM_MPI_COLL_SHM_DATA_H
#define DM_MPI_COLL_SHM_DATA_H

#include "mpi/coll/shm/wait.h"

#define DM_COLL_SHM_PARTS 8 /* of a message that is written while it is read */
#define DM_COLL_SHM_SPREAD                                                                         \
    ((size_t)256 << 10) /* bytes to move that are worth a look at the cores */

void dm_coll_shm_pack(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                      void *dst, size_t len);
/* As much of len bytes as the buffer has space for; more is DM_ERR_TRUNCATE. */
void dm_coll_shm_unpack(struct dm_run *run, void *buf, size_t count, const struct dm_type *type,
                        size_t offset, const void *src, size_t len);

/* Bytes of a piece of a message that is long, so that it is written and read at the same time. */
static inline size_t dm_coll_shm_piece(const struct dm_coll_shm *shm, size_t total)
{
    size_t part = total / DM_COLL_SHM_PARTS & ~(size_t)4095;

    if (!shm->is_flat || part >= shm->space)
        return shm->space;
    return part > DM_COLL_SHM_PIECE ? part : DM_COLL_SHM_PIECE;
}
/* The root's posts can be there before anybody has read one. */
static inline bool dm_coll_shm_runs_ahead(const struct dm_coll_shm *shm, size_t total)
{
    return shm->is_oversubscribed && total <= DM_COLL_SHM_BIG * shm->space;
}
/* All ranks together have so many bytes to move in this collective: waits may last. */
static inline void dm_coll_shm_expect(struct dm_coll_shm *shm, size_t bytes)
{
    shm->n_moved = bytes;
    if (shm->is_oversubscribed && bytes >= DM_COLL_SHM_SPREAD)
        dm_coll_shm_spread(shm);
}

#endif
