/*
 * The smallest MPI program: every process says who it is.
 *
 *   mpicc -o hello hello.c
 *   mpiexec -n 4 ./hello
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int host_len;
    int rank; /* my number, from 0 on */
    int size; /* how many we are */

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &host_len);
    printf("Hello from process %d of %d on %s\n", rank, size, host);
    MPI_Finalize();
    return 0;
}
