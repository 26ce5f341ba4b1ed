/* test: np=2,4,6,8 timeout=60 */
/*
 * With `reorder` no more edges lead from host to host than without, MPI_Cart_map and MPI_Graph_map
 * say the same, and messages along the edges arrive. On one host there is nothing to gain.
 */
#include "mp_test.h"

/* The host of this process: the lowest world rank there. */
static int host(void)
{
    MPI_Comm node;
    int rank = mp_rank, lowest;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    return lowest;
}

/* Edges of all processes to neighbours on other hosts. */
static int cut(MPI_Comm comm, int n_neighbors)
{
    int mine = host(), n = 0, sum;
    int *others = malloc((size_t)n_neighbors * sizeof(int));

    for (int i = 0; i < n_neighbors; i++)
        others[i] = mine;
    MUST(MPI_Neighbor_allgather(&mine, 1, MPI_INT, others, 1, MPI_INT, comm));
    for (int i = 0; i < n_neighbors; i++)
        n += others[i] != mine;
    free(others);
    MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

static void grid(int n, const int dims[], const int periods[])
{
    int cuts[2], rank, mapped;

    for (int reorder = 0; reorder < 2; reorder++) {
        MPI_Comm comm;

        MUST(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, reorder, &comm));
        cuts[reorder] = cut(comm, 2 * n);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_free(&comm);
    }
    MUST(MPI_Cart_map(MPI_COMM_WORLD, n, dims, periods, &mapped));
    CHECK_EQ(mapped, rank);
    CHECK(cuts[1] <= cuts[0]);
    if (getenv("SHOW") != NULL && mp_rank == 0)
        printf("grid of %d dimensions: %d edges between hosts, reordered %d\n", n, cuts[0],
               cuts[1]);
}

/* Pairs i and i + size / 2, each pair connected, and pairs in a row. */
static void ladder(void)
{
    int index[8], edges[32], n = 0, half = mp_size / 2, cuts[2], rank, mapped;

    for (int i = 0; i < mp_size; i++) {
        int step = i % half;

        edges[n++] = (i + half) % mp_size;
        if (step > 0)
            edges[n++] = i - 1;
        if (step < half - 1)
            edges[n++] = i + 1;
        index[i] = n;
    }
    for (int reorder = 0; reorder < 2; reorder++) {
        MPI_Comm comm;

        MUST(MPI_Graph_create(MPI_COMM_WORLD, mp_size, index, edges, reorder, &comm));
        MPI_Comm_rank(comm, &rank);
        cuts[reorder] = cut(comm, index[rank] - (rank > 0 ? index[rank - 1] : 0));
        MPI_Comm_free(&comm);
    }
    MUST(MPI_Graph_map(MPI_COMM_WORLD, mp_size, index, edges, &mapped));
    CHECK_EQ(mapped, rank);
    CHECK(cuts[1] <= cuts[0]);
    if (getenv("SHOW") != NULL && mp_rank == 0)
        printf("ladder: %d edges between hosts, reordered %d\n", cuts[0], cuts[1]);
}

int main(int argc, char **argv)
{
    static const int no[3] = {0, 0, 0}, yes[3] = {1, 1, 1};
    int dims[3] = {0, 0, 0};

    mp_start(&argc, &argv);
    grid(1, &mp_size, yes);
    MPI_Dims_create(mp_size, 2, dims);
    grid(2, dims, no);
    grid(2, dims, yes);
    dims[0] = dims[1] = 0;
    MPI_Dims_create(mp_size, 3, dims);
    grid(3, dims, yes);
    ladder();
    return mp_finish();
}
