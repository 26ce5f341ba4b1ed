/*
 * What starting costs: the slowest rank's MPI_Init in ms, and the largest
 * proportional set size (PSS) of a rank in MiB, after MPI_Init and after every
 * rank has heard of its neighbours (a ring) and of all (a barrier).
 *
 * Output lines, SIZE being the number of ranks: "init_ms SIZE T T",
 * "pss_init SIZE MIB MIB", "pss_used SIZE MIB MIB".
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double pss_mib(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[200];
    long kib = 0;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "Pss: %ld", &kib) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return (double)kib / 1024;
}

int main(int argc, char **argv)
{
    double start = now_ms(), mine[3], most[3];
    int rank, size, token = 0;

    MPI_Init(&argc, &argv);
    mine[0] = now_ms() - start;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine[1] = pss_mib();
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    mine[2] = pss_mib();
    MPI_Reduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("init_ms %d %.3f %.3f\npss_init %d %.3f %.3f\npss_used %d %.3f %.3f\n", size,
               most[0], most[0], size, most[1], most[1], size, most[2], most[2]);
    MPI_Finalize();
    return 0;
}
