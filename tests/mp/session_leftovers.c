/* test: np=1,2,3 cfg=EAGER_LIMIT=0|16k timeout=30 */
/*
 * MPI_Finalize is not kept by sends that nobody has received where there were sessions before, either. (Debian's MPICH
 * crashes in communicators of sessions.)
 */
#include "mp_test.h"

enum { NEVER = 6 };

static int unsent;

static void send_for_nothing(MPI_Comm comm)
{
    MPI_Request req;
    int rank, size;

    MUST(MPI_Comm_rank(comm, &rank));
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Issend(&unsent, 1, MPI_INT, (rank + 1) % size, NEVER, comm, &req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Isend(&unsent, 1, MPI_INT, (rank + 1) % size, NEVER, comm, &req));
    MUST(MPI_Request_free(&req));
}

static void use_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int one = 1, sum, size;

    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Comm_create_from_group(group, "some", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Comm_size(comm, &size));
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    use_session();
    send_for_nothing(MPI_COMM_WORLD);
    send_for_nothing(MPI_COMM_SELF);
    MUST(MPI_Finalize());
    return mp_failures != 0;
}
