/*
 * The arithmetic of grids.
 */
#ifndef DM_MPI_TOPO_CART_H
#define DM_MPI_TOPO_CART_H

#include "mpi/core/core.h"

/* The coordinates of a rank of a Cartesian topology. */
void dm_cart_place_coords(const struct dm_topo *topo, int rank, int coords[]);
/* Ranks disp before and after topo's own coordinates in a dimension; MPI_PROC_NULL if outside. */
void dm_cart_neighbors(const struct dm_topo *topo, int dim, int disp, int *before, int *after);

#endif
