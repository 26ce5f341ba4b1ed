/* test: np=1,2,3,4 timeout=30 */
/*
 * Wrong calls of nonblocking and persistent collectives; what may not be done to their requests; a
 * broadcast of another length shows up in the request.
 */
#include "mp_test.h"

static MPI_Comm comm;

static void arguments(void)
{
    int a[8] = {0}, b[8] = {0};
    MPI_Request req;

    FAILS(MPI_Ibcast(a, 1, MPI_INT, mp_size, comm, &req), MPI_ERR_ROOT);
    FAILS(MPI_Ibcast(a, -1, MPI_INT, 0, comm, &req), MPI_ERR_COUNT);
    FAILS(MPI_Ibcast(a, 1, MPI_DATATYPE_NULL, 0, comm, &req), MPI_ERR_TYPE);
    FAILS(MPI_Ibarrier(MPI_COMM_NULL, &req), MPI_ERR_COMM);
    FAILS(MPI_Ibarrier(comm, NULL), MPI_ERR_ARG);
    FAILS(MPI_Iallreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm, &req), MPI_ERR_OP);
    FAILS(MPI_Iallreduce(a, b, 1, MPI_FLOAT, MPI_BXOR, comm, &req), MPI_ERR_OP);
    FAILS(MPI_Bcast_init(a, 1, MPI_INT, -5, comm, MPI_INFO_NULL, &req), MPI_ERR_ROOT);
    if (mp_is_library("MPICH"))
        return;
    FAILS(MPI_Barrier_init(comm, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    FAILS(MPI_Barrier_init(comm, (MPI_Info)12345, &req), MPI_ERR_INFO);
    FAILS(MPI_Iallgather(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm, &req), MPI_ERR_BUFFER);
    FAILS(MPI_Iscan(a, a, 1, MPI_INT, MPI_SUM, comm, &req), MPI_ERR_BUFFER);
}

static void requests(void)
{
    int one = 1, n = 0;
    MPI_Request req, copy;

    MUST(MPI_Iallreduce(&one, &n, 1, MPI_INT, MPI_SUM, comm, &req));
    /* MPICH frees and cancels without a word. */
    if (!mp_is_library("MPICH")) {
        copy = req;
        FAILS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
        CHECK_EQ(copy, req);
        FAILS(MPI_Cancel(&copy), MPI_ERR_REQUEST);
    }
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK_EQ(n, mp_size);
}

/* The root sends more than the others take, or less: each of them is told by its Wait. */
static void mismatch(int mine, int of_root, int class)
{
    int buf[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got;
    MPI_Request req;
    MPI_Status status;

    MUST(MPI_Ibcast(buf, mp_rank == 0 ? of_root : mine, MPI_INT, 0, comm, &req));
    if (mp_rank == 0) {
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    } else {
        FAILS(MPI_Waitall(1, &req, &status), MPI_ERR_IN_STATUS);
        MPI_Error_class(status.MPI_ERROR, &got);
        /* Perhaps through another rank that has found it. */
        CHECK(got == class || (mp_rank == 3 && got == MPI_ERR_OTHER));
    }
    CHECK_EQ(req, MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    int one = 1, n = 0;

    mp_start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    arguments();
    requests();
    if (mp_size > 1 && !mp_is_library("MPICH")) {
        mismatch(4, 8, MPI_ERR_TRUNCATE);
        mismatch(8, 4, MPI_ERR_OTHER);
        mismatch(1, 4, MPI_ERR_TRUNCATE);
    }
    MUST(MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(n, mp_size);
    MPI_Comm_free(&comm);
    return mp_finish();
}
