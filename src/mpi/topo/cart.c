/*
 * Cartesian topologies: questions about them.
 */
#include "mpi/topo/cart.h"

#include <string.h>

#include "mpi/topo/attach.h"
#include "mpi/topo/topo.h"

/* ---- arithmetic ---- */

void dm_cart_place_coords(const struct dm_topo *topo, int rank, int coords[])
{
    for (int i = topo->of.cart.n_dims - 1; i >= 0; i--) {
        coords[i] = rank % topo->of.cart.dims[i];
        rank /= topo->of.cart.dims[i];
    }
}

/* A coordinate in its period; -1 when it is outside. */
static int cart_wrap(const struct dm_topo *topo, int dim, int64_t coord)
{
    int n = topo->of.cart.dims[dim];

    if (coord >= 0 && coord < n)
        return (int)coord;
    return topo->of.cart.periods[dim] != 0 ? (int)((coord % n + n) % n) : -1;
}

/* The rank at the own coordinates but for one. */
static int cart_rank_beside(const struct dm_topo *topo, int dim, int64_t coord)
{
    int there = cart_wrap(topo, dim, coord);
    int rank = 0;

    if (there < 0)
        return MPI_PROC_NULL;
    for (int i = 0; i < topo->of.cart.n_dims; i++)
        rank = rank * topo->of.cart.dims[i] + (i == dim ? there : topo->of.cart.coords[i]);
    return rank;
}

void dm_cart_neighbors(const struct dm_topo *topo, int dim, int disp, int *before, int *after)
{
    int64_t coord = topo->of.cart.coords[dim];

    *before = cart_rank_beside(topo, dim, coord - disp);
    *after = cart_rank_beside(topo, dim, coord + disp);
}

/* ---- the MPI functions ---- */

int dm_cartdim_get(struct dm_comm *comm, int *n_dims)
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_CART, &topo);

    if (err == DM_OK)
        *n_dims = topo->of.cart.n_dims;
    return err;
}

static int cart_check_space(const struct dm_topo *topo, int max_dims)
{
    if (max_dims >= topo->of.cart.n_dims)
        return DM_OK;
    return DM_FAIL(DM_ERR_ARG, "maxdims is %d; the grid has %d dimensions", max_dims,
                   topo->of.cart.n_dims);
}

int dm_cart_get(struct dm_comm *comm, int max_dims, int dims[], int periods[], int coords[])
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_CART, &topo);

    if (err == DM_OK)
        err = cart_check_space(topo, max_dims);
    for (int i = 0; err == DM_OK && i < topo->of.cart.n_dims; i++) {
        dims[i] = topo->of.cart.dims[i];
        periods[i] = topo->of.cart.periods[i];
        coords[i] = topo->of.cart.coords[i];
    }
    return err;
}

int dm_cart_coords(struct dm_comm *comm, int rank, int max_dims, int coords[])
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_CART, &topo);

    if (err == DM_OK)
        err = cart_check_space(topo, max_dims);
    if (err == DM_OK)
        dm_cart_place_coords(topo, rank, coords);
    return err;
}

int dm_cart_rank(struct dm_comm *comm, const int coords[], int *rank)
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_CART, &topo);
    int n = 0;

    if (err != DM_OK)
        return err;
    if (coords == NULL && topo->of.cart.n_dims > 0)
        return DM_FAIL(DM_ERR_ARG, "coords is a null pointer");
    for (int i = 0; i < topo->of.cart.n_dims; i++) {
        int coord = cart_wrap(topo, i, coords[i]);

        if (coord < 0)
            return DM_FAIL(DM_ERR_ARG, "coords[%d] is %d; it must be 0 to %d, there is no period",
                           i, coords[i], topo->of.cart.dims[i] - 1);
        n = n * topo->of.cart.dims[i] + coord;
    }
    *rank = n;
    return DM_OK;
}

int dm_cart_shift(struct dm_comm *comm, int direction, int disp, int *source, int *dest)
{
    const struct dm_topo *topo;
    int err = dm_topo_of(comm, MPI_CART, &topo);

    if (err != DM_OK)
        return err;
    if (direction < 0 || direction >= topo->of.cart.n_dims)
        return DM_FAIL(topo->of.cart.n_dims == 0 ? DM_ERR_TOPOLOGY : DM_ERR_ARG,
                       "direction is %d; the grid has %d dimensions", direction,
                       topo->of.cart.n_dims);
    dm_cart_neighbors(topo, direction, disp, source, dest);
    return DM_OK;
}
