/*
 * Through a mapping of the file: no system call for each piece, and holes are neither written nor copied.
 */
#ifndef DM_IO_MAPPED_H
#define DM_IO_MAPPED_H

#include "io/move.h"

/*
 * Write the next len bytes of m, which lie in [low, high) of the file, in pieces of this mean length.
 * stage: space for packed data when memory is not contiguous. m->done tells how far it came: less
 * with DM_OK where it cannot be mapped, there is no space on the disk, or the file was truncated
 * meanwhile; each range by itself shows the reason then.
 */
int dm_mapped_write(struct dm_move *m, int64_t low, int64_t high, uint64_t len, uint64_t piece,
                    char *stage, size_t stage_len);

/*
 * Read the next len bytes of m, which lie in [low, high) of the file; stage as above. m->done tells how
 * far it came: less where it cannot be mapped, where the file has no such bytes, or its disk cannot
 * bring them, which reading shows.
 */
void dm_mapped_read(struct dm_move *m, int64_t low, int64_t high, uint64_t len, char *stage,
                    size_t stage_len);

#endif
