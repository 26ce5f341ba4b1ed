/*
 * What messages cost that nobody receives: every other rank starts n sends of LEN bytes to rank 0, which makes
 * progress but receives nothing until all have been started, then everything. Runs with any MPI.
 *
 *   mpiexec -n 4 flood [MAX [LEN]]
 *
 * Prints, for n of 1000, 10,000 ... up to MAX (100,000) per sender, what was sent, by how much the memory of rank 0 had grown at
 * most, that of a sender (whose requests wait there), and the time per message.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DATA, TAG_ALL };

static int rank, size;

/* The most memory that this process ever had, MiB. */
static double most_memory(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = atol(line + 6);
    if (f != NULL)
        fclose(f);
    return (double)kb / 1024;
}

static void send_all(int n, int len)
{
    MPI_Request *reqs = malloc(sizeof(*reqs) * (size_t)n);
    char *buf = calloc(1, (size_t)len);

    for (int i = 0; i < n; i++)
        MPI_Isend(buf, len, MPI_CHAR, 0, TAG_DATA, MPI_COMM_WORLD, &reqs[i]);
    MPI_Send(NULL, 0, MPI_CHAR, 0, TAG_ALL, MPI_COMM_WORLD);
    MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
    free(buf);
    free(reqs);
}

/* Returns the most memory before the first receive. */
static double receive_all(int n, int len)
{
    char *buf = malloc((size_t)len);
    double most;

    for (int i = 1; i < size; i++)
        MPI_Recv(NULL, 0, MPI_CHAR, i, TAG_ALL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    most = most_memory();
    for (int i = 0; i < n * (size - 1); i++)
        MPI_Recv(buf, len, MPI_CHAR, MPI_ANY_SOURCE, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(buf);
    return most;
}

int main(int argc, char **argv)
{
    int max = argc > 1 ? atoi(argv[1]) : 100000, len = argc > 2 ? atoi(argv[2]) : 1024;
    double before;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    before = most_memory();
    if (rank == 0)
        printf("%9s %9s %12s %12s %9s\n", "each", "MiB sent", "MiB at rank 0", "at a sender",
               "us each");
    for (int n = 1000; n <= max && size > 1; n *= 10) {
        double mine = 0, theirs, t;

        MPI_Barrier(MPI_COMM_WORLD);
        t = MPI_Wtime();
        if (rank == 0)
            mine = receive_all(n, len);
        else
            send_all(n, len);
        MPI_Barrier(MPI_COMM_WORLD);
        t = MPI_Wtime() - t;
        theirs = rank == 0 ? 0 : most_memory() - before;
        MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &theirs, &theirs, 1, MPI_DOUBLE, MPI_MAX, 0,
                   MPI_COMM_WORLD);
        if (rank == 0)
            printf("%9d %9.0f %12.0f %12.0f %9.2f\n", n, (double)n * (size - 1) * len / 1048576,
                   mine - before, theirs, t / n / (size - 1) * 1e6);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
