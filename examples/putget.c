/*
 * One-sided communication: a process reads and writes memory of another one that does not call
 * anything for it. Each process opens a window on a few numbers of its own; then
 *
 *   MPI_Put         everybody writes its rank into the window of its right neighbour,
 *   MPI_Accumulate  everybody adds to a sum in the window of process 0,
 *   MPI_Get         everybody reads that sum.
 *
 * Fences divide this into steps: what was put before a fence is there after it.
 *
 *   mpiexec -n 4 ./putget
 */
#include <mpi.h>
#include <stdio.h>

enum { FROM_LEFT, SUM, N_CELLS };

int main(int argc, char **argv)
{
    int *cells; /* my part of the window */
    MPI_Win win;
    int rank, size, right, left;
    int one, sum;
    int is_right;
    int n_right = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;

    /* Memory from MPI_Alloc_mem may be faster to reach than any other. */
    MPI_Alloc_mem(N_CELLS * sizeof(int), MPI_INFO_NULL, &cells);
    cells[FROM_LEFT] = -1;
    cells[SUM] = 0;
    /* Displacements will count ints: that is the fourth argument's meaning. */
    MPI_Win_create(cells, N_CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);

    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, right, FROM_LEFT, 1, MPI_INT, win);
    one = rank + 1;
    MPI_Accumulate(&one, 1, MPI_INT, 0, SUM, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(&sum, 1, MPI_INT, 0, SUM, 1, MPI_INT, win);
    MPI_Win_fence(0, win); /* only now sum may be looked at */

    printf("process %d: %d put its rank here, the sum is %d\n", rank, cells[FROM_LEFT], sum);
    is_right = cells[FROM_LEFT] == left && sum == size * (size + 1) / 2;
    MPI_Reduce(&is_right, &n_right, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", n_right == size ? "all as it should be" : "something is wrong");

    MPI_Win_free(&win);
    MPI_Free_mem(cells);
    MPI_Finalize();
    return is_right ? 0 : 1;
}
