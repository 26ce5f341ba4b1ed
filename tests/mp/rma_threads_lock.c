/* test: np=2,3 cfg=RMA=auto|emulated,RMA_ATOMIC=auto|yes timeout=30 */
/*
 * Under MPI_Win_lock_all several threads use a part for the first time while its owner has it locked for
 * itself, or wait for that in MPI_Win_lock_all: they wait together, and the epoch ends.
 */
#include <pthread.h>

#include "mp_test.h"

#define THREADS 4
#define ROUNDS  5

static MPI_Win win;
static long values[THREADS]; /* the library's until the epoch ends */

static void *use(void *arg)
{
    long me = (long)arg;

    values[me] = 100 * mp_rank + me;
    MUST(MPI_Put(&values[me], 1, MPI_LONG, 0, mp_rank * THREADS + me, 1, MPI_LONG, win));
    return NULL;
}

/* The others wait in MPI_Win_lock_all, or their threads in the first calls after it, or nearly so. */
static void own(void)
{
    int flag;

    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < mp_size; i++)
        MUST(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2000; i++)
        MUST(MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Win_unlock(0, win));
}

static void others(void)
{
    pthread_t threads[THREADS];

    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
    MUST(MPI_Win_lock_all(0, win));
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, use, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MUST(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv)
{
    static long plain[64];
    long *mem = plain;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        if (round % 2 == 0)
            MUST(MPI_Win_create(plain, sizeof(plain), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                                &win));
        else
            MUST(MPI_Win_allocate(sizeof(plain), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                                  &win));
        memset(round % 2 ? mem : plain, 0, sizeof(plain));
        MPI_Barrier(MPI_COMM_WORLD);
        if (mp_rank == 0)
            own();
        else
            others();
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, mp_rank, 0, win));
        for (int r = 1; mp_rank == 0 && r < mp_size; r++) {
            for (int i = 0; i < THREADS; i++)
                CHECK_EQ((round % 2 ? mem : plain)[r * THREADS + i], 100 * r + i);
        }
        MUST(MPI_Win_unlock(mp_rank, win));
        MUST(MPI_Win_free(&win));
    }
    return mp_finish();
}
