/* test: np=1,3,4 timeout=30 cfg=COLL_SHM=yes|no */
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

/* A broadcast does not match the root's: TRUNCATE or OTHER, behind a rank that has found it either. */
static void mismatch(int err, int class)
{
    int got;

    MUST(MPI_Error_class(err, &got));
    CHECK(got == class || (mp_rank == 3 && got == MPI_ERR_OTHER));
}

/* The root sends more than the others expect, or less, short and long. */
static void truncated(void)
{
    static int a[40000];
    static const int more[] = {2, 20, 30000};

    for (int i = 0; i < 3; i++) {
        if (mp_rank == 0)
            MUST(MPI_Bcast(a, more[i], MPI_INT, 0, comm));
        else
            mismatch(MPI_Bcast(a, more[i] / 2, MPI_INT, 0, comm), MPI_ERR_TRUNCATE);
        check_alive();
        if (mp_rank == 0)
            MUST(MPI_Bcast(a, more[i] / 2, MPI_INT, 0, comm));
        else
            mismatch(MPI_Bcast(a, more[i], MPI_INT, 0, comm), MPI_ERR_OTHER);
        check_alive();
        if (mp_rank == 0)
            FAILS(MPI_Gather(a, 1, MPI_INT, a + 100, 1, MPI_INT, 0, comm),
                  mp_size > 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        else
            MUST(MPI_Gather(a, 2 + i, MPI_INT, NULL, 0, MPI_INT, 0, comm));
        check_alive();
    }
}

/* The same where one side's length is on one side of a limit between ways, the other's on the other. */
static void truncated_between(int more, int less)
{
    int *a = calloc((size_t)more * 3, sizeof(int)), *b = calloc((size_t)more * 3, sizeof(int));
    int is_first = mp_rank == 0;

    if (is_first)
        FAILS(MPI_Gather(a, less, MPI_INT, b, less, MPI_INT, 0, comm), MPI_ERR_TRUNCATE);
    else
        MUST(MPI_Gather(a, more, MPI_INT, NULL, 0, MPI_INT, 0, comm));
    check_alive();
    FAILS(MPI_Scatter(a, more, MPI_INT, b, is_first ? more : less, MPI_INT, 0, comm),
          is_first ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    check_alive();
    FAILS(
        MPI_Alltoall(a, is_first ? more : less, MPI_INT, b, is_first ? more : less, MPI_INT, comm),
        is_first ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    check_alive();
    free(a);
    free(b);
}

static int reduce(int kind, const double *a, double *b, int n, MPI_Comm dup)
{
    switch (kind) {
    case 0:
        return MPI_Reduce_scatter_block(a, b, n, MPI_DOUBLE, MPI_SUM, dup);
    case 1:
        return MPI_Reduce(a, b, n, MPI_DOUBLE, MPI_SUM, 0, dup);
    case 2:
        return MPI_Reduce(a, b, n, MPI_DOUBLE, MPI_SUM, mp_size - 1, dup);
    case 3:
        return MPI_Allreduce(a, b, n, MPI_DOUBLE, MPI_SUM, dup);
    case 4:
        return MPI_Scan(a, b, n, MPI_DOUBLE, MPI_SUM, dup);
    default:
        return MPI_Exscan(a, b, n, MPI_DOUBLE, MPI_SUM, dup);
    }
}

/*
 * In memory that all ranks share vectors of different lengths are noticed by somebody, and nobody waits for ever;
 * later the ranks can work together again. Messages of different numbers are waited for.
 */
static void uneven(int kind, int n_first, int n_others)
{
    static double a[3 * 40000], b[3 * 40000];
    const char *shm = getenv("DATUM_COLL_SHM");
    int is_noticed, n = 0, one = 1;
    MPI_Comm dup;

    MUST(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &dup));
    MUST(MPI_Comm_size(dup, &n));
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MIN, comm));
    if (n < mp_size || shm == NULL || strcmp(shm, "yes") != 0)
        return;
    n = 0;
    MUST(MPI_Comm_dup(comm, &dup));
    MUST(MPI_Barrier(dup));
    MUST(MPI_Barrier(dup));
    is_noticed = reduce(kind, a, b, mp_rank == 0 ? n_first : n_others, dup) != MPI_SUCCESS;
    MUST(MPI_Allreduce(&is_noticed, &n, 1, MPI_INT, MPI_SUM, comm));
    CHECK(mp_size == 1 || n > 0);
    MUST(MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, dup));
    CHECK_EQ(n, mp_size);
    MUST(MPI_Comm_free(&dup));
}

/* The types of blocks must be committed; those of empty ones need not even be types. */
static void block_types(void)
{
    int a[8] = {0}, b[8] = {0}, ones[8], none[8] = {0}, at[8];
    MPI_Datatype raw[8], null[8], two;

    MUST(MPI_Type_contiguous(1, MPI_INT, &two));
    for (int i = 0; i < 8; i++) {
        ones[i] = 1;
        at[i] = i * (int)sizeof(int);
        raw[i] = two;
        null[i] = MPI_DATATYPE_NULL;
    }
    FAILS(MPI_Alltoallw(a, ones, at, raw, b, ones, at, raw, comm), MPI_ERR_TYPE);
    FAILS(MPI_Alltoallw(a, ones, at, null, b, ones, at, null, comm), MPI_ERR_TYPE);
    MUST(MPI_Alltoallw(a, none, at, null, b, none, at, null, comm));
    MUST(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, b, none, at, null, comm));
    /* one block of a rank's is not empty: the one from and to its neighbours */
    none[(mp_rank + 1) % mp_size] = 1;
    null[(mp_rank + 1) % mp_size] = MPI_INT;
    ones[(mp_rank + 1) % mp_size] = 0;
    for (int i = 0; i < 8; i++) {
        a[i] = 100 * mp_rank + i;
        ones[i] = i == (mp_rank + mp_size - 1) % mp_size;
        raw[i] = ones[i] ? MPI_INT : MPI_DATATYPE_NULL;
    }
    for (int i = 0; i < 3; i++) { /* by messages, then in shared memory */
        b[(mp_rank + mp_size - 1) % mp_size] = -1;
        MUST(MPI_Alltoallw(a, none, at, null, b, ones, at, raw, comm));
        CHECK_EQ(b[(mp_rank + mp_size - 1) % mp_size],
                 100 * ((mp_rank + mp_size - 1) % mp_size) + mp_rank);
    }
    MUST(MPI_Type_free(&two));
    check_alive();
}

/* A rank's own block, where it is to be received: MPI_IN_PLACE was meant. */
static void aliased(void)
{
    int a[16] = {0}, counts[3] = {1, 1, 1}, displs[3] = {0, 1, 2}, bytes[3] = {0, 4, 8};
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    int *mine = a + mp_rank;
    MPI_Request req;

    FAILS(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_scatter_block(a, a, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather(mine, 1, MPI_INT, a, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Gather(mine, 1, MPI_INT, a, 1, MPI_INT, mp_rank, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Scatter(a, 1, MPI_INT, mine, 1, MPI_INT, mp_rank, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Ialltoall(a, 1, MPI_INT, a, 1, MPI_INT, comm, &req), MPI_ERR_BUFFER);
    /* the same place, but nothing there; places between each other's */
    MUST(MPI_Alltoall(a, 0, MPI_INT, a, 0, MPI_INT, comm));
    MUST(MPI_Alltoall(a, 1, MPI_INT, a + mp_size, 1, MPI_INT, comm));
    /* MPICH 4.0.2 does not notice these. */
    if (mp_is_library("MPICH"))
        return;
    FAILS(MPI_Reduce_scatter(a, a, counts, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Reduce_local(a, a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    FAILS(MPI_Allgatherv(mine, 1, MPI_INT, a, counts, displs, MPI_INT, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Gatherv(mine, 1, MPI_INT, a, counts, displs, MPI_INT, mp_rank, comm), MPI_ERR_BUFFER);
    FAILS(MPI_Scatterv(a, counts, displs, MPI_INT, mine, 1, MPI_INT, mp_rank, comm),
          MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallv(a, counts, displs, MPI_INT, a, counts, displs, MPI_INT, comm),
          MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallw(a, counts, bytes, types, a, counts, bytes, types, comm), MPI_ERR_BUFFER);
    check_alive();
}

int main(int argc, char **argv)
{
    MPI_Comm gone;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    arguments();
    if (mp_size > 3) { /* through a rank that has found it */
        truncated();
        MUST(MPI_Comm_free(&comm));
        return mp_finish();
    }
    /* MPICH 4.0.2 reads the address. */
    if (!mp_is_library("MPICH"))
        misplaced();
    aliased();
    block_types();
    truncated();
    if (mp_size > 1) {
        truncated_between(8400, 8000);
        truncated_between(20000, 16000);
    }
    for (int kind = 0; kind < 6 && !mp_is_library("MPICH"); kind++) {
        uneven(kind, 2, 3);
        uneven(kind, 40000, 10000);
        uneven(kind, 1500, 30000);
    }
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
