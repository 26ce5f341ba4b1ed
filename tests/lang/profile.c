/*
 * A profiling library: counts calls of the program, whatever its language, and passes them on.
 */
#include <mpi.h>
#include <stdio.h>

static int n_sends, n_reduces;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    n_sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm)
{
    n_reduces++;
    return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Finalize(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("profile: %d sends, %d reductions\n", n_sends, n_reduces);
    fflush(stdout);
    return PMPI_Finalize();
}
