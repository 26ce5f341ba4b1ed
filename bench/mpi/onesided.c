/*
 * One-sided: rank 0 accesses a window of the last rank, which waits in a barrier meanwhile; or both access each
 * other's by turns, with active targets.
 */
#include "bench.h"

enum { TARGET = 1 };

/* One call and a flush, n times, inside a shared lock. */
#define TIMED(b, n, per_flush, call)                                                               \
    double start = MPI_Wtime();                                                                    \
    if ((b)->rank == 0) {                                                                          \
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, (b)->win);                                        \
        start = MPI_Wtime();                                                                       \
        for (int i = 0; i < (n); i++) {                                                            \
            for (int w = 0; w < (per_flush); w++)                                                  \
                call;                                                                              \
            MPI_Win_flush(TARGET, (b)->win);                                                       \
        }                                                                                          \
        start = MPI_Wtime() - start;                                                               \
        MPI_Win_unlock(TARGET, (b)->win);                                                          \
    }                                                                                              \
    MPI_Barrier((b)->comm);                                                                        \
    return start

static double put(struct bench *b, int n)
{
    int len = (int)b->len;

    TIMED(b, n, 1, MPI_Put(b->sbuf, len, MPI_CHAR, TARGET, 0, len, MPI_CHAR, b->win));
}

static double get(struct bench *b, int n)
{
    int len = (int)b->len;

    TIMED(b, n, 1, MPI_Get(b->rbuf, len, MPI_CHAR, TARGET, 0, len, MPI_CHAR, b->win));
}

static double accumulate(struct bench *b, int n)
{
    int len = (int)(b->len / sizeof(long));

    TIMED(b, n, 1,
          MPI_Accumulate(b->sbuf, len, MPI_LONG, TARGET, 0, len, MPI_LONG, MPI_SUM, b->win));
}

static double get_accumulate(struct bench *b, int n)
{
    int len = (int)(b->len / sizeof(long));

    TIMED(b, n, 1,
          MPI_Get_accumulate(b->sbuf, len, MPI_LONG, b->rbuf, len, MPI_LONG, TARGET, 0, len,
                             MPI_LONG, MPI_SUM, b->win));
}

static double fetch_and_op(struct bench *b, int n)
{
    TIMED(b, n, 1, MPI_Fetch_and_op(b->sbuf, b->rbuf, MPI_LONG, TARGET, 0, MPI_SUM, b->win));
}

static double compare_and_swap(struct bench *b, int n)
{
    TIMED(b, n, 1,
          MPI_Compare_and_swap(b->sbuf, b->sbuf + sizeof(long), b->rbuf, MPI_LONG, TARGET, 0,
                               b->win));
}

static double put_many(struct bench *b, int n)
{
    int len = (int)b->len;

    TIMED(b, n, b->window, MPI_Put(b->sbuf, len, MPI_CHAR, TARGET, 0, len, MPI_CHAR, b->win));
}

static double get_many(struct bench *b, int n)
{
    int len = (int)b->len;

    TIMED(b, n, b->window, MPI_Get(b->rbuf, len, MPI_CHAR, TARGET, 0, len, MPI_CHAR, b->win));
}

static double lock_unlock(struct bench *b, int n)
{
    double start = MPI_Wtime();

    for (int i = 0; b->rank == 0 && i < n; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, b->win);
        MPI_Win_unlock(TARGET, b->win);
    }
    start = MPI_Wtime() - start;
    MPI_Barrier(b->comm);
    return start;
}

/* One call between start and complete, by each rank in turn; the other posts its window and waits. */
static double by_turns(struct bench *b, int n, void (*call)(struct bench *b))
{
    int peer = 1 - b->rank;
    MPI_Group all, group;
    double start;

    MPI_Win_get_group(b->win, &all);
    MPI_Group_incl(all, 1, &peer, &group);
    MPI_Barrier(b->comm);
    start = MPI_Wtime();
    for (int i = 0; i < 2 * n; i++) {
        if (i % 2 == b->rank) {
            MPI_Win_start(group, 0, b->win);
            call(b);
            MPI_Win_complete(b->win);
        } else {
            MPI_Win_post(group, 0, b->win);
            MPI_Win_wait(b->win);
        }
    }
    start = MPI_Wtime() - start;
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return start / 2;
}

static void put_once(struct bench *b)
{
    int len = (int)b->len;

    MPI_Put(b->sbuf, len, MPI_CHAR, 1 - b->rank, 0, len, MPI_CHAR, b->win);
}

static void get_once(struct bench *b)
{
    int len = (int)b->len;

    MPI_Get(b->rbuf, len, MPI_CHAR, 1 - b->rank, 0, len, MPI_CHAR, b->win);
}

static void accumulate_once(struct bench *b)
{
    int len = (int)(b->len / sizeof(long));

    MPI_Accumulate(b->sbuf, len, MPI_LONG, 1 - b->rank, 0, len, MPI_LONG, MPI_SUM, b->win);
}

static double put_active(struct bench *b, int n)
{
    return by_turns(b, n, put_once);
}

static double get_active(struct bench *b, int n)
{
    return by_turns(b, n, get_once);
}

static double accumulate_active(struct bench *b, int n)
{
    return by_turns(b, n, accumulate_once);
}

#define SIZES(least_, most_)                                                                       \
    .group = "onesided", .n_ranks = 2, .least = (least_), .most = (size_t)1 << 30,                 \
    .dflt_most = (most_), .is_onesided = 1
#define WORD                                                                                       \
    .group = "onesided", .n_ranks = 2, .least = sizeof(long), .most = sizeof(long),                \
    .dflt_most = sizeof(long), .is_onesided = 1

const struct test onesided_tests[] = {
    {.name = "put",
     .title = "MPI_Put and a flush",
     .unit = UNIT_US,
     .run = put,
     .per_run = 1,
     SIZES(1, 4 << 20)},
    {.name = "get",
     .title = "MPI_Get and a flush",
     .unit = UNIT_US,
     .run = get,
     .per_run = 1,
     SIZES(1, 4 << 20)},
    {.name = "acc",
     .title = "MPI_Accumulate (sum of longs) and a flush",
     .unit = UNIT_US,
     .run = accumulate,
     .per_run = 1,
     SIZES(sizeof(long), 1 << 20)},
    {.name = "get_acc",
     .title = "MPI_Get_accumulate (sum of longs) and a flush",
     .unit = UNIT_US,
     .run = get_accumulate,
     .per_run = 1,
     SIZES(sizeof(long), 1 << 20)},
    {.name = "fop",
     .title = "MPI_Fetch_and_op (sum of a long) and a flush",
     .unit = UNIT_US,
     .run = fetch_and_op,
     .per_run = 1,
     WORD},
    {.name = "cas",
     .title = "MPI_Compare_and_swap of a long and a flush",
     .unit = UNIT_US,
     .run = compare_and_swap,
     .per_run = 1,
     WORD},
    {.name = "lock",
     .title = "MPI_Win_lock, exclusive, and MPI_Win_unlock",
     .unit = UNIT_US,
     .run = lock_unlock,
     .per_run = 1,
     .group = "onesided",
     .n_ranks = 2,
     .is_onesided = 1},
    {.name = "put_pscw",
     .title = "MPI_Put between start and complete, by turns",
     .unit = UNIT_US,
     .run = put_active,
     .per_run = 1,
     SIZES(1, 1 << 20)},
    {.name = "get_pscw",
     .title = "MPI_Get between start and complete, by turns",
     .unit = UNIT_US,
     .run = get_active,
     .per_run = 1,
     SIZES(1, 1 << 20)},
    {.name = "acc_pscw",
     .title = "MPI_Accumulate (sum of longs) between start and complete, by turns",
     .unit = UNIT_US,
     .run = accumulate_active,
     .per_run = 1,
     SIZES(sizeof(long), 1 << 20)},
    {.name = "put_bw",
     .title = "many MPI_Put to a flush",
     .unit = UNIT_MBS,
     .run = put_many,
     .per_run = 1,
     .is_windowed = 1,
     SIZES(1, 4 << 20)},
    {.name = "get_bw",
     .title = "many MPI_Get to a flush",
     .unit = UNIT_MBS,
     .run = get_many,
     .per_run = 1,
     .is_windowed = 1,
     SIZES(1, 4 << 20)},
    {.name = NULL},
};
