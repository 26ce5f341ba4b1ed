/*
 * A farm of tasks: the program spawns its workers, hands out numbers, one at a time, to whoever is
 * free, and sums up what comes back: how many primes are below 2,000,000, in 200 tasks.
 *
 *     ./farm                   started by nobody: 4 workers
 *     mpiexec -n 1 ./farm 8    8 workers
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define N_TASKS 200
#define STEP    10000

enum { TAG_TASK, TAG_RESULT, TAG_END };

static long primes_from(long first, long n)
{
    long found = 0;

    for (long i = first; i < first + n; i++) {
        int is_prime = i > 1;

        for (long d = 2; d * d <= i && is_prime; d++)
            is_prime = i % d != 0;
        found += is_prime;
    }
    return found;
}

static void work(MPI_Comm parent)
{
    MPI_Status status;
    long task, result;

    for (;;) {
        MPI_Recv(&task, 1, MPI_LONG, 0, MPI_ANY_TAG, parent, &status);
        if (status.MPI_TAG == TAG_END)
            break;
        result = primes_from(task * STEP, STEP);
        MPI_Send(&result, 1, MPI_LONG, 0, TAG_RESULT, parent);
    }
    MPI_Comm_disconnect(&parent);
}

static long farm(MPI_Comm workers, int n_workers)
{
    long total = 0, result, task = 0;
    int n_busy = 0;
    MPI_Status status;

    for (int i = 0; i < n_workers && task < N_TASKS; i++, task++, n_busy++)
        MPI_Send(&task, 1, MPI_LONG, i, TAG_TASK, workers);
    while (n_busy > 0) {
        MPI_Recv(&result, 1, MPI_LONG, MPI_ANY_SOURCE, TAG_RESULT, workers, &status);
        total += result;
        n_busy--;
        if (task < N_TASKS) {
            MPI_Send(&task, 1, MPI_LONG, status.MPI_SOURCE, TAG_TASK, workers);
            task++;
            n_busy++;
        }
    }
    for (int i = 0; i < n_workers; i++)
        MPI_Send(&task, 1, MPI_LONG, i, TAG_END, workers);
    return total;
}

int main(int argc, char **argv)
{
    int n_workers = argc > 1 ? atoi(argv[1]) : 4;
    MPI_Comm parent, workers;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        work(parent);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, n_workers, MPI_INFO_NULL, 0, MPI_COMM_SELF, &workers,
                       MPI_ERRCODES_IGNORE);
        printf("%ld primes below %d\n", farm(workers, n_workers), N_TASKS * STEP);
        MPI_Comm_disconnect(&workers);
    }
    MPI_Finalize();
    return 0;
}
