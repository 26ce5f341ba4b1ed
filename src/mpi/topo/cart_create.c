/*
 * Cartesian topologies: how they are made. Ranks are row-major: the last coordinate changes
 * first. The neighbours of a process are, for each dimension, the one before and the one after it.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/comm/comm.h"
#include "mpi/topo/attach.h"
#include "mpi/topo/cart.h"
#include "mpi/topo/reorder.h"
#include "mpi/topo/topo.h"

/* The places of a grid; DM_ERR_DIMS, or `too_large` when comm has fewer processes. */
static int count_places(const struct dm_comm *comm, int n_dims, const int dims[], int too_large,
                        int *n_p)
{
    int64_t n = 1;

    for (int i = 0; i < n_dims; i++)
        if (dims[i] < 1)
            return DM_FAIL(DM_ERR_DIMS, "dims[%d] is %d, it must be at least 1", i, dims[i]);
    for (int i = 0; i < n_dims; i++) {
        n *= dims[i];
        if (n > comm->size)
            return DM_FAIL(too_large, "the grid has more places than the %d processes", comm->size);
    }
    *n_p = (int)n;
    return DM_OK;
}

/* The topology as the process at a place of the grid sees it. */
static int make_cart(int n_dims, const int dims[], const int periods[], int place,
                     struct dm_topo **topo_p)
{
    struct dm_topo *topo;
    size_t used = 0;
    size_t n = (size_t)n_dims;
    int err = dm_topo_new(MPI_CART, 5 * n, topo_p);

    if (err != DM_OK)
        return err;
    topo = *topo_p;
    topo->of.cart.n_dims = n_dims;
    topo->of.cart.dims = dm_topo_take(topo, &used, n);
    topo->of.cart.periods = dm_topo_take(topo, &used, n);
    topo->of.cart.coords = dm_topo_take(topo, &used, n);
    topo->in = dm_topo_take(topo, &used, 2 * n);
    topo->out = topo->in;
    topo->n_in = 2 * n_dims;
    topo->n_out = topo->n_in;
    for (int i = 0; i < n_dims; i++) {
        topo->of.cart.dims[i] = dims[i];
        topo->of.cart.periods[i] = periods[i] != 0;
    }
    dm_cart_place_coords(topo, place, topo->of.cart.coords);
    for (int i = 0; i < n_dims; i++)
        dm_cart_neighbors(topo, i, 1, &topo->in[2 * i], &topo->in[2 * i + 1]);
    return DM_OK;
}

/* The edges of a grid, each once, for the placement. */
static void list_edges(const struct dm_topo *grid, int n, int index[], int edges[])
{
    int *coords = grid->of.cart.coords;
    int n_edges = 0;

    for (int node = 0; node < n; node++) {
        dm_cart_place_coords(grid, node, coords);
        for (int d = 0; d < grid->of.cart.n_dims; d++) {
            int before;
            int after;

            dm_cart_neighbors(grid, d, 1, &before, &after);
            if (after != MPI_PROC_NULL)
                edges[n_edges++] = after;
        }
        index[node] = n_edges;
    }
}

/* The order of processes on a grid of n places; NULL as they are. */
static int place_cart(struct dm_comm *comm, int n, int n_dims, const int dims[],
                      const int periods[], int **order_p)
{
    struct dm_topo *grid;
    struct dm_topo_plan plan = {.n = n, .n_dims = n_dims, .dims = dims};
    int *index = malloc(((size_t)n_dims + 1) * (size_t)n * sizeof(*index));
    int err = make_cart(n_dims, dims, periods, 0, &grid);

    if (err == DM_OK && index == NULL)
        err = DM_FAIL(DM_ENOMEM, "edges of a grid of %d places", n);
    if (err == DM_OK) {
        list_edges(grid, n, index, index + n);
        plan.index = index;
        plan.edges = index + n;
        err = dm_topo_reorder(comm, &plan, order_p);
    }
    free(index);
    dm_topo_unref(grid);
    return err;
}

int dm_cart_create(struct dm_comm *comm, int n_dims, const int dims[], const int periods[],
                   int reorder, struct dm_comm **comm_p)
{
    struct dm_topo *topo = NULL;
    int *order = NULL;
    int n = 0;
    int place;
    int err = dm_topo_check_comm(comm);

    *comm_p = NULL;
    if (err == DM_OK)
        err = count_places(comm, n_dims, dims, DM_ERR_ARG, &n);
    if (err == DM_OK && reorder != 0)
        err = place_cart(comm, n, n_dims, dims, periods, &order);
    if (err != DM_OK)
        return err;
    place = dm_topo_reordered_rank(order, n, comm->rank);
    if (place != MPI_UNDEFINED)
        err = make_cart(n_dims, dims, periods, place, &topo);
    if (err == DM_OK)
        err = dm_topo_attach(comm, n, order, topo, comm_p);
    free(order);
    return err;
}

int dm_cart_map(struct dm_comm *comm, int n_dims, const int dims[], const int periods[], int *rank)
{
    int *order = NULL;
    int n = 0;
    int err = dm_topo_check_comm(comm);

    if (err == DM_OK)
        err = count_places(comm, n_dims, dims, DM_ERR_DIMS, &n);
    if (err == DM_OK)
        err = place_cart(comm, n, n_dims, dims, periods, &order);
    if (err != DM_OK)
        return err;
    *rank = dm_topo_reordered_rank(order, n, comm->rank);
    free(order);
    return DM_OK;
}

int dm_cart_sub(struct dm_comm *comm, const int remain[], struct dm_comm **comm_p)
{
    const struct dm_topo *old;
    struct dm_topo *topo;
    int *dims; /* that remain, and their periods */
    int n = 0;
    int color = 0;
    int key = 0;
    int err = dm_topo_of(comm, MPI_CART, &old);

    *comm_p = NULL;
    if (err != DM_OK)
        return err;
    if (remain == NULL && old->of.cart.n_dims > 0)
        return DM_FAIL(DM_ERR_ARG, "remain_dims is a null pointer");
    dims = malloc(2 * ((size_t)old->of.cart.n_dims + 1) * sizeof(*dims));
    if (dims == NULL)
        return DM_FAIL(DM_ENOMEM, "%d dimensions", old->of.cart.n_dims);
    for (int i = 0; i < old->of.cart.n_dims; i++) {
        int *number = remain[i] != 0 ? &key : &color;

        *number = *number * old->of.cart.dims[i] + old->of.cart.coords[i];
        if (remain[i] == 0)
            continue;
        dims[n] = old->of.cart.dims[i];
        dims[old->of.cart.n_dims + n++] = old->of.cart.periods[i];
    }
    err = make_cart(n, dims, dims + old->of.cart.n_dims, key, &topo);
    free(dims);
    /* Where no dimension remains, all but rank 0 get MPI_COMM_NULL, as MPICH has it. */
    if (err == DM_OK)
        err = dm_comm_split(comm, n == 0 && comm->rank > 0 ? MPI_UNDEFINED : color, key, comm_p);
    if (*comm_p != NULL)
        (*comm_p)->topo = topo;
    else
        dm_topo_unref(topo);
    return err;
}
