/*
 * The algorithms, one per file, that select.c chooses from. More than one rank and more
 * than zero bytes in all are given.
 */
#ifndef DM_MPI_COLL_ALG_ALG_H
#define DM_MPI_COLL_ALG_ALG_H

#include "mpi/coll/run.h"

dm_coll_alg dm_coll_barrier_dissemination;
dm_coll_alg dm_coll_barrier_tree;
dm_coll_alg dm_coll_barrier_linear;
dm_coll_alg dm_coll_bcast_binomial;
dm_coll_alg dm_coll_bcast_scatter;
dm_coll_alg dm_coll_bcast_linear;
dm_coll_alg dm_coll_gather_linear;
dm_coll_alg dm_coll_gather_binomial;
dm_coll_alg dm_coll_scatter_linear;
dm_coll_alg dm_coll_scatter_binomial;
dm_coll_alg dm_coll_allgather_doubling;
dm_coll_alg dm_coll_allgather_bruck;
dm_coll_alg dm_coll_allgather_ring;
dm_coll_alg dm_coll_allgather_linear;
dm_coll_alg dm_coll_alltoall_linear;
dm_coll_alg dm_coll_alltoall_pairwise;
dm_coll_alg dm_coll_alltoall_bruck;
dm_coll_alg dm_coll_alltoall_central;
dm_coll_alg dm_coll_reduce_binomial;
dm_coll_alg dm_coll_reduce_linear;
dm_coll_alg dm_coll_reduce_halving;
dm_coll_alg dm_coll_allreduce_doubling;
dm_coll_alg dm_coll_allreduce_halving;
dm_coll_alg dm_coll_allreduce_tree;
dm_coll_alg dm_coll_allreduce_linear;
dm_coll_alg dm_coll_reduce_scatter_allreduce;
dm_coll_alg dm_coll_reduce_scatter_pairwise;
dm_coll_alg dm_coll_reduce_scatter_ordered;
dm_coll_alg dm_coll_reduce_scatter_tree;
dm_coll_alg dm_coll_reduce_scatter_linear;
dm_coll_alg dm_coll_scan_doubling;
dm_coll_alg dm_coll_exscan_doubling;
dm_coll_alg dm_coll_scan_chain;
dm_coll_alg dm_coll_exscan_chain;
dm_coll_alg dm_coll_scan_linear;
dm_coll_alg dm_coll_exscan_linear;
/* Of comm->topo's neighbours; one rank, no neighbours and no bytes are possible here. */
dm_coll_alg dm_coll_neighbor_allgather_direct;
dm_coll_alg dm_coll_neighbor_alltoall_direct;

/* All ranks are on one node and have a segment (shm/coll_shm.h). */
dm_coll_alg dm_coll_barrier_shm;
dm_coll_alg dm_coll_bcast_shm;
dm_coll_alg dm_coll_gather_shm;
dm_coll_alg dm_coll_scatter_shm;
dm_coll_alg dm_coll_allgather_shm;
dm_coll_alg dm_coll_alltoall_shm;
dm_coll_alg dm_coll_reduce_shm;
dm_coll_alg dm_coll_allreduce_shm;
dm_coll_alg dm_coll_reduce_scatter_shm;
dm_coll_alg dm_coll_scan_shm;
dm_coll_alg dm_coll_exscan_shm;
/* The ranks of each node have one: on the nodes, and by messages between one rank of each. */
dm_coll_alg dm_coll_barrier_nodes;
dm_coll_alg dm_coll_allgather_nodes;
dm_coll_alg dm_coll_bcast_nodes;
dm_coll_alg dm_coll_reduce_nodes;
dm_coll_alg dm_coll_allreduce_nodes;

/* One rank (alone.c). */
dm_coll_alg dm_coll_alone_nothing;
dm_coll_alg dm_coll_alone_move;
dm_coll_alg dm_coll_alone_reduce;

/*
 * Between two groups; any number of bytes. run->size is that of the remote group, and the
 * arguments of the rank say what part it has.
 */
dm_coll_alg dm_coll_inter_barrier;
dm_coll_alg dm_coll_inter_bcast;
dm_coll_alg dm_coll_inter_gather;
dm_coll_alg dm_coll_inter_scatter;
dm_coll_alg dm_coll_inter_allgather;
dm_coll_alg dm_coll_inter_alltoall;
dm_coll_alg dm_coll_inter_reduce;
dm_coll_alg dm_coll_inter_allreduce;
dm_coll_alg dm_coll_inter_reduce_scatter;
/* An allreduce in place over the processes of both groups, which all get the same. */
dm_coll_alg dm_coll_inter_or;

#endif
