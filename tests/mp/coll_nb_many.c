/* test: np=1,2,3,4 timeout=60 */
/*
 * Many nonblocking collectives at once: on overlapping communicators, between blocking ones, on
 * communicators that are freed meanwhile, with operations that are freed, and while only
 * MPI_Test or a receive drives them.
 */
#include "mp_test.h"

#define N_MANY 300

static void outstanding(void)
{
    static int in[N_MANY][8], out[N_MANY][8];
    MPI_Request reqs[N_MANY];
    MPI_Comm comms[3];
    int sum = mp_size * (mp_size - 1) / 2;

    comms[0] = MPI_COMM_WORLD;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -mp_rank, &comms[2]));
    for (int i = 0; i < N_MANY; i++) {
        int one = 1, all = 0;

        for (int k = 0; k < 8; k++)
            in[i][k] = mp_rank + i * k;
        MUST(MPI_Iallreduce(in[i], out[i], 8, MPI_INT, MPI_SUM, comms[i % 3], &reqs[i]));
        if (i % 50 == 7) {
            MUST(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comms[i % 3]));
            CHECK_EQ(all, mp_size);
        }
    }
    for (int i = 1; i < 3; i++)
        MUST(MPI_Comm_free(&comms[i]));
    /* The odd ranks from the end. */
    for (int i = 0; mp_rank % 2 && i < N_MANY; i++)
        MUST(MPI_Wait(&reqs[N_MANY - 1 - i], MPI_STATUS_IGNORE));
    MUST(MPI_Waitall(N_MANY, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N_MANY; i++)
        for (int k = 0; k < 8; k++)
            CHECK_EQ(out[i][k], sum + mp_size * i * k);
}

static void product(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] *= ((int *)in)[i];
}

/* The operation is freed at once; only MPI_Test makes progress. */
static void tested(void)
{
    int in = mp_rank + 1, out = 0, want = 1, flag = 0;
    MPI_Request req;
    MPI_Status status;
    MPI_Op op;

    for (int i = 1; i <= mp_size; i++)
        want *= i;
    MUST(MPI_Op_create(product, 1, &op));
    MUST(MPI_Ireduce(&in, &out, 1, MPI_INT, op, mp_size - 1, MPI_COMM_WORLD, &req));
    MUST(MPI_Op_free(&op));
    memset(&status, 7, sizeof(status));
    while (!flag)
        MUST(MPI_Test(&req, &flag, &status));
    CHECK_EQ(req, MPI_REQUEST_NULL);
    if (mp_rank == mp_size - 1)
        CHECK_EQ(out, want);
    /* MPICH shows that of some message inside. */
    if (mp_is_library("MPICH"))
        return;
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
}

/* The last rank needs the others' progress while they wait for a message of its. */
static void driven(void)
{
    static int buf[100000];
    int last = mp_size - 1, token = 0;
    MPI_Request reqs[2];

    if (mp_size == 1)
        return;
    for (int i = 0; i < 100000; i++)
        buf[i] = mp_rank == 0 ? i : -1;
    MUST(MPI_Ibcast(buf, 100000, MPI_INT, 0, MPI_COMM_WORLD, &reqs[0]));
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &reqs[1]));
    if (mp_rank == last) {
        MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        for (int i = 0; i < last; i++)
            MUST(MPI_Send(&i, 1, MPI_INT, i, 3, MPI_COMM_WORLD));
    } else {
        MUST(MPI_Recv(&token, 1, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(token, mp_rank);
        MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
    }
    for (int i = 0; i < 100000; i += 999)
        CHECK_EQ(buf[i], i);
}

/* A barrier that some reach late is not complete before. */
static void late(void)
{
    MPI_Request req;
    int flag = 0;

    if (mp_size == 1)
        return;
    if (mp_rank == 0) {
        MUST(MPI_Ibarrier(MPI_COMM_WORLD, &req));
        for (int i = 0; i < 1000 && !flag; i++)
            MUST(MPI_Test(&req, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        for (int i = 1; i < mp_size; i++)
            MUST(MPI_Send(&flag, 1, MPI_INT, i, 4, MPI_COMM_WORLD));
    } else {
        MUST(MPI_Recv(&flag, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MUST(MPI_Ibarrier(MPI_COMM_WORLD, &req));
    }
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

/* Large counts, and mixed with point-to-point in one set. */
static void mixed(void)
{
    int *in = calloc((size_t)mp_size * 2, sizeof(int)), *out = calloc((size_t)mp_size * 2, 4);
    MPI_Count *counts = calloc((size_t)mp_size, sizeof(*counts));
    MPI_Aint *displs = calloc((size_t)mp_size, sizeof(*displs));
    int next = (mp_rank + 1) % mp_size, prev = (mp_rank + mp_size - 1) % mp_size, got = -1;
    MPI_Request reqs[4];
    int n = 4;

    for (int i = 0; i < mp_size; i++) {
        in[2 * i] = mp_rank * 100 + i;
        counts[i] = 1;
        displs[i] = 2 * i;
    }
    MUST(MPI_Irecv(&got, 1, MPI_INT, prev, 9, MPI_COMM_WORLD, &reqs[0]));
    MUST(MPI_Ialltoallv_c(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD,
                          &reqs[1]));
    MUST(MPI_Isend(&mp_rank, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &reqs[2]));
    reqs[3] = MPI_REQUEST_NULL;
    while (n > 1) {
        int k, indices[4];

        MUST(MPI_Waitsome(4, reqs, &k, indices, MPI_STATUSES_IGNORE));
        CHECK(k > 0);
        n -= k;
    }
    CHECK_EQ(got, prev);
    for (int i = 0; i < mp_size; i++) {
        CHECK_EQ(out[2 * i], i * 100 + mp_rank);
        CHECK_EQ(out[2 * i + 1], 0);
    }
    free(in);
    free(out);
    free(counts);
    free(displs);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    outstanding();
    tested();
    driven();
    late();
    mixed();
    return mp_finish();
}
