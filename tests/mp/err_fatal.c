/* test: np=2 exit=6 timeout=20 warn=MPI_Send.buf=0x.*count=3,.MPI_INT,.dest=9,.tag=4,.MPI_COMM_WORLD.:.invalid.rank:.dest.is.9 */
/*
 * A wrong rank under MPI_ERRORS_ARE_FATAL: the text names rank, call, arguments and cause, the exit
 * code is the error class, and the other rank, which waits, ends too.
 */
#include "mp_test.h"

int main(int argc, char **argv)
{
    int x[3] = {0};

    mp_start(&argc, &argv);
    if (mp_rank == 1)
        MPI_Send(x, 3, MPI_INT, 9, 4, MPI_COMM_WORLD);
    else
        MPI_Recv(x, 3, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(stderr, "rank %d went on\n", mp_rank);
    MPI_Finalize();
    return 0;
}
