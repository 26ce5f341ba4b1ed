/* test: np=2 prov=datum-shm timeout=30 */
/*
 * Threads of one process wait for locks of windows of their own, and sleep: one of them for all. Whichever lock is
 * given back, its holder sees that somebody sleeps for it and wakes the process.
 */
#include <pthread.h>
#include <unistd.h>

#include "counter.h"
#include "mp_test.h"

#define THREADS 3
#define ROUNDS  20
#define BUSY_US 20000

static MPI_Win wins[THREADS];

static void *lock(void *arg)
{
    int i = (int)(long)arg;

    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[i]));
    MUST(MPI_Win_unlock(0, wins[i]));
    MUST(MPI_Send(NULL, 0, MPI_INT, 0, i, MPI_COMM_WORLD));
    return NULL;
}

static void wait_in_threads(void)
{
    pthread_t threads[THREADS];

    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, lock, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Give the locks back one by one: for how many of them somebody slept. */
static int give_back(void)
{
    int n_woken = 0;

    for (int i = 0; i < THREADS; i++) {
        long long before;

        usleep(BUSY_US); /* as if it computed */
        before = counter("sleepers woken");
        MUST(MPI_Win_unlock(0, wins[i]));
        n_woken += counter("sleepers woken") > before;
        MUST(MPI_Recv(NULL, 0, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    return n_woken;
}

int main(int argc, char **argv)
{
    int level, best = 0;
    void *mem;

    MUST(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        MUST(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &wins[i]));
    for (int round = 0; round < ROUNDS && best < THREADS; round++) {
        for (int i = 0; i < THREADS && mp_rank == 0; i++)
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[i]));
        MPI_Barrier(MPI_COMM_WORLD);
        if (mp_rank == 0) {
            int n = give_back();

            best = n > best ? n : best;
        } else {
            wait_in_threads();
        }
        MPI_Bcast(&best, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK_EQ(best, THREADS);
    for (int i = 0; i < THREADS; i++)
        MPI_Win_free(&wins[i]);
    MUST(MPI_T_finalize());
    return mp_finish();
}
