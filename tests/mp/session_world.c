/* test: np=1,2,4 timeout=30 */
/*
 * Sessions beside the world model: before MPI_Init, in it, over MPI_Finalize, and after it. (Debian's
 * MPICH crashes in the first communicator.)
 */
#include "mp_test.h"

static int sum_over(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    int one = 1, sum = 0;

    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    MUST(MPI_Comm_free(&comm));
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Session first, second, third;
    int flag, sum, one = 1;

    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
    sum_over(first, "before");
    MUST(MPI_Initialized(&flag));
    CHECK_EQ(flag, 0);
    mp_start(&argc, &argv);
    MUST(MPI_Initialized(&flag));
    CHECK_EQ(flag, 1);
    CHECK_EQ(sum_over(first, "in"), mp_size);
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    MUST(MPI_Session_finalize(&first));
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, mp_size);
    MUST(MPI_Finalize());
    MUST(MPI_Finalized(&flag));
    CHECK_EQ(flag, 1);
    CHECK_EQ(sum_over(second, "over"), mp_size);
    MUST(MPI_Session_finalize(&second));
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &third));
    CHECK_EQ(sum_over(third, "after"), mp_size);
    MUST(MPI_Session_finalize(&third));
    return mp_failures != 0;
}
