/* test: np=2,3,4 cfg=RMA=auto|direct timeout=60 */
/*
 * Short transfers to memory of malloc while its owner waits inside the library, and
 * while it computes: values, results and order, also of dynamic windows and of what is refused there.
 */
#include "mp_test.h"

#define N      64
#define ROUNDS 300

static void work(double seconds)
{
    double until = MPI_Wtime() + seconds;

    while (MPI_Wtime() < until)
        ;
}

/* Everybody but 0 works on 0's memory, each on its own elements; base is where they are. */
static void origin(MPI_Win win, MPI_Aint base, int unit)
{
    MPI_Aint at = base + (MPI_Aint)(mp_rank * N) * unit, step = unit;
    long block[N], got[N];

    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    for (int i = 0; i < ROUNDS; i++) {
        long v = i, add = 5, compare = i + 5, want = -i, was = -1, was2 = -1, now = -1;
        int n = i % N + 1;

        MUST(MPI_Put(&v, 1, MPI_LONG, 0, at, 1, MPI_LONG, win));
        MUST(MPI_Win_flush(0, win));
        MUST(MPI_Fetch_and_op(&add, &was, MPI_LONG, 0, at, MPI_SUM, win));
        MUST(MPI_Compare_and_swap(&want, &compare, &was2, MPI_LONG, 0, at, win));
        MUST(MPI_Accumulate(&add, 1, MPI_LONG, 0, at, 1, MPI_LONG, MPI_SUM, win));
        MUST(MPI_Fetch_and_op(NULL, &now, MPI_LONG, 0, at, MPI_NO_OP, win));
        MUST(MPI_Win_flush(0, win));
        CHECK_EQ(was, i);
        CHECK_EQ(was2, i + 5);
        CHECK_EQ(now, 5 - i);
        for (int k = 0; k < n; k++) {
            block[k] = 100 * i + k;
            got[k] = -1;
        }
        MUST(MPI_Put(block + 1, n - 1, MPI_LONG, 0, at + step, n - 1, MPI_LONG, win));
        MUST(MPI_Win_flush(0, win));
        MUST(MPI_Get(got, n, MPI_LONG, 0, at, n, MPI_LONG, win));
        MUST(MPI_Win_flush(0, win));
        CHECK_EQ(got[0], 5 - i);
        for (int k = 1; k < n; k++)
            CHECK_EQ(got[k], block[k]);
    }
    MUST(MPI_Win_unlock(0, win));
}

static void both(MPI_Win win, MPI_Aint base, int unit)
{
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        if (mp_rank == 0)
            work(is_busy ? 0.02 : 0);
        else
            origin(win, base, unit);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Beyond what is attached: the next flush tells, whichever way it went. */
static void refused(MPI_Win win, MPI_Aint base)
{
    long v = 1;
    MPI_Aint out = base + (MPI_Aint)(mp_size * N * (int)sizeof(long));

    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (mp_rank != 0) {
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        for (int i = 0; i < 10; i++) {
            MPI_Put(&v, 1, MPI_LONG, 0, out, 1, MPI_LONG, win);
            FAILS(MPI_Win_flush(0, win), MPI_ERR_RMA_RANGE);
            MUST(MPI_Win_flush(0, win));
        }
        MUST(MPI_Win_unlock(0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    long *mem;
    MPI_Aint size, base;
    MPI_Win win;

    mp_start(&argc, &argv);
    size = (MPI_Aint)(mp_size * N * (int)sizeof(long));
    mem = calloc(1, (size_t)size);
    MUST(MPI_Win_create(mem, size, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    both(win, 0, 1);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_attach(win, mem, size));
    MPI_Get_address(mem, &base);
    MPI_Bcast(&base, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    both(win, base, sizeof(long));
    /* MPICH writes there */
    if (!mp_is_library("MPICH"))
        refused(win, base);
    MUST(MPI_Win_detach(win, mem));
    MUST(MPI_Win_free(&win));
    free(mem);
    return mp_finish();
}
