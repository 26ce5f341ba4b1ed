/* test: np=1,2,4 timeout=60 */
/*
 * Dynamic windows: several regions, addresses as displacements, regions that come and go,
 * all transfers, errors of memory that is not attached.
 */
#include "mp_test.h"

#define N 3000

/* Nothing is attached right behind a. */
static struct {
    long a[N], hole[8], b[N];
} mem;
static long *const a = mem.a, *const b = mem.b;
static MPI_Aint at_a[64], at_b[64];

static void exchange(void)
{
    MPI_Aint mine;

    MPI_Get_address(a, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, at_a, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Get_address(b, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, at_b, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void attributes(MPI_Win win)
{
    int flag, *flavor, *unit;
    MPI_Aint *size;
    void *base;

    MUST(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
    MUST(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == MPI_BOTTOM);
    MUST(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == 0);
    MUST(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == 1);
}

static void fences(MPI_Win win, int target, int source)
{
    static long src[N], dst[N];
    MPI_Datatype every3;

    MPI_Type_vector(500, 1, 3, MPI_LONG, &every3);
    MPI_Type_commit(&every3);
    for (int i = 0; i < N; i++)
        src[i] = 10000 * mp_rank + i;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(src, N, MPI_LONG, target, at_a[target], N, MPI_LONG, win));
    MUST(MPI_Put(src, 500, MPI_LONG, target, at_b[target] + 8, 1, every3, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++)
        CHECK_EQ(a[i], 10000 * source + i);
    for (int i = 0; i < 500; i++)
        CHECK_EQ(b[1 + 3 * i], 10000 * source + i);
    CHECK_EQ(b[0], 0);
    MUST(MPI_Get(dst, N, MPI_LONG, target, at_a[target], N, MPI_LONG, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++)
        CHECK_EQ(dst[i], src[i]);
    MUST(MPI_Accumulate(src, 500, MPI_LONG, target, at_b[target] + 8, 1, every3, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < 500; i++)
        CHECK_EQ(b[1 + 3 * i], 2 * (10000 * source + i));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI_Type_free(&every3);
}

static void locks(MPI_Win win)
{
    long one = 1, old = -1, five = 5;
    MPI_Request req;

    a[0] = a[1] = a[2] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < 300; i++) {
        int t = i % mp_size;

        MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, t, at_a[t], MPI_SUM, win));
        MUST(MPI_Accumulate(&one, 1, MPI_LONG, t, at_a[t] + 8, 1, MPI_LONG, MPI_SUM, win));
    }
    MUST(MPI_Win_flush_all(win));
    for (int t = 0; t < mp_size; t++) { /* nothing may be sent anywhere */
        MUST(MPI_Put(&one, 0, MPI_LONG, t, 0, 0, MPI_LONG, win));
        MUST(MPI_Accumulate(&one, 0, MPI_LONG, t, 0, 0, MPI_LONG, MPI_SUM, win));
        MUST(MPI_Get_accumulate(&one, 0, MPI_LONG, &old, 0, MPI_LONG, t, 0, 0, MPI_LONG, MPI_SUM,
                                win));
    }
    MUST(MPI_Win_flush_all(win));
    MUST(MPI_Rget(&old, 1, MPI_LONG, mp_rank, at_a[mp_rank] + 8, 1, MPI_LONG, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK(old >= 300 / mp_size);
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0, n = 0; k < 2; k++, n = 0) {
        for (int i = 0; i < 300; i++)
            n += i % mp_size == mp_rank;
        CHECK_EQ(a[k], n * mp_size);
    }
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    MUST(MPI_Get(&old, 1, MPI_LONG, 0, at_a[0] + 16, 1, MPI_LONG, win));
    MUST(MPI_Win_flush(0, win));
    old += five;
    MUST(MPI_Put(&old, 1, MPI_LONG, 0, at_a[0] + 16, 1, MPI_LONG, win));
    MUST(MPI_Win_unlock(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        CHECK_EQ(a[2], 5 * mp_size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A list that grows by regions attached one after the other, found by their addresses. */
static void coming_and_going(MPI_Win win)
{
    enum { K = 20 };
    int *piece[K], right = (mp_rank + 1) % mp_size;

    for (int i = 0; i < K; i++) {
        MPI_Aint at, to;

        piece[i] = malloc((size_t)(i + 1) * sizeof(int));
        MUST(MPI_Win_attach(win, piece[i], (i + 1) * (MPI_Aint)sizeof(int)));
        MPI_Get_address(piece[i], &at);
        MPI_Sendrecv(&at, 1, MPI_AINT, (mp_rank + mp_size - 1) % mp_size, 0, &to, 1, MPI_AINT,
                     right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        MUST(MPI_Put(&mp_rank, 1, MPI_INT, right, to + i * (MPI_Aint)sizeof(int), 1, MPI_INT, win));
        MUST(MPI_Win_unlock(right, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < K; i++) {
        CHECK_EQ(piece[i][i], (mp_rank + mp_size - 1) % mp_size);
        if (i % 2)
            MUST(MPI_Win_detach(win, piece[i]));
    }
    for (int i = 0; i < K; i += 2)
        MUST(MPI_Win_detach(win, piece[i]));
    for (int i = 0; i < K; i++)
        free(piece[i]);
}

/* Thousands of regions, each beside the next, attached and detached in no order. */
static void many_regions(MPI_Win win)
{
    enum { K = 2000, STEP = 771 };
    static int mem_of[K];
    static const int five[5] = {1, 2, 3, 4, 5};
    int right = (mp_rank + 1) % mp_size;
    MPI_Aint at, to;

    for (int i = 0; i < K; i++)
        MUST(MPI_Win_attach(win, &mem_of[i * STEP % K], sizeof(int)));
    for (int i = 0; i < K; i += 100)
        FAILS(MPI_Win_attach(win, (char *)&mem_of[i] + 2, i % 200 ? 1 : 4), MPI_ERR_RMA_ATTACH);
    MPI_Get_address(mem_of, &at);
    MPI_Sendrecv(&at, 1, MPI_AINT, (mp_rank + mp_size - 1) % mp_size, 0, &to, 1, MPI_AINT, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    for (int i = 0; i < K; i += 5)
        MUST(MPI_Put(five, 5, MPI_INT, right, to + 4 * i, 5, MPI_INT, win));
    MUST(MPI_Win_unlock(right, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < K; i++) {
        CHECK_EQ(mem_of[i], i % 5 + 1);
        if (i * STEP % K % 2)
            MUST(MPI_Win_detach(win, &mem_of[i * STEP % K]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    MUST(MPI_Put(five, 1, MPI_INT, right, to + 40, 1, MPI_INT, win));
    MUST(MPI_Win_flush(right, win));
    MUST(MPI_Put(five, 2, MPI_INT, right, to + 40, 2, MPI_INT, win));
    FAILS(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
    MUST(MPI_Win_unlock(right, win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < K; i += 2)
        MUST(MPI_Win_detach(win, &mem_of[i]));
    FAILS(MPI_Win_detach(win, mem_of), MPI_ERR_RMA_ATTACH);
}

/* No bytes at all overlap nothing, wherever they are. */
static void no_bytes(MPI_Win win)
{
    MUST(MPI_Win_attach(win, b + 5, 0));
    MUST(MPI_Win_detach(win, b));
    MUST(MPI_Win_attach(win, b, sizeof(mem.b)));
    MUST(MPI_Win_detach(win, b + 5));
}

/* What MPICH does not look at. */
static void misuse(MPI_Win win)
{
    int t = mp_size - 1;
    long v = 1, old;
    MPI_Request req;
    MPI_Group all;

    FAILS(MPI_Win_attach(win, a + 5, 8), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, NULL, 8), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, &v, -1), MPI_ERR_SIZE);
    FAILS(MPI_Win_detach(win, a + 5), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_detach(win, &v), MPI_ERR_RMA_ATTACH);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win));
    MUST(MPI_Put(&v, 1, MPI_LONG, t, 64, 1, MPI_LONG, win));
    FAILS(MPI_Win_flush(t, win), MPI_ERR_RMA_RANGE);
    MUST(MPI_Win_flush(t, win)); /* told once */
    MUST(MPI_Accumulate(&v, 1, MPI_LONG, t, at_a[t] + N * 8, 1, MPI_LONG, MPI_SUM, win));
    FAILS(MPI_Win_flush_all(win), MPI_ERR_RMA_RANGE);
    MUST(MPI_Get(&old, 1, MPI_LONG, t, at_a[t] + N * 8 - 4, 1, MPI_LONG, win));
    FAILS(MPI_Win_flush(t, win), MPI_ERR_RMA_RANGE);
    MUST(MPI_Fetch_and_op(&v, &old, MPI_LONG, t, 64, MPI_SUM, win));
    FAILS(MPI_Win_flush_local(t, win), MPI_ERR_RMA_RANGE);
    MUST(MPI_Rget(&old, 1, MPI_LONG, t, 64, 1, MPI_LONG, win, &req));
    FAILS(MPI_Wait(&req, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(&v, 1, MPI_LONG, t, -8, 1, MPI_LONG, win), MPI_ERR_DISP);
    MUST(MPI_Win_unlock(t, win));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win));
    MUST(MPI_Put(&v, 1, MPI_LONG, t, 64, 1, MPI_LONG, win));
    FAILS(MPI_Win_unlock(t, win), MPI_ERR_RMA_RANGE);
    MPI_Barrier(MPI_COMM_WORLD);

    /* one that was refused something still takes part: nobody hangs */
    MUST(MPI_Win_fence(0, win));
    if (mp_rank == 0)
        MUST(MPI_Put(&v, 1, MPI_LONG, t, 64, 1, MPI_LONG, win));
    if (mp_rank == 0)
        FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
    else
        MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MUST(MPI_Win_post(all, 0, win));
    MUST(MPI_Win_start(all, 0, win));
    MUST(MPI_Accumulate(&v, 1, MPI_LONG, t, 64, 1, MPI_LONG, MPI_SUM, win));
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_RANGE);
    MUST(MPI_Win_wait(win));
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    MPI_Win win, other;
    int right, left;
    long v;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    right = (mp_rank + 1) % mp_size;
    left = (mp_rank + mp_size - 1) % mp_size;
    exchange();
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    attributes(win);
    MUST(MPI_Win_attach(win, a, sizeof(mem.a)));
    MUST(MPI_Win_attach(win, b, sizeof(mem.b)));
    MPI_Barrier(MPI_COMM_WORLD);
    fences(win, right, left);
    locks(win);
    coming_and_going(win);
    if (!mp_is_library("MPICH"))
        misuse(win);
    many_regions(win);
    no_bytes(win);
    MUST(MPI_Win_detach(win, b));
    /* the same memory in two windows, and one that is freed with memory in it */
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    MUST(MPI_Win_attach(other, a, sizeof(mem.a)));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, other));
    v = right;
    MUST(MPI_Put(&v, 1, MPI_LONG, right, at_a[right], 1, MPI_LONG, other));
    MUST(MPI_Win_unlock(right, other));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(a[0], mp_rank);
    MUST(MPI_Win_free(&other));
    MUST(MPI_Win_free(&win));
    return mp_finish();
}
