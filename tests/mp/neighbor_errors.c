/* test: np=1,2 timeout=60 */
/*
 * Wrong arguments to the neighbourhood collectives; all ranks make the same mistake.
 */
#include "err_args.h"

static int buf[64], ones[8] = {1, 1, 1, 1}, displs[8], minus[8] = {-1, -1, -1, -1};
static MPI_Aint places[8];
static MPI_Datatype ints[8] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};

/* All five on a communicator where they cannot be. */
static void nowhere(MPI_Comm comm, int want)
{
    BAD(MPI_Neighbor_allgather(buf, 1, MPI_INT, buf + 8, 1, MPI_INT, comm), want);
    BAD(MPI_Neighbor_alltoall(buf, 1, MPI_INT, buf + 8, 1, MPI_INT, comm), want);
    /* MPICH 4.0.2 complains of the counts. */
    if (mp_is_library("MPICH"))
        return;
    BAD(MPI_Neighbor_allgatherv(buf, 1, MPI_INT, buf + 8, ones, displs, MPI_INT, comm), want);
    BAD(MPI_Neighbor_alltoallv(buf, ones, displs, MPI_INT, buf + 8, ones, displs, MPI_INT, comm),
        want);
    BAD(MPI_Neighbor_alltoallw(buf, ones, places, ints, buf + 8, ones, places, ints, comm), want);
}

static void on_ring(MPI_Comm comm)
{
    BAD(MPI_Neighbor_allgather(buf, -1, MPI_INT, buf + 8, 1, MPI_INT, comm), MPI_ERR_COUNT);
    BAD(MPI_Neighbor_allgather(buf, 1, MPI_DATATYPE_NULL, buf + 8, 1, MPI_INT, comm), MPI_ERR_TYPE);
    BAD(MPI_Neighbor_alltoall(buf, 1, MPI_INT, buf + 8, -1, MPI_INT, comm), MPI_ERR_COUNT);
    BAD(MPI_Neighbor_alltoall(buf, 1, MPI_INT, buf + 8, 1, MPI_DATATYPE_NULL, comm), MPI_ERR_TYPE);
    /* MPICH 4.0.2 does not look at the arrays, nor for MPI_IN_PLACE. */
    if (mp_is_library("MPICH"))
        return;
    BAD(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, buf, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    BAD(MPI_Neighbor_alltoall(buf, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    BAD(MPI_Neighbor_alltoall(NULL, 1, MPI_INT, buf, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    BAD(MPI_Neighbor_alltoallv(MPI_IN_PLACE, ones, displs, MPI_INT, buf, ones, displs, MPI_INT,
                               comm),
        MPI_ERR_BUFFER);
    BAD(MPI_Neighbor_alltoallw(buf, ones, places, ints, MPI_IN_PLACE, ones, places, ints, comm),
        MPI_ERR_BUFFER);
    BAD(MPI_Neighbor_allgatherv(buf, 1, MPI_INT, buf + 8, minus, displs, MPI_INT, comm),
        MPI_ERR_COUNT);
    BAD(MPI_Neighbor_allgatherv(buf, 1, MPI_INT, buf + 8, NULL, displs, MPI_INT, comm),
        MPI_ERR_ARG);
    BAD(MPI_Neighbor_alltoallv(buf, minus, displs, MPI_INT, buf + 8, ones, displs, MPI_INT, comm),
        MPI_ERR_COUNT);
    BAD(MPI_Neighbor_alltoallv(buf, ones, displs, MPI_INT, buf + 8, ones, NULL, MPI_INT, comm),
        MPI_ERR_ARG);
    ints[1] = MPI_DATATYPE_NULL;
    BAD(MPI_Neighbor_alltoallw(buf, ones, places, ints, buf + 8, ones, places, ints, comm),
        MPI_ERR_TYPE);
    ints[1] = MPI_INT;
}

/* A process without neighbours needs no arrays nor buffers. */
static void alone(void)
{
    MPI_Comm comm;

    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                        MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
    MUST(MPI_Neighbor_alltoallw(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, comm));
    MUST(MPI_Neighbor_alltoallv(NULL, NULL, NULL, MPI_INT, NULL, NULL, NULL, MPI_INT, comm));
    MUST(MPI_Neighbor_allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm));
    MPI_Comm_free(&comm);
}

/* Blocks that are longer than the room for them. */
static void truncated(MPI_Comm comm)
{
    if (mp_is_library("MPICH")) /* which does not notice, and swaps the blocks to oneself */
        return;
    BAD(MPI_Neighbor_alltoall(buf, 2, MPI_INT, buf + 8, 1, MPI_INT, comm), MPI_ERR_TRUNCATE);
    for (int i = 0; i < 4; i++)
        buf[i] = 10 + i;
    MUST(MPI_Neighbor_alltoall(buf, 1, MPI_INT, buf + 8, 1, MPI_INT, comm));
    CHECK_EQ(buf[8], 11);
    CHECK_EQ(buf[9], 10);
}

static void one_way_graph(void)
{
    int index[2] = {1, 1}, edges[1] = {1};
    MPI_Comm comm;

    if (mp_size != 2 || mp_is_library("MPICH")) /* which hangs */
        return;
    MUST(MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &comm));
    nowhere(comm, MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&comm);
}

static void intercomm(void)
{
    MPI_Comm half, inter;

    if (mp_size != 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, mp_rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mp_rank, 5, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (!mp_is_library("MPICH"))
        nowhere(inter, MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    int periodic = 1;
    MPI_Comm ring;

    mp_start(&argc, &argv);
    errors_return();
    nowhere(MPI_COMM_NULL, MPI_ERR_COMM);
    nowhere(MPI_COMM_WORLD, MPI_ERR_TOPOLOGY);
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &mp_size, &periodic, 0, &ring));
    on_ring(ring);
    truncated(ring);
    MPI_Comm_free(&ring);
    alone();
    one_way_graph();
    intercomm();
    return mp_finish();
}
