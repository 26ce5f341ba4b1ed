/*
 * Bringing n ranks down to 2^k for algorithms over pairs, and vector halving
 * (Rabenseifner), which reduce and allreduce share.
 *
 * The first 2r ranks, r = n - 2^k, make pairs of neighbours; one of a pair stays and
 * carries both operands. Neighbours stay neighbours, so the order of the operands is
 * kept.
 */
#ifndef DM_MPI_COLL_ALG_POF2_H
#define DM_MPI_COLL_ALG_POF2_H

#include "mpi/coll/run.h"

struct dm_coll_pof2 {
    int n; /* 2^k positions stay */
    int n_pairs;
    int pos;  /* mine, or -1: the other rank of my pair works for me */
    int pair; /* other rank of my pair, or -1 */
    int keep; /* a rank that must stay, or -1 */
};

/* The part of the vector that a position holds reduced, and how it came to it. */
struct dm_coll_range {
    size_t lo, hi;
};
struct dm_coll_halving {
    int depth;
    struct dm_coll_range at[32]; /* before step i; at[depth] is what this rank has reduced */
};

/* keep: rank that must stay, or -1. */
void dm_coll_pof2_init(struct dm_coll_pof2 *pof2, const struct dm_run *run, int keep);
/* Rank at a position. */
int dm_coll_pof2_rank(const struct dm_coll_pof2 *pof2, int pos);
/*
 * Combine the operands of each pair: acc holds mine, tmp is space for the other's. The
 * buffers are exchanged when the result is in tmp. A rank that does not stay (pos -1) has
 * sent its operand.
 */
void dm_coll_pof2_reduce(struct dm_run *run, const struct dm_coll_pof2 *pof2,
                         const struct dm_coll_args *a, void **acc_p, void **tmp_p);

/*
 * Reduce-scatter over the positions: at each step partners exchange halves of the part
 * they have in common and combine one. acc and tmp as above; the part that remains is at its
 * position in acc.
 */
void dm_coll_halve(struct dm_run *run, const struct dm_coll_pof2 *pof2,
                   const struct dm_coll_args *a, void **acc_p, void **tmp_p,
                   struct dm_coll_halving *halving);
/* The part of step i's range that the partner got. */
struct dm_coll_range dm_coll_halving_other(const struct dm_coll_halving *halving, int i);

#endif
