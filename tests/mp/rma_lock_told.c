/* test: np=2,3,4,5 cfg=RMA_ATOMIC=auto|yes,CONNECT=auto|demand timeout=60 */
/*
 * Locks of a window held for long: who waits is told, and does not look at the target's words meanwhile, whose
 * threads each look would wake on a core that the holder may need. Who has given the lock back may compute: the
 * next one has been told. The target makes calls.
 */
#include "counter.h"
#include "mp_test.h"

#define HOLD_S  0.2
#define N       30
#define COUNTER "locks by fetch-and-add: operations"

static long most; /* operations on words for a lock and unlock, however long it is waited for */

static void hold(double seconds)
{
    double start = MPI_Wtime();

    while (MPI_Wtime() - start < seconds)
        ;
}

static void lock_once(MPI_Win win, int type, double seconds)
{
    long before = counter(COUNTER), n;

    MUST(MPI_Win_lock(type, 0, 0, win));
    hold(seconds);
    MUST(MPI_Win_unlock(0, win));
    n = counter(COUNTER) - before;
    if (n > most)
        printf("rank %d: %ld operations for a lock\n", mp_rank, n);
    CHECK(n <= most);
}

/* Only one of them is held for long, by each rank in turn. */
static void take_turns(MPI_Win win, int type, int other)
{
    for (int rank = 0; rank < mp_size; rank++) {
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        lock_once(win, mp_rank == rank ? type : other, mp_rank == rank ? HOLD_S : 0);
    }
}

/* Locks of all parts beside exclusive ones: visitors. */
static void mixed(MPI_Win win)
{
    for (int i = 0; i < N; i++) {
        if ((i + mp_rank) % 3 == 0) {
            MUST(MPI_Win_lock_all(0, win));
            MUST(MPI_Win_unlock_all(win));
        } else {
            MUST(MPI_Win_lock((i + mp_rank) % 3 == 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED,
                              (i * 7 + mp_rank) % mp_size, 0, win));
            MUST(MPI_Win_unlock((i * 7 + mp_rank) % mp_size, win));
        }
    }
}

int main(int argc, char **argv)
{
    int level, *mem;
    MPI_Win win;

    mp_start(&argc, &argv);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    most = 12 + 2 * mp_size;
    MUST(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    take_turns(win, MPI_LOCK_EXCLUSIVE, MPI_LOCK_EXCLUSIVE);
    take_turns(win, MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED);
    take_turns(win, MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE);
    for (int i = 0; i < N; i++)
        lock_once(win, (i + mp_rank) % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0);
    mixed(win);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Win_free(&win));
    MUST(MPI_T_finalize());
    return mp_finish();
}
