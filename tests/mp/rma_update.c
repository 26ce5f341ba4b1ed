/* test: np=2,4 prov=datum-shm timeout=60 */
/*
 * Updates of memory that only its process can address: while it computes without a call of MPI they
 * are done all the same, and while it computes and waits in turn, updates its own part and sends
 * long lists of elements, nothing is lost and no element is half written. (MPICH 4.0.2 hangs in the first
 * part: its updates wait for the target.)
 */
#include <stdint.h>

#include "mp_test.h"

#define LONGS 10000 /* more than is updated in one go */
#define TURNS 150

struct part {
    long n_done, sum, max, swapped;
    long double wide;
    struct {
        double value;
        int place;
    } pair;
    long many[LONGS];
};
static struct part *part;
static long ones[LONGS], steps[LONGS], old[LONGS];

static MPI_Aint at(const void *field)
{
    return (const char *)field - (const char *)part;
}

/* What was there: each element has its own step, unless vectors add to some as well. */
static void check_old(int has_vectors)
{
    for (int i = 0; i < LONGS && mp_failures == 0; i++) {
        CHECK(old[i] >= 0);
        CHECK(has_vectors || old[i] % steps[i] == 0);
    }
}

/* More than is updated in one go, by calls with and without a result. */
static void update_many(MPI_Win win, int has_vectors)
{
    MPI_Request req;

    MUST(MPI_Get_accumulate(steps, LONGS, MPI_LONG, old, LONGS, MPI_LONG, 0, at(part->many), LONGS,
                            MPI_LONG, MPI_SUM, win));
    MUST(MPI_Win_flush(0, win));
    check_old(has_vectors);
    MUST(MPI_Accumulate(steps, LONGS, MPI_LONG, 0, at(part->many), LONGS, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Win_flush(0, win));
    MUST(MPI_Rget_accumulate(NULL, 0, MPI_LONG, old, LONGS, MPI_LONG, 0, at(part->many), LONGS,
                             MPI_LONG, MPI_NO_OP, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    check_old(has_vectors);
    MUST(MPI_Raccumulate(steps, LONGS, MPI_LONG, 0, at(part->many), LONGS, MPI_LONG, MPI_SUM, win,
                         &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(0, win));
}

/* Every call at rank 0; a type with holes is for one that comes. */
static void update(MPI_Win win, int has_holes)
{
    long one = 1, sum, was, seen = -1;
    long double wide = 0.5L;
    struct {
        double value;
        int place;
    } pair = {mp_rank, mp_rank};

    MUST(MPI_Accumulate(&one, 1, MPI_LONG, 0, at(&part->sum), 1, MPI_LONG, MPI_SUM, win));
    MUST(MPI_Fetch_and_op(&one, &sum, MPI_LONG, 0, at(&part->sum), MPI_SUM, win));
    MUST(MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, 0, at(&part->wide), 1, MPI_LONG_DOUBLE, MPI_SUM,
                        win));
    if (has_holes)
        MUST(MPI_Accumulate(&pair, 1, MPI_DOUBLE_INT, 0, at(&part->pair), 1, MPI_DOUBLE_INT,
                            MPI_MAXLOC, win));
    do {
        long want;

        was = seen;
        want = was + 1;
        MUST(MPI_Compare_and_swap(&want, &was, &seen, MPI_LONG, 0, at(&part->swapped), win));
        MUST(MPI_Win_flush(0, win));
    } while (seen != was);
    update_many(win, has_holes);
}

static void look(MPI_Win win, long n_updates, int has_holes)
{
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    CHECK_EQ(part->sum, 2 * n_updates);
    CHECK_EQ(part->swapped, n_updates - 1);
    CHECK_EQ(part->wide * 2, n_updates);
    CHECK_EQ(part->pair.value, has_holes ? mp_size - 1 : 0);
    CHECK_EQ(part->pair.place, has_holes ? mp_size - 1 : 0);
    for (int i = 0; i < LONGS && mp_failures == 0; i++)
        CHECK_EQ(part->many[i], 3 * n_updates * steps[i]);
    MUST(MPI_Win_unlock(0, win));
}

static void clear(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    memset(part, 0, sizeof(*part));
    part->swapped = -1;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 only looks at its memory. */
static void computing(MPI_Win win)
{
    volatile long *n_done = &part->n_done;
    double until = MPI_Wtime() + 20;
    long one = 1;

    clear();
    if (mp_rank == 0) {
        while (*n_done < mp_size - 1 && MPI_Wtime() < until)
            ;
        CHECK_EQ(*n_done, mp_size - 1);
    } else {
        MUST(MPI_Win_lock_all(0, win));
        for (int i = 0; i < 5; i++)
            update(win, 0);
        MUST(MPI_Accumulate(&one, 1, MPI_LONG, 0, at(&part->n_done), 1, MPI_LONG, MPI_SUM, win));
        MUST(MPI_Win_unlock_all(win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        look(win, 5L * (mp_size - 1), 0);
}

/* All at once; rank 0 is now inside the library and now not. */
static void together(MPI_Win win)
{
    MPI_Datatype some;

    MUST(MPI_Type_vector(LONGS / 2, 1, 2, MPI_LONG, &some));
    MUST(MPI_Type_commit(&some));
    clear();
    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < TURNS; i++) {
        double until = MPI_Wtime() + (i % 3) * 20e-6;

        while (mp_rank == 0 && MPI_Wtime() < until)
            ;
        if (i % 10 == 0) {
            update(win, 1);
        } else {
            long one = 1;

            MUST(MPI_Accumulate(&one, 1, MPI_LONG, 0, at(&part->max), 1, MPI_LONG, MPI_SUM, win));
            /* packets: it has holes */
            if (i % 10 == 1)
                MUST(MPI_Accumulate(ones, LONGS / 2, MPI_LONG, 0, at(part->many), 1, some, MPI_SUM,
                                    win));
            if (i % 10 == 2)
                MUST(MPI_Accumulate(ones, LONGS / 2, MPI_LONG, 0, at(part->many + 1), 1, some,
                                    MPI_SUM, win));
        }
        if (i % 4 == 0)
            MUST(MPI_Win_flush(0, win));
    }
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        CHECK_EQ(part->max, (long)TURNS * 9 / 10 * mp_size);
        for (int i = 0; i < LONGS; i++)
            part->many[i] -= (long)TURNS / 10 * mp_size;
        look(win, (long)TURNS / 10 * mp_size, 1);
    }
    MUST(MPI_Type_free(&some));
}

int main(int argc, char **argv)
{
    MPI_Win win;

    mp_start(&argc, &argv);
    part = malloc(sizeof(*part));
    for (int i = 0; i < LONGS; i++) {
        ones[i] = 1;
        steps[i] = 1 + i % 97;
    }
    MUST(MPI_Win_create(part, sizeof(*part), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    computing(win);
    together(win);
    MUST(MPI_Win_free(&win));
    free(part);
    return mp_finish();
}
