/*
 * The algorithms, one per file, that select.c chooses from. More than one rank and more
 * than zero bytes in all are given.
 */
#ifndef DM_MPI_COLL_ALG_ALG_H
#define DM_MPI_COLL_ALG_ALG_H

#include "mpi/coll/run.h"

dm_coll_alg dm_coll_barrier_dissemination;
dm_coll_alg dm_coll_barrier_tree;
dm_coll_alg dm_coll_bcast_binomial;
dm_coll_alg dm_coll_bcast_scatter;
dm_coll_alg dm_coll_gather_linear;
dm_coll_alg dm_coll_gather_binomial;
dm_coll_alg dm_coll_scatter_linear;
dm_coll_alg dm_coll_scatter_binomial;
dm_coll_alg dm_coll_allgather_doubling;
dm_coll_alg dm_coll_allgather_bruck;
dm_coll_alg dm_coll_allgather_ring;
dm_coll_alg dm_coll_alltoall_linear;
dm_coll_alg dm_coll_alltoall_pairwise;
dm_coll_alg dm_coll_alltoall_bruck;
dm_coll_alg dm_coll_reduce_binomial;
dm_coll_alg dm_coll_reduce_halving;
dm_coll_alg dm_coll_allreduce_doubling;
dm_coll_alg dm_coll_allreduce_halving;
dm_coll_alg dm_coll_allreduce_tree;
dm_coll_alg dm_coll_reduce_scatter_allreduce;
dm_coll_alg dm_coll_reduce_scatter_pairwise;
dm_coll_alg dm_coll_reduce_scatter_ordered;
dm_coll_alg dm_coll_scan_doubling;
dm_coll_alg dm_coll_exscan_doubling;

#endif
