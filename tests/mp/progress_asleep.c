/* test: np=2,4 cfg=PROGRESS=thread|threads2 timeout=60 */
/*
 * While the program computes a progress thread sleeps until something comes, over whatever rails its peers
 * are reached: it does not look every millisecond.
 */
#include "counter.h"
#include "mp_test.h"

#define COMPUTE 0.5  /* seconds */
#define PASSES  20   /* while sleeps grow, and for what came before */
#define PER_S   20.0 /* passes at most, from then on; twice what it should be */

static const char *const names[] = {"progress thread: times woken: passes",
                                    "second progress thread: times woken: passes"};

static void compute(double seconds)
{
    double start = MPI_Wtime();

    while (MPI_Wtime() - start < seconds)
        ;
}

/* All have connections to all. */
static void talk(void)
{
    int value = mp_rank, got;

    for (int i = 0; i < mp_size; i++) {
        MUST(MPI_Sendrecv(&value, 1, MPI_INT, (mp_rank + i) % mp_size, 0, &got, 1, MPI_INT,
                          (mp_rank - i + mp_size) % mp_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(got, (mp_rank - i + mp_size) % mp_size);
    }
}

int main(int argc, char **argv)
{
    int provided;
    long before[2], n;
    double start, most;

    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    mp_start(&argc, &argv);
    talk();
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    compute(COMPUTE / 2);
    start = MPI_Wtime();
    for (int i = 0; i < 2; i++)
        before[i] = counter(names[i]);
    compute(COMPUTE);
    most = PASSES + (MPI_Wtime() - start) * PER_S;
    for (int i = 0; i < 2; i++) {
        CHECK(before[i] >= 0);
        n = counter(names[i]) - before[i];
        if (n > most)
            printf("rank %d: %ld passes of thread %d, at most %g\n", mp_rank, n, i, most);
        CHECK(n <= most);
    }
    talk();
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_T_finalize());
    return mp_finish();
}
