/* test: np=1,2 timeout=60 */
/*
 * Wrong arguments to the topology functions, each made by all ranks or without communication.
 */
#include "err_args.h"

static int one = 1, two = 2, zero, minus = -1, out[8];

static void cart_create(void)
{
    int dims[2] = {1, mp_size + 1}, huge[3] = {65536, 65536, 65536}, periods[3] = {0, 0, 0};
    MPI_Comm comm = MPI_COMM_WORLD;

    BAD(MPI_Cart_create(MPI_COMM_NULL, 1, &one, &zero, 0, &comm), MPI_ERR_COMM);
    BAD(MPI_Cart_create(MPI_COMM_WORLD, -1, &one, &zero, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, &zero, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Cart_create(MPI_COMM_WORLD, 1, &one, NULL, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &zero, 0, NULL), MPI_ERR_ARG);
    BAD(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, out), MPI_ERR_DIMS);
    BAD(MPI_Cart_map(MPI_COMM_WORLD, -1, dims, periods, out), MPI_ERR_ARG);
    if (mp_is_library("MPICH")) /* MPICH 4.0.2 takes these */
        return;
    BAD(MPI_Cart_create(MPI_COMM_WORLD, 3, huge, periods, 0, &comm), MPI_ERR_ARG);
    dims[0] = 0;
    BAD(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm), MPI_ERR_DIMS);
    BAD(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, out), MPI_ERR_DIMS);
    BAD(MPI_Cart_create(MPI_COMM_WORLD, 1, &minus, &zero, 1, &comm), MPI_ERR_DIMS);
    CHECK(comm == MPI_COMM_NULL);
}

/* Questions about each kind of topology to comm, which has none of them, or another. */
static void no_cart(MPI_Comm comm)
{
    MPI_Comm sub;

    BAD(MPI_Cartdim_get(comm, out), MPI_ERR_TOPOLOGY);
    if (!mp_is_library("MPICH")) /* which crashes for a graph */
        BAD(MPI_Cart_get(comm, 1, out, out + 1, out + 2), MPI_ERR_TOPOLOGY);
    BAD(MPI_Cart_rank(comm, &zero, out), MPI_ERR_TOPOLOGY);
    BAD(MPI_Cart_coords(comm, 0, 1, out), MPI_ERR_TOPOLOGY);
    BAD(MPI_Cart_shift(comm, 0, 1, out, out + 1), MPI_ERR_TOPOLOGY);
    BAD(MPI_Cart_sub(comm, &one, &sub), MPI_ERR_TOPOLOGY);
}

static void no_graph(MPI_Comm comm)
{
    BAD(MPI_Graphdims_get(comm, out, out + 1), MPI_ERR_TOPOLOGY);
    BAD(MPI_Graph_get(comm, 4, 4, out, out + 4), MPI_ERR_TOPOLOGY);
    BAD(MPI_Graph_neighbors_count(comm, 0, out), MPI_ERR_TOPOLOGY);
    BAD(MPI_Graph_neighbors(comm, 0, 4, out), MPI_ERR_TOPOLOGY);
}

static void no_dist_graph(MPI_Comm comm)
{
    BAD(MPI_Dist_graph_neighbors_count(comm, out, out + 1, out + 2), MPI_ERR_TOPOLOGY);
    BAD(MPI_Dist_graph_neighbors(comm, 1, out, out + 1, 1, out + 2, out + 3), MPI_ERR_TOPOLOGY);
}

static void cart(void)
{
    int dims[2] = {1, mp_size}, periods[2] = {0, 1}, at[2] = {0, 0};
    MPI_Comm comm, sub;

    MUST(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
    MUST(MPI_Cart_rank(comm, at, out));
    at[0] = -1;
    BAD(MPI_Cart_rank(comm, at, out), MPI_ERR_ARG);
    at[0] = 1;
    BAD(MPI_Cart_rank(comm, at, out), MPI_ERR_ARG);
    BAD(MPI_Cart_rank(comm, NULL, out), MPI_ERR_ARG);
    BAD(MPI_Cart_rank(comm, at, NULL), MPI_ERR_ARG);
    BAD(MPI_Cart_coords(comm, mp_size, 2, out), MPI_ERR_RANK);
    BAD(MPI_Cart_coords(comm, -1, 2, out), MPI_ERR_RANK);
    BAD(MPI_Cart_coords(comm, 0, 1, out), MPI_ERR_ARG);
    BAD(MPI_Cart_coords(comm, 0, -1, out), MPI_ERR_ARG);
    BAD(MPI_Cart_coords(comm, 0, 2, NULL), MPI_ERR_ARG);
    BAD(MPI_Cart_get(comm, -1, out, out, out), MPI_ERR_ARG);
    BAD(MPI_Cart_get(comm, 2, NULL, out, out), MPI_ERR_ARG);
    BAD(MPI_Cart_shift(comm, 2, 1, out, out + 1), MPI_ERR_ARG);
    BAD(MPI_Cart_shift(comm, -1, 1, out, out + 1), MPI_ERR_ARG);
    BAD(MPI_Cart_shift(comm, 0, 1, NULL, out + 1), MPI_ERR_ARG);
    BAD(MPI_Cart_sub(comm, NULL, &sub), MPI_ERR_ARG);
    BAD(MPI_Topo_test(comm, NULL), MPI_ERR_ARG);
    if (!mp_is_library("MPICH")) /* which writes beyond the arrays */
        BAD(MPI_Cart_get(comm, 1, out, out, out), MPI_ERR_ARG);
    no_graph(comm);
    no_dist_graph(comm);
    MPI_Comm_free(&comm);
}

static void graph(void)
{
    int index[2] = {1, 0}, edges[2] = {0, 0}, n = mp_size + 1, many[3] = {0, 0, 0};
    MPI_Comm comm;

    BAD(MPI_Graph_create(MPI_COMM_WORLD, n, many, edges, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Graph_map(MPI_COMM_WORLD, n, many, edges, out), MPI_ERR_ARG);
    BAD(MPI_Graph_create(MPI_COMM_WORLD, 1, &minus, edges, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Graph_create(MPI_COMM_WORLD, 1, &one, &minus, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Graph_create(MPI_COMM_WORLD, 1, NULL, edges, 0, &comm), MPI_ERR_ARG);
    BAD(MPI_Graph_create(MPI_COMM_WORLD, 1, &one, NULL, 0, &comm), MPI_ERR_ARG);
    if (!mp_is_library("MPICH")) { /* MPICH 4.0.2 takes these */
        BAD(MPI_Graph_create(MPI_COMM_WORLD, -1, index, edges, 0, &comm), MPI_ERR_ARG);
        BAD(MPI_Graph_create(MPI_COMM_WORLD, 1, &one, &one, 0, &comm), MPI_ERR_ARG);
        BAD(MPI_Graph_map(MPI_COMM_WORLD, 1, &one, &minus, out), MPI_ERR_ARG);
        if (mp_size == 2)
            BAD(MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &comm), MPI_ERR_ARG);
    }
    MUST(MPI_Graph_create(MPI_COMM_SELF, 1, &two, edges, 0, &comm));
    BAD(MPI_Graph_neighbors_count(comm, 1, out), MPI_ERR_RANK);
    BAD(MPI_Graph_neighbors(comm, -1, 4, out), MPI_ERR_RANK);
    BAD(MPI_Graph_neighbors(comm, 0, -1, out), MPI_ERR_ARG);
    BAD(MPI_Graph_neighbors(comm, 0, 2, NULL), MPI_ERR_ARG);
    BAD(MPI_Graph_get(comm, 0, 2, out, out + 4), MPI_ERR_ARG);
    BAD(MPI_Graph_get(comm, 1, 1, out, out + 4), MPI_ERR_ARG);
    BAD(MPI_Graph_get(comm, 1, 2, NULL, out + 4), MPI_ERR_ARG);
    no_cart(comm);
    no_dist_graph(comm);
    MPI_Comm_free(&comm);
}

/* MPI_Dist_graph_create_adjacent with one edge to oneself. */
static int adjacent(int n, const int *source, const int *in_weight, const int *dest,
                    const int *out_weight)
{
    MPI_Comm comm;

    return MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, n, source, in_weight, n, dest, out_weight,
                                          MPI_INFO_NULL, 0, &comm);
}

static int by_anybody(int n, const int *source, const int *degree, const int *dest,
                      const int *weight)
{
    MPI_Comm comm;

    return MPI_Dist_graph_create(MPI_COMM_SELF, n, source, degree, dest, weight, MPI_INFO_NULL, 0,
                                 &comm);
}

static void dist_graph(void)
{
    MPI_Comm comm;

    BAD(adjacent(-1, &zero, MPI_UNWEIGHTED, &zero, MPI_UNWEIGHTED), MPI_ERR_ARG);
    BAD(adjacent(1, NULL, MPI_UNWEIGHTED, &zero, MPI_UNWEIGHTED), MPI_ERR_ARG);
    BAD(adjacent(1, &zero, MPI_UNWEIGHTED, NULL, MPI_UNWEIGHTED), MPI_ERR_ARG);
    BAD(adjacent(1, &zero, MPI_UNWEIGHTED, &zero, &one), MPI_ERR_TOPOLOGY);
    BAD(by_anybody(-1, &zero, &one, &zero, &one), MPI_ERR_ARG);
    BAD(by_anybody(1, NULL, &one, &zero, &one), MPI_ERR_ARG);
    BAD(by_anybody(1, &zero, NULL, &zero, &one), MPI_ERR_ARG);
    if (!mp_is_library("MPICH")) { /* MPICH 4.0.2 believes what is in the arrays */
        BAD(adjacent(1, &one, &one, &zero, &one), MPI_ERR_RANK);
        BAD(adjacent(1, &zero, &one, &minus, &one), MPI_ERR_RANK);
        BAD(adjacent(1, &zero, &minus, &zero, &one), MPI_ERR_ARG);
        BAD(adjacent(1, &zero, &one, &zero, &minus), MPI_ERR_ARG);
        BAD(adjacent(1, &zero, NULL, &zero, &one), MPI_ERR_ARG);
        BAD(adjacent(1, &zero, &one, &zero, MPI_WEIGHTS_EMPTY), MPI_ERR_ARG);
        BAD(by_anybody(1, &one, &one, &zero, &one), MPI_ERR_RANK);
        BAD(by_anybody(1, &zero, &one, &one, &one), MPI_ERR_RANK);
        BAD(by_anybody(1, &zero, &minus, &zero, &one), MPI_ERR_ARG);
        BAD(by_anybody(1, &zero, &one, &zero, &minus), MPI_ERR_ARG);
        BAD(by_anybody(1, &zero, &one, NULL, &one), MPI_ERR_ARG);
        BAD(by_anybody(1, &zero, &one, &zero, NULL), MPI_ERR_ARG);
        /* some with, some without weights: all notice it */
        if (mp_size == 2)
            BAD(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &mp_rank, &one, &zero,
                                      mp_rank == 0 ? MPI_UNWEIGHTED : &one, MPI_INFO_NULL, 0,
                                      &comm),
                MPI_ERR_TOPOLOGY);
    }
    MUST(
        MPI_Dist_graph_create(MPI_COMM_SELF, 1, &zero, &one, &zero, &two, MPI_INFO_NULL, 1, &comm));
    BAD(MPI_Dist_graph_neighbors(comm, -1, out, out, 1, out, out), MPI_ERR_ARG);
    BAD(MPI_Dist_graph_neighbors(comm, 1, NULL, out, 1, out, out), MPI_ERR_ARG);
    no_cart(comm);
    no_graph(comm);
    MPI_Comm_free(&comm);
}

/* Intercommunicators have no topology. */
static void intercomm(void)
{
    MPI_Comm half, inter, comm;
    int kind;

    if (mp_size != 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, mp_rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mp_rank, 5, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    BAD(MPI_Cart_create(inter, 1, &one, &zero, 0, &comm), MPI_ERR_COMM);
    BAD(MPI_Graph_create(inter, 1, &one, &zero, 0, &comm), MPI_ERR_COMM);
    if (!mp_is_library("MPICH")) { /* MPICH 4.0.2 takes these */
        BAD(MPI_Dist_graph_create(inter, 1, &zero, &one, &zero, &one, MPI_INFO_NULL, 0, &comm),
            MPI_ERR_COMM);
        BAD(MPI_Dist_graph_create_adjacent(inter, 1, &zero, &one, 1, &zero, &one, MPI_INFO_NULL, 0,
                                           &comm),
            MPI_ERR_COMM);
        BAD(MPI_Cart_map(inter, 1, &one, &zero, &kind), MPI_ERR_COMM);
        BAD(MPI_Graph_map(inter, 1, &one, &zero, &kind), MPI_ERR_COMM);
    }
    MUST(MPI_Topo_test(inter, &kind));
    CHECK_EQ(kind, MPI_UNDEFINED);
    no_cart(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    errors_return();
    cart_create();
    cart();
    graph();
    dist_graph();
    no_cart(MPI_COMM_WORLD);
    no_graph(MPI_COMM_WORLD);
    no_dist_graph(MPI_COMM_WORLD);
    intercomm();
    return mp_finish();
}
