/* test: np=1,2,3,4 timeout=60 */
/*
 * Shared windows: one piece in rank order or separate ones, sizes of 0, queries, loads and
 * stores seen by the others, all one-sided calls on them, and wrong use.
 */
#include <stdint.h>

#include "mp_test.h"

static MPI_Comm W; /* the processes of this host */

static MPI_Info noncontig(const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", value);
    return info;
}

static void attributes(MPI_Win win, void *base, MPI_Aint size, int unit)
{
    int flag, *model, *flavor, *u;
    void *b;
    MPI_Aint *s;

    MUST(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_SHARED);
    MUST(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    MUST(MPI_Win_get_attr(win, MPI_WIN_BASE, &b, &flag));
    CHECK(flag && b == base);
    MUST(MPI_Win_get_attr(win, MPI_WIN_SIZE, &s, &flag));
    CHECK(flag && *s == size);
    MUST(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &u, &flag));
    CHECK(flag && *u == unit);
}

/* Part r has 8 * (r + 1) longs. */
static void load_store(MPI_Info info, int is_contig)
{
    MPI_Aint size = 64 * (mp_rank + 1), got, total = 0;
    char *end = NULL;
    long *mine;
    MPI_Win win;
    int unit;

    MUST(MPI_Win_allocate_shared(size, 8, info, W, &mine, &win));
    attributes(win, mine, size, 8);
    for (int i = 0; i < 8 * (mp_rank + 1); i++)
        mine[i] = 1000 * mp_rank + i;
    MUST(MPI_Win_fence(0, win));
    for (int r = 0; r < mp_size; r++) {
        long *part;

        MUST(MPI_Win_shared_query(win, r, &got, &unit, &part));
        CHECK_EQ(got, 64 * (r + 1));
        CHECK_EQ(unit, 8);
        if (r == mp_rank)
            CHECK(part == mine);
        if (is_contig && end != NULL)
            CHECK((char *)part == end);
        end = (char *)part + got;
        total += got;
        for (int i = 0; i < 8 * (r + 1); i++)
            CHECK_EQ(part[i], 1000 * r + i);
    }
    CHECK_EQ(total, 32L * mp_size * (mp_size + 1));
    MUST(MPI_Win_fence(0, win));
    for (int r = 0; r < mp_size; r++) {
        long *part;
        MPI_Aint wide_unit;

        MUST(MPI_Win_shared_query_c(win, r, &got, &wide_unit, &part));
        CHECK_EQ(wide_unit, 8);
        part[mp_rank] = -mp_rank;
    }
    MUST(MPI_Win_fence(0, win));
    for (int r = 0; r < mp_size; r++)
        CHECK_EQ(mine[r], -r);
    MUST(MPI_Win_free(&win));
}

/* Only the last rank has memory; then nobody. */
static void zero_sizes(void)
{
    int *mine, *part, unit = 0;
    MPI_Aint got = -1;
    MPI_Win win;

    MUST(MPI_Win_allocate_shared(mp_rank == mp_size - 1 ? 40 : 0, mp_rank + 1, MPI_INFO_NULL, W,
                                 &mine, &win));
    MUST(MPI_Win_shared_query(win, MPI_PROC_NULL, &got, &unit, &part));
    CHECK_EQ(got, 40);
    CHECK_EQ(unit, mp_size);
    MUST(MPI_Win_fence(0, win));
    if (mp_rank == 0)
        part[3] = 77;
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(part[3], 77);
    MUST(MPI_Win_shared_query(win, 0, &got, &unit, &part));
    CHECK_EQ(got, mp_size == 1 ? 40 : 0);
    CHECK_EQ(unit, 1);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, W, &mine, &win));
    MUST(MPI_Win_shared_query(win, MPI_PROC_NULL, &got, &unit, &part));
    CHECK_EQ(got, 0);
    MUST(MPI_Win_free(&win));
}

static void transfers(void)
{
    enum { M = 3000 };
    static long v[M], w[M];
    int right = (mp_rank + 1) % mp_size;
    long *mine, old = -1, one = 1, cmp = 5;
    MPI_Datatype every3;
    MPI_Request req;
    MPI_Win win;

    MPI_Type_vector(100, 1, 3, MPI_LONG, &every3);
    MPI_Type_commit(&every3);
    for (int i = 0; i < M; i++)
        v[i] = 10000 * mp_rank + i;
    MUST(MPI_Win_allocate_shared(M * sizeof(long), sizeof(long), MPI_INFO_NULL, W, &mine, &win));
    memset(mine, 0, M * sizeof(long));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(v, M, MPI_LONG, right, 0, M, MPI_LONG, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < M; i++)
        CHECK_EQ(mine[i], 10000 * ((mp_rank + mp_size - 1) % mp_size) + i);
    MUST(MPI_Get(w, M, MPI_LONG, right, 0, M, MPI_LONG, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < M; i++)
        CHECK_EQ(w[i], v[i]);
    memset(mine, 0, M * sizeof(long));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(v, 100, MPI_LONG, right, 1, 1, every3, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(mine[1 + 3 * 99], 10000 * ((mp_rank + mp_size - 1) % mp_size) + 99);
    CHECK_EQ(mine[2], 0);
    MUST(MPI_Accumulate(v, 100, MPI_LONG, right, 1, 1, every3, MPI_REPLACE, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI_Type_free(&every3);

    memset(mine, 0, M * sizeof(long));
    MPI_Barrier(W);
    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < 500; i++)
        MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, i % mp_size, 3, MPI_SUM, win));
    MUST(MPI_Win_flush_all(win));
    MUST(MPI_Rget_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, right, 4, 1, MPI_LONG, MPI_SUM,
                             win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK_EQ(old, 0);
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(W);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    MUST(MPI_Fetch_and_op(NULL, &old, MPI_LONG, right, 3, MPI_NO_OP, win));
    MUST(MPI_Win_flush(right, win));
    {
        long sum = 0;

        for (int i = 0; i < 500; i++)
            sum += i % mp_size == right;
        CHECK_EQ(old, mp_size * sum);
    }
    MUST(MPI_Compare_and_swap(&cmp, &one, &old, MPI_LONG, right, 4, win));
    MUST(MPI_Win_unlock(right, win));
    CHECK_EQ(old, 1);
    MPI_Barrier(W);
    CHECK_EQ(mine[4], 5);
    MUST(MPI_Win_free(&win));
}

/* A window over a part of the processes, and others at the same time. */
static void several(void)
{
    int *a, *b, *part, unit;
    MPI_Aint size;
    MPI_Comm half;
    MPI_Win wa, wb;

    MPI_Comm_split(W, mp_rank % 2, -mp_rank, &half);
    MUST(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, half, &a, &wa));
    MUST(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_SELF, &b, &wb));
    *a = mp_rank;
    *b = 99;
    MUST(MPI_Win_fence(0, wa));
    MUST(MPI_Win_shared_query(wa, 0, &size, &unit, &part));
    CHECK_EQ(*part, mp_size - 1 - (mp_size - 1 - mp_rank) % 2);
    MUST(MPI_Win_fence(0, wa));
    MUST(MPI_Win_free(&wa));
    CHECK_EQ(*b, 99);
    MUST(MPI_Win_free(&wb));
    MPI_Comm_free(&half);
}

static void misuse(void)
{
    int mem[4], unit;
    MPI_Aint size;
    void *p;
    MPI_Win win;

    FAILS(MPI_Win_allocate_shared(-1, 4, MPI_INFO_NULL, W, &p, &win), MPI_ERR_SIZE);
    FAILS(MPI_Win_allocate_shared(4, 0, MPI_INFO_NULL, W, &p, &win), MPI_ERR_DISP);
    /* four of them are 2**64 bytes; MPICH adds them up as well as it can */
    if (!mp_is_library("MPICH"))
        FAILS(MPI_Win_allocate_shared((MPI_Aint)1 << 62, 1, MPI_INFO_NULL, W, &p, &win),
              MPI_ERR_RMA_SHARED);
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, W, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    FAILS(MPI_Win_shared_query(win, 0, &size, &unit, &p), MPI_ERR_RMA_FLAVOR);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, W, &p, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    FAILS(MPI_Win_shared_query(win, mp_size, &size, &unit, &p), MPI_ERR_RANK);
    FAILS(MPI_Win_shared_query(win, 0, NULL, &unit, &p), MPI_ERR_ARG);
    FAILS(MPI_Win_attach(win, mem, 4), MPI_ERR_RMA_FLAVOR);
    MUST(MPI_Win_free(&win));
    FAILS(MPI_Win_shared_query(win, 0, &size, &unit, &p), MPI_ERR_WIN);
}

/* A window that is not made to be shared: what can be loaded is the memory of that rank. */
static void unshared(int is_allocated)
{
    int mem[4], unit, n_there = 0;
    int *mine = mem, *part;
    MPI_Aint size;
    MPI_Win win;

    if (mp_is_library("MPICH")) /* of MPI-4.0 */
        return;
    if (is_allocated)
        MUST(MPI_Win_allocate(sizeof(mem), 4, MPI_INFO_NULL, W, &mine, &win));
    else
        MUST(MPI_Win_create(mem, sizeof(mem), 4, MPI_INFO_NULL, W, &win));
    MUST(MPI_Win_fence(0, win));
    mine[1] = 100 + mp_rank;
    MUST(MPI_Win_fence(0, win));
    for (int r = 0; r < mp_size; r++) {
        MUST(MPI_Win_shared_query(win, r, &size, &unit, &part));
        CHECK_EQ(size, part != NULL ? (int)sizeof(mem) : 0);
        CHECK_EQ(unit, 4);
        if (r == mp_rank)
            CHECK(part == mine);
        if (part != NULL)
            CHECK_EQ(part[1], 100 + r);
        n_there += part != NULL;
    }
    CHECK(n_there >= 1);
    MUST(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &part));
    CHECK(part != NULL && size == sizeof(mem) && part[1] >= 100 && part[1] <= 100 + mp_rank);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_free(&win));
}

/* All but one host is too many. */
static void whole_host(void)
{
    int n_all = mp_size;
    MPI_Win win;
    void *p;

    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &W));
    MPI_Comm_rank(W, &mp_rank);
    MPI_Comm_size(W, &mp_size);
    if (mp_size < n_all)
        FAILS(MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &p, &win),
              MPI_ERR_RMA_SHARED);
}

int main(int argc, char **argv)
{
    MPI_Info yes, no;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    whole_host();
    yes = noncontig("true");
    no = noncontig("false");
    load_store(MPI_INFO_NULL, 1);
    load_store(yes, 0);
    load_store(no, 1);
    MPI_Info_free(&yes);
    MPI_Info_free(&no);
    zero_sizes();
    transfers();
    several();
    unshared(0);
    unshared(1);
    misuse();
    MPI_Comm_free(&W);
    return mp_finish();
}
