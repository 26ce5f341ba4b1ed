/* test: np=1,2,3,4 timeout=60 */
/*
 * Persistent collectives: started in an order of each rank's own, again and again with new data,
 * together with other collectives; what their requests may be asked and when.
 */
#include "mp_test.h"

#define N_OPS    6
#define N_STARTS 20

static void orders(void)
{
    int in[N_OPS][4], out[N_OPS][4];
    MPI_Request reqs[N_OPS];
    MPI_Comm comm;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < N_OPS; i++)
        MUST(MPI_Allreduce_init(in[i], out[i], 4, MPI_INT, i % 2 ? MPI_MAX : MPI_SUM,
                                i < 3 ? comm : MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[i]));
    MUST(MPI_Comm_free(&comm));
    for (int round = 0; round < N_STARTS; round++) {
        for (int i = 0; i < N_OPS; i++)
            for (int k = 0; k < 4; k++) {
                in[i][k] = round * 100 + mp_rank + i + k;
                out[i][k] = -1;
            }
        for (int i = 0; i < N_OPS; i++)
            MUST(MPI_Start(&reqs[(i * 5 + mp_rank + round) % N_OPS]));
        if (round % 3 == 0)
            MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_Waitall(N_OPS, reqs, MPI_STATUSES_IGNORE));
        for (int i = 0; i < N_OPS; i++)
            for (int k = 0; k < 4; k++)
                CHECK_EQ(out[i][k],
                         i % 2 ? round * 100 + mp_size - 1 + i + k
                               : mp_size * (round * 100 + i + k) + mp_size * (mp_size - 1) / 2);
    }
    for (int i = 0; i < N_OPS; i++) {
        CHECK(reqs[i] != MPI_REQUEST_NULL);
        MUST(MPI_Request_free(&reqs[i]));
        CHECK_EQ(reqs[i], MPI_REQUEST_NULL);
    }
}

/* Two starts in a row, a rank may be one ahead: the data must not mix. */
static void ahead(void)
{
    int buf = 0;
    MPI_Request req;

    MUST(MPI_Bcast_init(&buf, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
    for (int i = 0; i < 200; i++) {
        if (mp_rank == 0)
            buf = i;
        MUST(MPI_Start(&req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_EQ(buf, i);
    }
    MUST(MPI_Request_free(&req));
}

static void inactive(void)
{
    MPI_Request reqs[2];
    MPI_Status status;
    int flag = 0, index = 5, in = 1, out = 0;

    MUST(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &reqs[0]));
    MUST(MPI_Reduce_init(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &reqs[1]));
    memset(&status, 1, sizeof(status));
    MUST(MPI_Wait(&reqs[0], &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    MUST(MPI_Test(&reqs[0], &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    MUST(MPI_Waitany(2, reqs, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
    MUST(MPI_Startall(2, reqs));
    for (int i = 0; i < 2; i++) {
        MUST(MPI_Waitany(2, reqs, &index, MPI_STATUS_IGNORE));
        CHECK(index == 0 || index == 1);
    }
    MUST(MPI_Waitany(2, reqs, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
    if (mp_rank == 0)
        CHECK_EQ(out, mp_size);
    for (int i = 0; i < 2; i++)
        MUST(MPI_Request_free(&reqs[i]));
}

static void errors(void)
{
    MPI_Request req;
    int in = 1, out = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MUST(MPI_Scan_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
    FAILS(MPI_Cancel(&req), MPI_ERR_REQUEST);
    MUST(MPI_Start(&req));
    FAILS(MPI_Start(&req), MPI_ERR_REQUEST);
    FAILS(MPI_Cancel(&req), MPI_ERR_REQUEST);
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK_EQ(out, mp_rank + 1);
    MUST(MPI_Request_free(&req));
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &req));
    FAILS(MPI_Start(&req), MPI_ERR_REQUEST);
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    /* MPICH 4.0.2 matches them in the order of their starts, and reports inactive ones as complete. */
    if (!mp_is_library("MPICH")) {
        orders();
        inactive();
        errors();
    }
    ahead();
    return mp_finish();
}
