/*
 * Writing through a mapping of the file: the datatype engine scatters into it. No system call for
 * each piece, and the holes are not touched.
 */
#ifndef DM_IO_MAPPED_H
#define DM_IO_MAPPED_H

#include "io/move.h"

/*
 * Write the next len bytes of m, which lie in [low, high) of the file. stage: space for packed data
 * when memory is not contiguous. *is_done_p false with DM_OK: it cannot be mapped; nothing was
 * done. A file that is truncated meanwhile, or a full disk, is an error.
 */
int dm_mapped_write(struct dm_move *m, int64_t low, int64_t high, uint64_t len, char *stage,
                    size_t stage_len, bool *is_done_p);

#endif
