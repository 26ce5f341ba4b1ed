/* test: np=2,3,4 cfg=RMA_UPDATE=auto|yes timeout=60 */
/*
 * 8-byte integers of windows that all ranks, the owner included, update at the same time, by every
 * kind of call: nothing is lost, nobody sees a number twice, and single accumulates, long ones and
 * compare-and-swaps of the same elements do not come between each other. In memory of the program, of
 * MPI_Win_allocate, and where one rank has none; with and without the hint that updates are of single
 * elements. Where the provider updates them the target need not call.
 */
#include <string.h>

#include "counter.h"
#include "mp_test.h"

enum { TURNS = 30, LONG = 40, COUNTER = 0, SUM, BITS, MOST, SWAPPED, STACK, ROW, N = ROW + LONG };

static signed char seen[8 * TURNS];

static long fetch(long value, MPI_Op op, int target, int at, MPI_Win win)
{
    long old = -1;

    MUST(MPI_Fetch_and_op(&value, &old, MPI_LONG, target, at, op, win));
    MUST(MPI_Win_flush(target, win));
    return old;
}

/* By the other way to write a counter: until nobody has come between. */
static void swap_add(int target, MPI_Win win)
{
    long now = fetch(0, MPI_NO_OP, target, SWAPPED, win), old, next;

    for (;;) {
        next = now + 1;
        MUST(MPI_Compare_and_swap(&next, &now, &old, MPI_LONG, target, SWAPPED, win));
        MUST(MPI_Win_flush(target, win));
        if (old == now)
            return;
        CHECK(old > now);
        now = old;
    }
}

/* What comes back are the numbers from 0 on, here every now and then. */
static void count(int turn, int target, MPI_Win win)
{
    long last = fetch(1, MPI_SUM, target, COUNTER, win);

    CHECK(last >= turn && last < (long)mp_size * TURNS);
    if (last >= 0 && last < (long)sizeof(seen))
        seen[last] = 1;
}

static void one_turn(int turn, int target, MPI_Win win)
{
    long one = 1, bit = 1L << mp_rank, value = (long)turn * mp_size + mp_rank, row[LONG], old;
    long two = 2;

    count(turn, target, win);
    MUST(MPI_Accumulate(&one, 1, MPI_LONG, target, SUM, 1, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Get_accumulate(&two, 1, MPI_LONG, &old, 1, MPI_LONG, target, SUM, 1, MPI_LONG, MPI_SUM,
                            win));
    MUST(MPI_Accumulate(&bit, 1, MPI_LONG, target, BITS, 1, MPI_LONG, MPI_BOR, win));
    MUST(MPI_Accumulate(&value, 1, MPI_LONG, target, MOST, 1, MPI_LONG, MPI_MAX, win));
    swap_add(target, win);
    CHECK(fetch(mp_rank + 1, MPI_REPLACE, target, STACK, win) <= mp_size);
    for (int i = 0; i < LONG; i++)
        row[i] = 1;
    if (turn % 4 == 0)
        MUST(MPI_Accumulate(row, LONG, MPI_LONG, target, ROW, LONG, MPI_LONG, MPI_SUM, win));
    else
        MUST(
            MPI_Accumulate(row, 1, MPI_LONG, target, ROW + turn % LONG, 1, MPI_LONG, MPI_SUM, win));
}

static long row_want(int at)
{
    long n = 0;

    for (int turn = 0; turn < TURNS; turn++)
        n += turn % 4 == 0 || turn % LONG == at;
    return n * mp_size;
}

/* All ranks have updated this part, one after the other or at the same time. */
static void check_part(const long *mem)
{
    long all = (long)mp_size * TURNS;

    CHECK_EQ(mem[COUNTER], all);
    CHECK_EQ(mem[SUM], 3 * all);
    CHECK_EQ(mem[BITS], (1L << mp_size) - 1);
    CHECK_EQ(mem[MOST], all - 1);
    CHECK_EQ(mem[SWAPPED], all);
    CHECK(mem[STACK] >= 1 && mem[STACK] <= mp_size);
    for (int i = 0; i < LONG; i++)
        CHECK_EQ(mem[ROW + i], row_want(i));
}

/* Ranks take their turns at the parts; the owner is one of them. */
static void run(long *mem, MPI_Win win)
{
    signed char all[sizeof(seen)];

    for (int target = 0; target < mp_size; target++) {
        memset(seen, 0, sizeof(seen));
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(MPI_Win_lock_all(0, win));
        for (int turn = 0; turn < TURNS; turn++)
            one_turn(turn, target, win);
        MUST(MPI_Win_unlock_all(win));
        MPI_Allreduce(seen, all, sizeof(seen), MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < mp_size * TURNS; i++)
            CHECK_EQ(all[i], 1);
        if (mp_rank == target) {
            MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mp_rank, 0, win));
            check_part(mem);
            MUST(MPI_Win_unlock(mp_rank, win));
        }
    }
    MUST(MPI_Win_free(&win));
}

static void run_created(char *at, MPI_Info info)
{
    MPI_Win win;

    memset(at, 0, N * sizeof(long));
    MUST(MPI_Win_create(at, N * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &win));
    run((long *)(void *)at, win);
}

/* How many elements of these calls, of 9, the provider has updated: of every kind of call. */
static long updated(int target, MPI_Win win)
{
    long before = counter("provider's atomics"), ones[] = {1, 1, 1, 1, 1}, old[5];
    MPI_Datatype spread;

    MPI_Type_vector(3, 1, 2, MPI_LONG, &spread);
    MPI_Type_commit(&spread);
    fetch(0, MPI_NO_OP, target, ROW, win);
    MUST(MPI_Compare_and_swap(ones, ones, old, MPI_LONG, target, ROW, win));
    MUST(MPI_Accumulate(ones, 1, MPI_LONG, target, ROW, 1, MPI_LONG, MPI_MAX, win));
    MUST(MPI_Get_accumulate(ones, 3, MPI_LONG, old, 3, MPI_LONG, target, ROW, 3, MPI_LONG, MPI_SUM,
                            win));
    MUST(MPI_Accumulate(ones, 1, spread, target, ROW, 1, spread, MPI_BXOR, win));
    MUST(MPI_Win_flush(target, win));
    MPI_Type_free(&spread);
    return before >= 0 ? counter("provider's atomics") - before : 0;
}

/* Does the provider carry the calls of all ranks out? All of it, then, by the owner too, or nothing. */
static int is_by_provider(MPI_Win win)
{
    long n[] = {updated(mp_rank, win), updated((mp_rank + 1) % mp_size, win)}, least, most;

    CHECK(n[0] == n[1] && (n[0] == 0 || n[0] == 9));
    MPI_Allreduce(&n[0], &least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&n[0], &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    CHECK_EQ(least, most);
    return least > 0;
}

/* Then rank 0 may compute, without a call, as long as it takes them. */
static void without_target(volatile long *mem, MPI_Win win)
{
    double until;

    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    fetch(0, MPI_NO_OP, 0, SUM, win); /* all are connected to it */
    if (is_by_provider(win)) {
        until = MPI_Wtime() + 20;
        for (int turn = 0; mp_rank > 0 && turn < TURNS; turn++) {
            count(turn, 0, win);
            swap_add(0, win);
        }
        if (mp_rank > 0)
            fetch(1, MPI_SUM, 0, SUM, win);
        while (mp_rank == 0 && mem[SUM] < mp_size - 1 && MPI_Wtime() < until)
            ;
        if (mp_rank == 0)
            CHECK_EQ(mem[SUM], mp_size - 1);
    }
    MUST(MPI_Win_unlock_all(win));
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static long own[N + 1];
    int provided;
    MPI_Info fine;
    MPI_Win win;
    long *mem;

    mp_start(&argc, &argv);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MUST(MPI_Info_create(&fine));
    MUST(MPI_Info_set(fine, "mpi_accumulate_granularity", "8"));
    run_created((char *)own, MPI_INFO_NULL);
    run_created((char *)own, fine);
    MUST(MPI_Win_allocate(N * sizeof(long), sizeof(long), fine, MPI_COMM_WORLD, &mem, &win));
    memset(mem, 0, N * sizeof(long));
    run(mem, win);
    /* one rank has no memory, and updates the others' */
    MUST(MPI_Win_create(own, mp_rank > 0 ? N * sizeof(long) : 0, sizeof(long), fine, MPI_COMM_WORLD,
                        &win));
    memset(own, 0, sizeof(own));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, win));
    CHECK(fetch(1, MPI_SUM, mp_size - 1, COUNTER, win) < mp_size);
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(own[COUNTER], mp_rank == mp_size - 1 ? mp_size : 0);
    MUST(MPI_Win_free(&win));
    memset(own, 0, sizeof(own));
    MUST(MPI_Win_create(own, sizeof(own), sizeof(long), fine, MPI_COMM_WORLD, &win));
    without_target(own, win);
    MUST(MPI_Info_free(&fine));
    MUST(MPI_T_finalize());
    return mp_finish();
}
