/*
 * N messages of SIZE bytes each way between two ranks, for counting what one of them takes:
 *
 *   DATUM_STATS=1 mpiexec -n 2 exchange N SIZE
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : -1;
    int len = argc > 2 ? atoi(argv[2]) : -1;
    char *out, *in;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(1, (size_t)(len > 0 ? len : 1));
    in = calloc(1, (size_t)(len > 0 ? len : 1));
    if (argc != 3 || n < 0 || len < 0 || size != 2 || out == NULL || in == NULL) {
        fprintf(stderr, "usage: mpiexec -n 2 exchange N SIZE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Send(out, len, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, len, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, len, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
