/*
 * What matching costs when much is queued: n messages without a receive, or n receives without a message,
 * of as many tags, taken in the order they came and in the worst one. Runs with any MPI.
 *
 *   mpiexec -n 2 match [MAX]
 *   mpiexec -n 1 match [MAX]     with oneself: only the queues count
 *
 * Prints ns per message for n of 1000, 10,000 ... up to MAX (100,000).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum order { FORWARD, REVERSE };

static int rank, to; /* rank 0 sends */

/* The tag of the k-th in an order. */
static int nth(enum order order, int k, int n)
{
    return order == FORWARD ? k : n - 1 - k;
}

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All are sent, then received: ns per receive. */
static double unexpected(int n, enum order order)
{
    double t = 0;
    int value;

    meet();
    if (rank == 0) {
        for (int i = 0; i < n; i++)
            MPI_Send(&i, 1, MPI_INT, to, i, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, to, n, MPI_COMM_WORLD);
    }
    if (rank == to) {
        MPI_Recv(NULL, 0, MPI_INT, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        t = MPI_Wtime();
        for (int k = 0; k < n; k++)
            MPI_Recv(&value, 1, MPI_INT, 0, nth(order, k, n), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        t = MPI_Wtime() - t;
    }
    return t / n * 1e9;
}

/* All are posted, then sent: ns per message, until the last has come. */
static double posted(int n, enum order order)
{
    MPI_Request *reqs = malloc(sizeof(*reqs) * (size_t)n);
    int *values = malloc(sizeof(*values) * (size_t)n);
    double t = 0;

    if (rank == to)
        for (int i = 0; i < n; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &reqs[i]);
    meet();
    t = MPI_Wtime();
    if (rank == 0)
        for (int k = 0; k < n; k++)
            MPI_Send(&k, 1, MPI_INT, to, nth(order, k, n), MPI_COMM_WORLD);
    if (rank == to)
        MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
    t = MPI_Wtime() - t;
    free(reqs);
    free(values);
    return t / n * 1e9;
}

static double best(double (*run)(int, enum order), int n, enum order order)
{
    double least = 1e18;

    for (int i = 0; i < 3; i++) {
        double t = run(n, order);

        least = t < least ? t : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    int max = argc > 1 ? atoi(argv[1]) : 100000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &to);
    to = to > 1;
    if (rank == to)
        printf("%8s %14s %14s %14s %14s\n", "ns each", "unexpected", "and reversed", "posted",
               "and reversed");
    for (int n = 1000; n <= max; n *= 10) {
        double ns[4] = {best(unexpected, n, FORWARD), best(unexpected, n, REVERSE),
                        best(posted, n, FORWARD), best(posted, n, REVERSE)};

        if (rank == to)
            printf("%8d %14.0f %14.0f %14.0f %14.0f\n", n, ns[0], ns[1], ns[2], ns[3]);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
