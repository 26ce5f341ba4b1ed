/* test: np=20 prov=datum-shm cfg=CONNECT=demand timeout=60 */
/*
 * With many neighbours on a host a process that sleeps is notified by whoever sends to it: each of them once
 * and again, when all are connected. Without that it would look by itself only now and then.
 */
#include <stdlib.h>
#include <time.h>

#include "mp_test.h"

enum { ROUNDS = 38, ASLEEP_NS = 60000000 };
#define MOST_S 0.01

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void everybody(int round)
{
    for (int d = 1; d < mp_size; d++) {
        int to = (mp_rank + d) % mp_size, from = (mp_rank + mp_size - d) % mp_size;
        int out = 1000 * round + mp_rank, in = -1;

        MPI_Sendrecv(&out, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK_EQ(in, 1000 * round + from);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Rank 0 sleeps; one after the other sends the time to it. Seconds until it has it. */
static double wake(int round)
{
    const struct timespec nap = {.tv_nsec = ASLEEP_NS};
    double at = 0;

    if (mp_rank == 1 + round % (mp_size - 1)) {
        nanosleep(&nap, NULL);
        at = now();
        MPI_Send(&at, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    } else if (mp_rank == 0) {
        MPI_Recv(&at, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    at = now() - at;
    MPI_Barrier(MPI_COMM_WORLD);
    return at;
}

int main(int argc, char **argv)
{
    double took[ROUNDS];

    mp_start(&argc, &argv);
    for (int round = 0; round < 20; round++)
        everybody(round);
    for (int round = 0; round < ROUNDS; round++)
        took[round] = wake(round);
    qsort(took, ROUNDS, sizeof(took[0]), compare);
    CHECK(mp_rank != 0 || took[ROUNDS / 2] < MOST_S);
    everybody(20);
    return mp_finish();
}
