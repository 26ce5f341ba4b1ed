/* test: np=0,2 exit=15 timeout=20 warn=MPI_Barrier.was.called.after.MPI_Finalize */
/*
 * A call after MPI_Finalize.
 */
#include "mp_test.h"

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
