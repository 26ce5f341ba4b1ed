/* test: np=0 exit=15 timeout=20 warn=MPI_Comm_rank.was.called.before.MPI_Init */
/*
 * A call before MPI_Init.
 */
#include <mpi.h>

int main(void)
{
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 0;
}
