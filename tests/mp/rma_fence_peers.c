/* test: np=16 prov=datum-shm timeout=60 */
/*
 * Processes that sleep in fences are woken by few others, so that nobody becomes connected with all for it.
 */
#include "counter.h"
#include "mp_test.h"

#define FENCES 64
#define BUSY_S 0.01
#define MOST   5 /* neighbours in a binomial tree of 16 */

/* So long that the others, who wait in a fence, sleep. */
static void compute(void)
{
    double end = MPI_Wtime() + BUSY_S;

    while (MPI_Wtime() < end)
        ;
}

int main(int argc, char **argv)
{
    long n_peers;
    int level;
    MPI_Win win;
    long *mem;

    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    mp_start(&argc, &argv);
    MUST(MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    for (int i = 0; i < FENCES; i++) {
        if (i % mp_size == mp_rank)
            compute(); /* comes last, and ends the fence */
        MUST(MPI_Win_fence(0, win));
    }
    n_peers = counter("peers connected");
    CHECK(n_peers >= 0 && n_peers <= MOST);
    MPI_Win_free(&win);
    MUST(MPI_T_finalize());
    return mp_finish();
}
