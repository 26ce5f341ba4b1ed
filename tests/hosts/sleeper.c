/*
 * A rank that needs no network: MPI_Init, a line "rank R on HOST, process P", then it
 * waits for ever; with an argument it ends after MPI_Finalize, with that exit status on
 * the last rank. To be run with DATUM_CONNECT=demand.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int rank, size, len;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &len);
    printf("rank %d on %s, process %d\n", rank, host, (int)getpid());
    fflush(stdout);
    while (argc < 2)
        pause();
    MPI_Finalize();
    return rank == size - 1 ? atoi(argv[1]) : 0;
}
