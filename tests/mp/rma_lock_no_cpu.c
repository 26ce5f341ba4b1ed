/* test: np=2,3,4 cfg=RMA_ATOMIC=auto|yes timeout=60 */
/*
 * A target that computes without a call of MPI, where its locks need nothing of it, as the library's own
 * counters say: lock, get, flush, put and unlock go on, and take no message to it. Elsewhere
 * nothing is promised and nothing tried. All take part in the end, the owner too.
 */
#include "counter.h"
#include "mp_test.h"

#define TURNS 100

static void add_one(MPI_Win win, int at)
{
    long v = -1;

    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    MUST(MPI_Get(&v, 1, MPI_LONG, 0, at, 1, MPI_LONG, win));
    MUST(MPI_Win_flush(0, win));
    v++;
    MUST(MPI_Put(&v, 1, MPI_LONG, 0, at, 1, MPI_LONG, win));
    MUST(MPI_Win_unlock(0, win));
}

/* Does nobody's lock of rank 0 take a message? */
static int are_free(MPI_Win win)
{
    long before = counter("locks by packet");
    int is_free;

    CHECK(before >= 0 || mp_is_library("MPICH"));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    MUST(MPI_Win_unlock(0, win));
    is_free = before >= 0 && counter("locks by packet") == before;
    MPI_Allreduce(MPI_IN_PLACE, &is_free, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return is_free;
}

/* mem[0]: the sum; mem[1]: how many are done. */
static void one_window(MPI_Win win, volatile long *mem)
{
    double until;

    memset((void *)mem, 0, 2 * sizeof(*mem));
    MPI_Barrier(MPI_COMM_WORLD);
    if (!are_free(win))
        return;
    if (mp_rank == 0) {
        until = MPI_Wtime() + 40;
        while (mem[1] < mp_size - 1 && MPI_Wtime() < until)
            ;
        CHECK_EQ(mem[1], mp_size - 1);
        CHECK_EQ(mem[0], (long)TURNS * (mp_size - 1));
    } else {
        long n_messages = counter("locks by packet");

        for (int i = 0; i < TURNS; i++) {
            add_one(win, 0);
            MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            MUST(MPI_Win_unlock(0, win));
        }
        add_one(win, 1);
        CHECK_EQ(counter("locks by packet"), n_messages);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TURNS; i++)
        add_one(win, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    if (mp_rank == 0)
        CHECK_EQ(mem[0], (long)TURNS * (2 * mp_size - 1));
    MUST(MPI_Win_unlock(0, win));
}

int main(int argc, char **argv)
{
    long *own = malloc(2 * sizeof(long));
    MPI_Win win;
    int provided;
    long *mem;

    mp_start(&argc, &argv);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MUST(MPI_Win_create(own, 2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    one_window(win, own);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                          &win));
    one_window(win, mem);
    MUST(MPI_Win_free(&win));
    free(own);
    MUST(MPI_T_finalize());
    return mp_finish();
}
