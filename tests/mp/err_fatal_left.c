/* test: np=2,3 exit=nonzero timeout=20 warn=rank.1.on.*MPI_Finalize */
/*
 * A rank that exits without MPI_Finalize while the others wait for it.
 */
#include "mp_test.h"

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 1)
        exit(0);
    MPI_Recv(&argc, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
