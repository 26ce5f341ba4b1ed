/* test: np=2,3 timeout=60 */
/*
 * Short gets from a process that computes without calling MPI, then waits inside it, in turn: they end
 * either way, bring what is there, and what comes late changes nothing that the program has
 * used again since. Windows are freed right after.
 */
#include "mp_test.h"

#define N      1024 /* longs in a part */
#define ROUNDS 12
#define GETS   24

static volatile long *flags; /* of rank 0: who is done with which round */

/* Nobody else changes the part while it is read. */
static void fill(long *mem, int round)
{
    for (int i = 0; i < N; i++)
        mem[i] = round * 100000L + i;
}

static MP_LOOKS void compute(int round)
{
    for (int i = 1; i < mp_size; i++) {
        while (flags[i] != round)
            ;
    }
}

/* Gets of several lengths, one by one and many at once; buffers are used again afterwards. */
static void read_all(MPI_Win win, int round)
{
    static long got[GETS][N];

    for (int many = 0; many < 2; many++) {
        memset(got, 0, sizeof(got));
        for (int k = 0; k < GETS; k++) {
            int n = k % 4 == 3 ? N : 1 + 7 * k;

            MUST(MPI_Get(got[k], n, MPI_LONG, 0, N - n, n, MPI_LONG, win));
            if (!many)
                MUST(MPI_Win_flush(0, win));
        }
        MUST(MPI_Win_flush(0, win));
        for (int k = 0; k < GETS; k++) {
            int n = k % 4 == 3 ? N : 1 + 7 * k;

            CHECK_EQ(got[k][0], round * 100000L + N - n);
            CHECK_EQ(got[k][n - 1], round * 100000L + N - 1);
        }
        /* what comes too late must not come here */
        memset(got, 0x5a, sizeof(got));
        MUST(MPI_Win_sync(win));
        for (int k = 0; k < GETS; k++) {
            for (int i = 0; i < N; i++)
                CHECK_EQ(got[k][i], 0x5a5a5a5a5a5a5a5aL);
        }
    }
}

/* The reader's buffer of the round before is looked at again after the others have caught up. */
static void rounds(MPI_Win win, MPI_Win flag_win, long *mem)
{
    for (int round = 1; round <= ROUNDS; round++) {
        long one = round;

        if (mp_rank == 0)
            fill(mem, round);
        MUST(MPI_Win_sync(win));
        MPI_Barrier(MPI_COMM_WORLD);
        if (mp_rank == 0 && round % 3 != 0)
            compute(round);
        if (mp_rank != 0) {
            read_all(win, round);
            MUST(MPI_Put(&one, 1, MPI_LONG, 0, mp_rank, 1, MPI_LONG, flag_win));
            MUST(MPI_Win_flush(0, flag_win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static long plain[N];
    MPI_Win win[2], flag_win;
    long *mem, *flag_mem, got;

    mp_start(&argc, &argv);
    MPI_Win_allocate((mp_size + 1) * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &flag_mem, &flag_win);
    memset(flag_mem, 0, (size_t)(mp_size + 1) * sizeof(long));
    flags = flag_mem;
    MPI_Win_allocate(sizeof(plain), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win[0]);
    MPI_Win_create(plain, sizeof(plain), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win[1]);
    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, flag_win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int w = 0; w < 2; w++) {
        MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, win[w]));
        /* connections are made while all are inside the library */
        MUST(MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win[w]));
        MUST(MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, flag_win));
        MUST(MPI_Win_flush(0, win[w]));
        MUST(MPI_Win_flush(0, flag_win));
        MPI_Barrier(MPI_COMM_WORLD);
        rounds(win[w], flag_win, w == 0 ? mem : plain);
        if (mp_rank == 0)
            memset((void *)flags, 0, (size_t)(mp_size + 1) * sizeof(long));
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(MPI_Win_unlock_all(win[w]));
        MUST(MPI_Win_free(&win[w]));
    }
    MUST(MPI_Win_unlock_all(flag_win));
    MUST(MPI_Win_free(&flag_win));
    return mp_finish();
}
