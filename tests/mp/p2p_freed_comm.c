/* test: np=1,2 timeout=30 */
/*
 * A communicator that is freed while an operation on it is under way: its error handler hears of the failure, also
 * where the operation is all that is left of it, and where the handler was freed as well.
 */
#include "p2p.h"

enum { LEN = 4 };

static int n_called, class_seen, is_null, fails;

/* What fails in it concerns MPI_COMM_SELF, as everything that no object is known of, and not what failed before. */
static void handler(MPI_Comm *comm, int *code, ...)
{
    MPI_Request none = (MPI_Request)(MPI_REQUEST_NULL + 12345);

    n_called++;
    if (fails && n_called < 100)
        CHECK(MPI_Wait(&none, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Error_class(*code, &class_seen);
    is_null = *comm == MPI_COMM_NULL;
}

/* A receive on a communicator of its own that is freed, whose message is too long. */
static MPI_Request start(MPI_Errhandler errhandler, int *buf)
{
    int longer[LEN] = {0};
    MPI_Request req;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, errhandler);
    MPI_Irecv(buf, 1, MPI_INT, (me + np - 1) % np, 0, comm, &req);
    MPI_Send(longer, LEN, MPI_INT, (me + 1) % np, 0, comm);
    MPI_Comm_free(&comm);
    return req;
}

static void want_truncated(int code)
{
    int class;

    MPI_Error_class(code, &class);
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
}

static void want_called(int n)
{
    CHECK_EQ(n_called, n);
    CHECK_EQ(class_seen, MPI_ERR_TRUNCATE);
    CHECK(is_null || is_library("MPICH"));
    class_seen = is_null = 0;
}

int main(int argc, char **argv)
{
    MPI_Request req, reqs[2];
    MPI_Errhandler own;
    MPI_Status sts[2];
    int buf[2], flag = 0, err = MPI_SUCCESS, value = 1, sum;

    begin(&argc, &argv);
    req = start(MPI_ERRORS_RETURN, buf);
    want_truncated(MPI_Wait(&req, sts));
    CHECK_EQ(req, MPI_REQUEST_NULL);
    MPI_Comm_create_errhandler(handler, &own);
    req = start(own, buf);
    want_truncated(MPI_Wait(&req, sts));
    want_called(1);
    req = start(own, buf);
    while (!flag)
        err = MPI_Test(&req, &flag, sts);
    want_truncated(err);
    want_called(2);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    fails = 1;
    req = start(own, buf);
    want_truncated(MPI_Wait(&req, sts));
    want_called(3);
    fails = 0;
    for (int i = 0; i < 2; i++)
        reqs[i] = start(MPI_ERRORS_RETURN, &buf[i]);
    CHECK_EQ(MPI_Waitall(2, reqs, sts), MPI_ERR_IN_STATUS);
    for (int i = 0; i < 2; i++)
        want_truncated(sts[i].MPI_ERROR);
    req = start(own, buf);
    MPI_Errhandler_free(&own);
    want_truncated(MPI_Wait(&req, sts));
    want_called(4);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(sum, np);
    return end();
}
