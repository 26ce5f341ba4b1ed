/* test: np=2,3,4 cfg=RMA=auto|emulated|direct timeout=90 */
/*
 * Large accumulates of all processes at one part at once, with single elements updated in
 * between by the others and by its owner: no update is lost, and each fetch sees the elements whole.
 */
#include "mp_test.h"

#define N      12000 /* elements; more than one piece of what is combined in one go */
#define ROUNDS 12
#define ONES   200

static long data[N], old[N];

static void all_at_once(MPI_Win win, long *mem, int target)
{
    long one = 1, was, sum = 0;

    for (int i = 0; i < N; i++) {
        mem[i] = 0;
        data[i] = i + 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, win));
    for (int k = 0; k < ROUNDS; k++) {
        MUST(MPI_Accumulate(data, N, MPI_LONG, target, 0, N, MPI_LONG, MPI_SUM, win));
        for (int i = 0; i < ONES; i++)
            MUST(MPI_Fetch_and_op(&one, &was, MPI_LONG, target, (i * 59) % N, MPI_SUM, win));
        MUST(MPI_Get_accumulate(data, N, MPI_LONG, old, N, MPI_LONG, target, 0, N, MPI_LONG,
                                MPI_SUM, win));
        MUST(MPI_Win_flush(target, win));
        /* mine that were before it are in what was there */
        CHECK(old[N - 1] >= (2L * k + 1) * N && old[0] >= 2L * k + 1);
    }
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == target) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        for (int i = 0; i < N; i++)
            sum += mem[i] - 2L * ROUNDS * mp_size * (i + 1);
        CHECK_EQ(sum, (long)ROUNDS * ONES * mp_size);
        MUST(MPI_Win_unlock(target, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Whole elements replaced by many writers: each is one of the written values. */
static void replaced(MPI_Win win, long *mem, int target)
{
    for (int i = 0; i < N; i++) {
        mem[i] = 0;
        data[i] = (mp_rank + 1) * 0x0101010101010101L;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    for (int k = 0; k < ROUNDS; k++)
        MUST(MPI_Accumulate(data, N, MPI_LONG, target, 0, N, MPI_LONG, MPI_REPLACE, win));
    MUST(MPI_Win_unlock(target, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == target) {
        int n_bad = 0;

        MUST(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        for (int i = 0; i < N; i++)
            n_bad += mem[i] % 0x0101010101010101L != 0 || mem[i] == 0;
        CHECK_EQ(n_bad, 0);
        MUST(MPI_Win_unlock(target, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static long mem[N];
    long *allocated;
    MPI_Win a, b;

    mp_start(&argc, &argv);
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &a));
    MUST(
        MPI_Win_allocate(sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &b));
    all_at_once(a, mem, 0);
    all_at_once(b, allocated, mp_size - 1);
    replaced(a, mem, 0);
    replaced(b, allocated, mp_size - 1);
    MUST(MPI_Win_free(&a));
    MUST(MPI_Win_free(&b));
    return mp_finish();
}
