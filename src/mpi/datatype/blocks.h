/*
 * Copies of many blocks of memory. Blocks of one copy do not overlap; their order is free.
 */
#ifndef DM_MPI_DATATYPE_BLOCKS_H
#define DM_MPI_DATATYPE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses are integers here: with MPI_BOTTOM the base is null. */
static inline char *dm_blocks_move(char *mem, ptrdiff_t by)
{
    return (char *)((uintptr_t)mem + (uintptr_t)by);
}

/* Is there a loop for blocks of that length at equal distances? */
bool dm_blocks_has_loop(size_t len);
/* n blocks of len bytes at equal distances. */
void dm_blocks_strided(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
                       size_t len, size_t n);
/* n blocks of len bytes between a contiguous place and mem + disp[i]. */
void dm_blocks_even(char *stream, char *mem, const ptrdiff_t *disp, size_t len, size_t n,
                    bool is_pack);
/* The same of blocks of the lengths between the packed offsets pos[0] to pos[n]. */
void dm_blocks_mixed(char *stream, char *mem, const ptrdiff_t *disp, const size_t *pos, size_t n,
                     bool is_pack);

#endif
