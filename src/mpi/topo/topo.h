/*
 * Process topologies (MPI-4.0 chapter 8): the bodies of the MPI functions. The object is in
 * src/mpi/core, the communication along it in src/mpi/coll.
 *
 * Functions that make a communicator are collective over the old one, and give NULL (for
 * MPI_COMM_NULL) to processes that are not in the new one. With `reorder` the processes of a host
 * become neighbours where that saves messages between hosts; on one host ranks stay as they are.
 * Questions about a topology that the communicator does not have fail with DM_ERR_TOPOLOGY.
 */
#ifndef DM_MPI_TOPO_TOPO_H
#define DM_MPI_TOPO_TOPO_H

#include "mpi/core/core.h"

/* The kind, or MPI_UNDEFINED. */
int dm_topo_test(struct dm_comm *comm, int *kind);

/* ---- grids, section 8.5.1 and 8.5.2 ---- */

/* Where dims is 0 it is set; DM_ERR_DIMS when the others do not divide n_nodes. */
int dm_dims_create(int n_nodes, int n_dims, int dims[]);
/* DM_ERR_DIMS for a dimension below 1, DM_ERR_ARG for more places than processes. */
int dm_cart_create(struct dm_comm *comm, int n_dims, const int dims[], const int periods[],
                   int reorder, struct dm_comm **comm_p);
/*
 * Each combination of coordinates in the dimensions that do not remain has a grid of its own. Where
 * none remains rank 0 has one, and the others get NULL, as in MPICH.
 */
int dm_cart_sub(struct dm_comm *comm, const int remain[], struct dm_comm **comm_p);
/* This process's rank in a grid made with `reorder`, or MPI_UNDEFINED. Not collective. */
int dm_cart_map(struct dm_comm *comm, int n_dims, const int dims[], const int periods[], int *rank);
int dm_cartdim_get(struct dm_comm *comm, int *n_dims);
/* DM_ERR_ARG when the arrays are shorter than the number of dimensions. */
int dm_cart_get(struct dm_comm *comm, int max_dims, int dims[], int periods[], int coords[]);
int dm_cart_coords(struct dm_comm *comm, int rank, int max_dims, int coords[]);
/* DM_ERR_ARG for a place beyond the border of a dimension without period. */
int dm_cart_rank(struct dm_comm *comm, const int coords[], int *rank);
int dm_cart_shift(struct dm_comm *comm, int direction, int disp, int *source, int *dest);

/* ---- graphs that all processes know, section 8.5.3 ---- */

/* DM_ERR_ARG for a graph that is too large or has wrong numbers in it. */
int dm_graph_create(struct dm_comm *comm, int n_nodes, const int index[], const int edges[],
                    int reorder, struct dm_comm **comm_p);
int dm_graph_map(struct dm_comm *comm, int n_nodes, const int index[], const int edges[],
                 int *rank);
int dm_graphdims_get(struct dm_comm *comm, int *n_nodes, int *n_edges);
/* DM_ERR_ARG when the arrays are too short. */
int dm_graph_get(struct dm_comm *comm, int max_index, int max_edges, int index[], int edges[]);
int dm_graph_neighbors_count(struct dm_comm *comm, int rank, int *n);
/* The first max_neighbors of them. */
int dm_graph_neighbors(struct dm_comm *comm, int rank, int max_neighbors, int neighbors[]);

/* ---- graphs of which each process knows a part, section 8.5.4 ---- */

/*
 * Weights are kept for MPI_Dist_graph_neighbors; ranks stay as they are whatever `reorder` says.
 * DM_ERR_RANK for neighbours that are not in comm, DM_ERR_ARG for negative degrees and weights,
 * DM_ERR_TOPOLOGY when only some of the weights are MPI_UNWEIGHTED.
 */
int dm_dist_graph_create_adjacent(struct dm_comm *comm, int n_in, const int sources[],
                                  const int in_weights[], int n_out, const int dests[],
                                  const int out_weights[], struct dm_info *info, int reorder,
                                  struct dm_comm **comm_p);
/* Neighbours are in the order of the ranks that named the edges, then of their lists. */
int dm_dist_graph_create(struct dm_comm *comm, int n, const int sources[], const int degrees[],
                         const int dests[], const int weights[], struct dm_info *info, int reorder,
                         struct dm_comm **comm_p);
int dm_dist_graph_neighbors_count(struct dm_comm *comm, int *n_in, int *n_out, int *is_weighted);
/* The first max_in and max_out of them. Weights are not touched if there are none. */
int dm_dist_graph_neighbors(struct dm_comm *comm, int max_in, int sources[], int in_weights[],
                            int max_out, int dests[], int out_weights[]);

#endif
