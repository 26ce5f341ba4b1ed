/* test: np=2,4 exit=42 timeout=20 warn=rank.1.on.*MPI_Abort.MPI_COMM_WORLD,.42..was.called */
/*
 * MPI_Abort by one rank ends all of them with its code.
 */
#include "mp_test.h"

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    if (mp_rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(&argc, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return 0;
}
