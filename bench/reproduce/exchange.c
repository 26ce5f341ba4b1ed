/*
 * N messages of SIZE bytes each way between two ranks, for counting what one of them takes:
 *
 *   DATUM_STATS=1 mpiexec -n 2 exchange N SIZE [first|second]
 *
 * With a word every other message is the first or the second half of the same memory. More ranks than two meet in a
 * barrier.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : -1;
    int len = argc > 2 ? atoi(argv[2]) : -1;
    const char *part = argc > 3 ? argv[3] : "";
    int is_first = strcmp(part, "first") == 0, is_second = strcmp(part, "second") == 0;
    char *out, *in;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(1, (size_t)(len > 0 ? len : 1));
    in = calloc(1, (size_t)(len > 0 ? len : 1));
    if (argc < 3 || argc - is_first - is_second != 3 || n < 0 || len < 0 || size < 2 ||
        out == NULL || in == NULL) {
        fprintf(stderr, "usage: mpiexec -n 2 exchange N SIZE [first|second]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; rank < 2 && i < n; i++) {
        int is_half = i % 2 == 1 && (is_first || is_second);
        int count = is_half ? len / 2 : len, at = is_half && is_second ? len / 2 : 0;

        if (rank == 0)
            MPI_Send(out + at, count, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in + at, count, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out + at, count, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    if (size > 2)
        MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
