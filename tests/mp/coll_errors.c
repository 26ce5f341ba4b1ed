/* test: np=1,3 timeout=30 */
/*
 * Wrong calls of collectives: each fails with its class before anything is sent, and the
 * communicator stays usable; counts that do not agree are truncation, not a hang.
 */
#include "mp_test.h"

static MPI_Comm comm;

/* All ranks can still work together. */
static void check_alive(void)
{
    int one = 1, n = 0;

    MUST(MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(n, mp_size);
}

static void arguments(void)
{
    int a[8] = {0}, b[8] = {0};
    int counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, displs[8] = {0};
    int bad[8] = {-1, -1, -1, -1, -1, -1, -1, -1};

    FAILS(MPI_Bcast(a, 1, MPI_INT, mp_size, comm), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(a, 1, MPI_INT, -5, comm), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(a, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
    FAILS(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
    FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Allgather(a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, comm), MPI_ERR_TYPE);
    FAILS(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
    FAILS(MPI_Reduce(a, b, 1, MPI_FLOAT, MPI_BXOR, 0, comm), MPI_ERR_OP);
    check_alive();
    /* MPICH 4.0.2 takes these at their word, and aborts. */
    if (mp_is_library("MPICH"))
        return;
    FAILS(MPI_Gather(a, 1, MPI_INT, b, -1, MPI_INT, mp_rank, comm), MPI_ERR_COUNT);
    FAILS(MPI_Scan(a, b, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    FAILS(MPI_Allgatherv(a, 1, MPI_INT, b, bad, displs, MPI_INT, comm), MPI_ERR_COUNT);
    FAILS(MPI_Alltoallv(a, bad, displs, MPI_INT, b, counts, displs, MPI_INT, comm), MPI_ERR_COUNT);
    FAILS(MPI_Reduce_scatter(a, b, bad, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
    FAILS(MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    check_alive();
}

/* MPI_IN_PLACE is for the root; the others do not get as far as sending. */
static void misplaced(void)
{
    int a[2] = {0}, b[64] = {0};

    if (mp_rank == 1) {
        FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
        FAILS(MPI_Scatter(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
        FAILS(MPI_Reduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, 0, comm), MPI_ERR_BUFFER);
    }
    check_alive();
}

/* The root sends more than the others expect, short and long. */
static void truncated(void)
{
    static int a[40000];
    static const int more[] = {20, 30000};

    for (int i = 0; i < 2; i++) {
        if (mp_rank == 0)
            MUST(MPI_Bcast(a, more[i], MPI_INT, 0, comm));
        else
            FAILS(MPI_Bcast(a, more[i] / 2, MPI_INT, 0, comm), MPI_ERR_TRUNCATE);
        check_alive();
        if (mp_rank == 0)
            FAILS(MPI_Gather(a, 1, MPI_INT, a + 100, 1, MPI_INT, 0, comm),
                  mp_size > 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        else
            MUST(MPI_Gather(a, 2 + i, MPI_INT, NULL, 0, MPI_INT, 0, comm));
        check_alive();
    }
}

int main(int argc, char **argv)
{
    MPI_Comm gone;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    arguments();
    /* MPICH 4.0.2 reads the address. */
    if (!mp_is_library("MPICH"))
        misplaced();
    truncated();
    MUST(MPI_Comm_dup(comm, &gone));
    {
        MPI_Comm stale = gone;

        MUST(MPI_Comm_free(&gone));
        FAILS(MPI_Barrier(stale), MPI_ERR_COMM);
        FAILS(MPI_Comm_free(&stale), MPI_ERR_COMM);
    }
    MUST(MPI_Comm_free(&comm));
    return mp_finish();
}
