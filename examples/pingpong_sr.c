/*
 * Two processes send a message back and forth with MPI_Send and MPI_Recv, and print how long one
 * way takes. Further processes wait.
 *
 *   mpiexec -n 2 ./pingpong_sr [BYTES]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 1000
#define TAG    42 /* any number; a receive takes only messages with its tag */

int main(int argc, char **argv)
{
    long n_bytes = argc > 1 ? atol(argv[1]) : 8;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2 || n_bytes < 1 || n_bytes > 1 << 30) {
        if (rank == 0)
            fprintf(stderr, "Usage: mpiexec -n 2 pingpong_sr [BYTES, 1 to 1073741824]\n");
        MPI_Finalize();
        return 2;
    }

    if (rank < 2) {
        char *message = malloc((size_t)n_bytes);
        int peer = 1 - rank;
        double start = 0;
        MPI_Status status;
        int got;

        if (message == NULL) {
            MPI_Abort(MPI_COMM_WORLD, 1);
            return 1;
        }
        memset(message, 'a' + rank, (size_t)n_bytes);
        for (int round = -10; round < ROUNDS; round++) {
            if (round == 0) /* the first ten only warm up */
                start = MPI_Wtime();
            if (rank == 0) {
                MPI_Send(message, (int)n_bytes, MPI_CHAR, peer, TAG, MPI_COMM_WORLD);
                MPI_Recv(message, (int)n_bytes, MPI_CHAR, peer, TAG, MPI_COMM_WORLD, &status);
            } else {
                MPI_Recv(message, (int)n_bytes, MPI_CHAR, peer, TAG, MPI_COMM_WORLD, &status);
                MPI_Send(message, (int)n_bytes, MPI_CHAR, peer, TAG, MPI_COMM_WORLD);
            }
        }
        /* The status says who has sent how much. */
        MPI_Get_count(&status, MPI_CHAR, &got);
        if (rank == 0)
            printf("%d bytes from process %d and back: %.3f us one way, %.1f MB/s\n", got,
                   status.MPI_SOURCE, (MPI_Wtime() - start) * 1e6 / (2 * ROUNDS),
                   (double)n_bytes * 2 * ROUNDS / (MPI_Wtime() - start) / 1e6);
        free(message);
    }
    MPI_Finalize();
    return 0;
}
