/*
 * Moves: small structures as loads and stores of 1, 2, 4, 8 or 16 bytes, so that an array of them
 * is copied as the compiler would copy it that knows all members.
 *
 * A member of another length is two or more moves, the last of which may overlap the one before it;
 * no move leaves its member. The loops are made for every combination of widths of DM_MOVES_LOOP
 * moves.
 */
#ifndef DM_MPI_DATATYPE_MOVES_H
#define DM_MPI_DATATYPE_MOVES_H

#include "mpi/datatype/prog.h"

#define DM_MOVES_LOOP 4  /* in one loop: more makes too many combinations */
#define DM_MOVES_MAX  16 /* of one repetition */

struct dm_moves {
    size_t n; /* rounded up to whole loops, within each of which widths descend */
    ptrdiff_t mem[DM_MOVES_MAX];    /* where in memory */
    ptrdiff_t packed[DM_MOVES_MAX]; /* and in the packed stream */
    int width[DM_MOVES_MAX];        /* 0: no move */
};

/* n repetitions of a leaf between the packed stream and mem. */
void dm_moves_copy(const struct dm_loop *leaf, char *stream, char *mem, size_t n, bool is_pack);

#endif
