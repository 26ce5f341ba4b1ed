/* test: np=1,2,4 cfg=RMA=auto|emulated,RMA_ATOMIC=auto|yes timeout=60 */
/*
 * Passive target: exclusive locks make read-modify-write safe, shared locks let
 * accumulates run together, lock_all with flushes, locks of one's own part, of several parts, fairness.
 */
#include "mp_test.h"

#define TURNS 200

/* Get, add, put under an exclusive lock: no update is lost. */
static void counter(MPI_Win win, long *mem, int target)
{
    if (mp_rank == target) {
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        mem[0] = 0;
        MUST(MPI_Win_unlock(target, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++) {
        long v = -1;

        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        MUST(MPI_Get(&v, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        MUST(MPI_Win_unlock(target, win));
        (void)v;
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        MUST(MPI_Get(&v, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        MUST(MPI_Win_flush(target, win));
        v++;
        MUST(MPI_Put(&v, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        MUST(MPI_Win_unlock(target, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == target) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        CHECK_EQ(mem[0], (long)TURNS * mp_size);
        MUST(MPI_Win_unlock(target, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void shared_adds(MPI_Win win, long *mem)
{
    long one = 1;

    mem[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++) {
        int target = (mp_rank + i) % mp_size;

        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        MUST(MPI_Accumulate(&one, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_SUM, win));
        MUST(MPI_Win_unlock(target, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, mp_rank, 0, win));
    CHECK_EQ(mem[1], TURNS);
    MUST(MPI_Win_unlock(mp_rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lock_all(MPI_Win win)
{
    MUST(MPI_Win_lock_all(0, win));
    for (int r = 0; r < mp_size; r++) {
        long v = 1000 * mp_rank + r, got = -1;

        MUST(MPI_Put(&v, 1, MPI_LONG, r, 2 + mp_rank, 1, MPI_LONG, win));
        MUST(MPI_Win_flush(r, win));
        MUST(MPI_Get(&got, 1, MPI_LONG, r, 2 + mp_rank, 1, MPI_LONG, win));
        MUST(MPI_Win_flush_local(r, win));
        CHECK_EQ(got, v);
    }
    MUST(MPI_Win_flush_all(win));
    MUST(MPI_Win_flush_local_all(win));
    MUST(MPI_Win_sync(win));
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
}

/*
 * Even ranks lock all and go to each other, odd ranks lock the even ones exclusively: nobody holds a
 * lock that another one needs to let go of its own.
 */
static void crossed(MPI_Win win)
{
    int n_even = (mp_size + 1) / 2;
    long v = mp_rank, got;

    for (int i = 0; i < TURNS; i++) {
        int other = 2 * ((mp_rank / 2 + 1) % n_even);

        if (mp_rank % 2 == 0) {
            MUST(MPI_Win_lock_all(0, win));
            MUST(MPI_Get(&got, 1, MPI_LONG, other, 2, 1, MPI_LONG, win));
            MUST(MPI_Win_unlock_all(win));
        } else {
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
            MUST(MPI_Put(&v, 1, MPI_LONG, other, 2, 1, MPI_LONG, win));
            MUST(MPI_Win_unlock(other, win));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/*
 * Even ranks hold shared locks of their own part and of their neighbour's, taken in different order, odd
 * ranks want these parts exclusively in between: who holds a lock does not wait for who waits for it.
 */
static void crossed_pairs(MPI_Win win)
{
    int n_even = (mp_size + 1) / 2;
    long v = mp_rank, got = 0, seen = 0;

    for (int i = 0; i < TURNS; i++) {
        int other = 2 * ((mp_rank / 2 + i) % n_even), mine = mp_rank - mp_rank % 2;

        if (mp_rank % 2 == 0) {
            MUST(MPI_Win_lock(MPI_LOCK_SHARED, mine, 0, win));
            MUST(MPI_Get(&got, 1, MPI_LONG, mine, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_flush(mine, win));
            if (other != mine) {
                MUST(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
                MUST(MPI_Get(&seen, 1, MPI_LONG, other, 1, 1, MPI_LONG, win));
                MUST(MPI_Win_unlock(other, win));
            }
            MUST(MPI_Get(&seen, 1, MPI_LONG, mine, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_unlock(mine, win));
            CHECK_EQ(seen, got); /* nobody came in between */
        } else {
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
            MUST(MPI_Get(&got, 1, MPI_LONG, other, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_flush(other, win));
            v = got + 1;
            MUST(MPI_Put(&v, 1, MPI_LONG, other, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_flush(other, win));
            MUST(MPI_Get(&got, 1, MPI_LONG, other, 1, 1, MPI_LONG, win));
            MUST(MPI_Win_unlock(other, win));
            CHECK_EQ(got, v);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    long mem[66], *shared;
    MPI_Win created, allocated;

    mp_start(&argc, &argv);
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    MUST(MPI_Win_allocate(sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                          &allocated));
    counter(created, mem, 0);
    counter(allocated, shared, mp_size - 1);
    shared_adds(created, mem);
    shared_adds(allocated, shared);
    lock_all(created);
    lock_all(allocated);
    crossed(created);
    crossed(allocated);
    crossed_pairs(created);
    crossed_pairs(allocated);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, created));
    MUST(MPI_Win_unlock(MPI_PROC_NULL, created));
    MUST(MPI_Win_free(&created));
    MUST(MPI_Win_free(&allocated));
    return mp_finish();
}
