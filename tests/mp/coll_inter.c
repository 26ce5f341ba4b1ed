/* test: np=2,3,4,5 timeout=30 */
/*
 * Collectives between two groups: what only the root gives, arguments that do not count may be
 * nonsense, counts by local and by remote group, a barrier that waits for the other group, errors.
 */
#include "mp_test.h"

static MPI_Comm inter;
static int is_mpich;         /* it checks arguments that do not count */
static int side, rank, n, m; /* my group, my rank in it, its size, the other's */

static void bcast(void)
{
    for (int from = 0; from < 2; from++)
        for (int root = 0; root < (side == from ? n : m); root++) {
            int buf[2] = {-1, -1}, is_root = side == from && rank == root;

            if (is_root)
                buf[0] = 100 * from + root;
            if (side == from && !is_root)
                MUST(MPI_Bcast(NULL, is_mpich ? 0 : -3, is_mpich ? MPI_INT : MPI_DATATYPE_NULL,
                               MPI_PROC_NULL, inter));
            else
                MUST(MPI_Bcast(buf, 2, MPI_INT, is_root ? MPI_ROOT : root, inter));
            CHECK_EQ(buf[0], side == from && !is_root ? -1 : 100 * from + root);
        }
}

static void reduce(void)
{
    for (int to = 0; to < 2; to++) {
        int mine = rank + 1, result = -1, root = 0, other;
        MPI_Request req;

        if (side != to) {
            MUST(MPI_Ireduce(&mine, is_mpich ? &other : NULL, 1, MPI_INT, MPI_SUM, root, inter,
                             &req));
        } else if (rank == root) {
            MUST(MPI_Ireduce(is_mpich ? &other : NULL, &result, 1, MPI_INT, MPI_SUM, MPI_ROOT,
                             inter, &req));
        } else {
            MUST(MPI_Ireduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_PROC_NULL, inter, &req));
        }
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_EQ(result, side == to && rank == root ? m * (m + 1) / 2 : -1);
    }
}

/* The counts are those of the local group: the first gets all. */
static void reduce_scatter(void)
{
    int *counts = calloc((size_t)n, sizeof(int)), in[6], out[6] = {0};

    for (int k = 0; k < 6; k++)
        in[k] = (rank + 1) * (k + 1);
    counts[0] = n > 1 ? 4 : 6;
    if (n > 1)
        counts[n - 1] = 2;
    MUST(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, inter));
    for (int k = 0; k < counts[rank]; k++)
        CHECK_EQ(out[k], m * (m + 1) / 2 * (k + 1 + (rank > 0 ? 4 : 0)));
    free(counts);
}

/* One group gives nothing. */
static void one_way(void)
{
    int mine = 10 + rank, *all = calloc((size_t)m, sizeof(int));

    MUST(MPI_Allgather(&mine, side == 0, MPI_INT, all, side != 0, MPI_INT, inter));
    for (int i = 0; i < m; i++)
        CHECK_EQ(all[i], side == 0 ? 0 : 10 + i);
    free(all);
}

/* Nobody passes before the last of the other group has come. */
static void barrier(void)
{
    MPI_Request req;
    int flag = 0, token = 0;

    if (side == 0) {
        MUST(MPI_Ibarrier(inter, &req));
        for (int i = 0; i < 500 && !flag; i++)
            MUST(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        /* The other group's last rank waits for all of us. */
        MUST(MPI_Send(&token, 1, MPI_INT, m - 1, 1, inter));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        return;
    }
    for (int i = 0; rank == n - 1 && i < m; i++)
        MUST(MPI_Recv(&token, 1, MPI_INT, i, 1, inter, MPI_STATUS_IGNORE));
    MUST(MPI_Ibarrier(inter, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

static void errors(void)
{
    int a[8] = {0}, b[8] = {0};
    MPI_Request req;

    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Iscan(a, b, 1, MPI_INT, MPI_SUM, inter, &req), MPI_ERR_COMM);
    FAILS(MPI_Bcast(a, 1, MPI_INT, m, inter), MPI_ERR_ROOT);
    if (!is_mpich) {
        FAILS(MPI_Exscan_init(a, b, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &req), MPI_ERR_COMM);
        FAILS(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, b, 1, MPI_INT, inter), MPI_ERR_BUFFER);
        FAILS(MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
        FAILS(MPI_Alltoall(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, inter), MPI_ERR_BUFFER);
        FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, 0, inter), MPI_ERR_BUFFER);
    }
    MUST(MPI_Barrier(inter));
}

int main(int argc, char **argv)
{
    MPI_Comm local;

    mp_start(&argc, &argv);
    is_mpich = mp_is_library("MPICH");
    side = mp_rank > 0 && mp_rank != 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, mp_rank, &local);
    MUST(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 5, &inter));
    MPI_Comm_free(&local);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &n);
    MPI_Comm_remote_size(inter, &m);
    bcast();
    reduce();
    reduce_scatter();
    one_way();
    barrier();
    errors();
    MPI_Comm_free(&inter);
    return mp_finish();
}
