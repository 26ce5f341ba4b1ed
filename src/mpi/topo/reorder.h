/*
 * `reorder`: which process gets which place of a topology.
 */
#ifndef DM_MPI_TOPO_REORDER_H
#define DM_MPI_TOPO_REORDER_H

#include "mpi/core/core.h"

/* What is to be placed: n nodes and whom each of them talks to. */
struct dm_topo_plan {
    int n;
    const int *index; /* as in MPI_Graph_create */
    const int *edges;
    int n_dims; /* of a grid; 0 for other graphs */
    const int *dims;
};

/*
 * The rank in comm of each node, such that few edges lead from host to host: all processes come to
 * the same result. *order_p is NULL when ranks may as well stay as they are, else to be freed.
 * DM_ENOMEM.
 */
int dm_topo_reorder(struct dm_comm *comm, const struct dm_topo_plan *plan, int **order_p);
/* Where rank is in an order, or MPI_UNDEFINED; order may be NULL. */
int dm_topo_reordered_rank(const int order[], int n, int rank);

#endif
