/*
 * Rank 1 holds the lock of rank 0's part of a window, the others wait for it in a queue, and rank 0 computes.
 * The first argument is the rank that is killed then.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void die(int sig)
{
    (void)sig;
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
    long mem = 0;
    MPI_Win win;
    int rank;

    MPI_Init(&argc, &argv);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(&mem, sizeof(mem), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("running\n");
        fflush(stdout);
    }
    signal(SIGALRM, die);
    /* by then those that wait are in the queue */
    if (rank == atoi(argv[1]))
        alarm(1);
    if (rank > 1) {
        MPI_Win_lock(rank == 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        printf("rank %d has a lock that nobody has given back\n", rank);
    }
    for (;;)
        pause();
}
