/* test: np=1,2,3,4 cfg=RMA=auto|emulated,RMA_UPDATE=auto|yes timeout=60 */
/*
 * MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap: what comes back and what
 * stays, for all operations and derived types on all three sides; MPI_NO_OP without an
 * origin, MPI_PROC_NULL, zero counts, large counts; wrong arguments.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "mp_test.h"

#define N 5000

static long *mem;
static int right;

static void fill(long value)
{
    for (int i = 0; i < N; i++)
        mem[i] = value + i;
}

/* Between the calls of one phase nobody else touches the part of the right neighbour. */
static void all_ops(MPI_Win win)
{
    static const struct {
        MPI_Op op;
        long value, want;
    } cases[] = {
        {MPI_SUM, 3, 9},  {MPI_PROD, 3, 18}, {MPI_MAX, 9, 9},   {MPI_MIN, 9, 6},
        {MPI_BAND, 3, 2}, {MPI_BOR, 3, 7},   {MPI_BXOR, 3, 5},  {MPI_LAND, 0, 0},
        {MPI_LOR, 0, 1},  {MPI_LXOR, 1, 0},  {MPI_NO_OP, 3, 6}, {MPI_REPLACE, 3, 3},
    };
    int n = (int)(sizeof(cases) / sizeof(cases[0]));

    for (int i = 0; i < 2 * n; i++)
        mem[i] = 6;
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < n; i++) {
        long v = cases[i].value, old = -1, old2 = -1;

        MUST(MPI_Get_accumulate(&v, 1, MPI_LONG, &old, 1, MPI_LONG, right, i, 1, MPI_LONG,
                                cases[i].op, win));
        MUST(MPI_Fetch_and_op(&v, &old2, MPI_LONG, right, n + i, cases[i].op, win));
        MUST(MPI_Win_fence(0, win));
        CHECK_EQ(old, 6);
        CHECK_EQ(old2, 6);
    }
    for (int i = 0; i < 2 * n; i++)
        CHECK_EQ(mem[i], cases[i % n].want);
    MUST(MPI_Win_fence(0, win));
}

static void large(MPI_Win win)
{
    static long add[N], old[N];

    fill(1000);
    for (int i = 0; i < N; i++) {
        add[i] = 2 * i;
        old[i] = -1;
    }
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get_accumulate(add, N, MPI_LONG, old, N, MPI_LONG, right, 0, N, MPI_LONG, MPI_SUM,
                            win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++) {
        CHECK_EQ(old[i], 1000 + i);
        CHECK_EQ(mem[i], 1000 + 3 * i);
    }
    memset(old, 0, sizeof(old));
    MUST(MPI_Win_fence(0, win));
    /* an atomic get: nothing about the origin counts */
    MUST(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, old, N, MPI_LONG, right, 0, N, MPI_LONG,
                            MPI_NO_OP, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++)
        CHECK_EQ(old[i], 1000 + 3 * i);
}

/* Origin every 2nd, result every 3rd, target every 5th, in blocks of two. */
static void derived(MPI_Win win)
{
    enum { M = 400 };
    static long src[2 * M], old[3 * M];
    MPI_Datatype o, r, t;

    MPI_Type_vector(M, 1, 2, MPI_LONG, &o);
    MPI_Type_vector(M, 1, 3, MPI_LONG, &r);
    MPI_Type_vector(M / 2, 2, 10, MPI_LONG, &t);
    MPI_Type_commit(&o);
    MPI_Type_commit(&r);
    MPI_Type_commit(&t);
    fill(0);
    for (int i = 0; i < 2 * M; i++)
        src[i] = i;
    for (int i = 0; i < 3 * M; i++)
        old[i] = -7;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get_accumulate(src, 1, o, old, 1, r, right, 3, 1, t, MPI_SUM, win));
    /* types may go before the operation is over */
    MPI_Type_free(&o);
    MPI_Type_free(&r);
    MPI_Type_free(&t);
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < M; i++) {
        int at = 3 + i / 2 * 10 + i % 2;

        CHECK_EQ(old[3 * i], at);
        CHECK_EQ(mem[at], at + 2 * i);
        if (i < M - 1)
            CHECK_EQ(old[3 * i + 1], -7);
    }
    CHECK_EQ(mem[5], 5);
    MUST(MPI_Win_fence(0, win));
}

/* Types that no machine updates at once, and ones with holes. */
static void wide_types(void)
{
    struct pair {
        double value;
        int place;
    } pairs[4], mine = {-1.5, 7}, old = {0, 0};
    long double wide[4], one = 1.25L, was = 0;
    MPI_Win pw, ww;

    for (int i = 0; i < 4; i++) {
        pairs[i].value = i;
        pairs[i].place = -1;
        wide[i] = 10 * i;
    }
    MUST(
        MPI_Win_create(pairs, sizeof(pairs), sizeof(pairs[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &pw));
    MUST(MPI_Win_create(wide, sizeof(wide), sizeof(wide[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &ww));
    MUST(MPI_Win_fence(0, pw));
    MUST(MPI_Win_fence(0, ww));
    MUST(MPI_Fetch_and_op(&mine, &old, MPI_DOUBLE_INT, right, 2, MPI_MINLOC, pw));
    MUST(MPI_Get_accumulate(&one, 1, MPI_LONG_DOUBLE, &was, 1, MPI_LONG_DOUBLE, right, 3, 1,
                            MPI_LONG_DOUBLE, MPI_SUM, ww));
    MUST(MPI_Win_fence(0, pw));
    MUST(MPI_Win_fence(0, ww));
    CHECK(fabs(old.value - 2) < 1e-9);
    CHECK_EQ(old.place, -1);
    CHECK(fabs(pairs[2].value + 1.5) < 1e-9);
    CHECK_EQ(pairs[2].place, 7);
    CHECK(fabsl(was - 30) < 1e-9L);
    CHECK(fabsl(wide[3] - 31.25L) < 1e-9L);
    MUST(MPI_Win_free(&pw));
    MUST(MPI_Win_free(&ww));
}

/* A structure of several types can be replaced and read, nothing else. */
static void structures(void)
{
    struct mix {
        int i;
        double d;
        char c[3];
    } part[3], mine = {mp_rank + 1, 0.5, "ab"}, old;
    int len[] = {1, 1, 3}, source = (mp_rank + mp_size - 1) % mp_size;
    MPI_Aint at[] = {offsetof(struct mix, i), offsetof(struct mix, d), offsetof(struct mix, c)};
    MPI_Datatype of[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, packed, type;
    MPI_Win win;

    memset(part, 0x55, sizeof(part));
    memset(&old, 0, sizeof(old));
    part[1].i = 70 + mp_rank;
    MPI_Type_create_struct(3, len, at, of, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct mix), &type);
    MPI_Type_commit(&type);
    MUST(MPI_Win_create(part, sizeof(part), sizeof(part[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get_accumulate(&mine, 1, type, &old, 1, type, right, 1, 1, type, MPI_REPLACE, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(old.i, 70 + right);
    CHECK_EQ(old.c[2], 0x55);
    CHECK_EQ(part[1].i, source + 1);
    CHECK(fabs(part[1].d - 0.5) < 1e-9);
    CHECK(strcmp(part[1].c, "ab") == 0);
    CHECK_EQ(((char *)&part[1])[4], 0x55); /* a hole */
    MUST(MPI_Get_accumulate(NULL, 0, type, &old, 1, type, right, 1, 1, type, MPI_NO_OP, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(old.i, mp_rank + 1);
    FAILS(MPI_Get_accumulate(&mine, 1, type, &old, 1, type, right, 1, 1, type, MPI_SUM, win),
          MPI_ERR_TYPE);
    MUST(MPI_Win_free(&win));
    MPI_Type_free(&packed);
    MPI_Type_free(&type);
}

#define SWAP(T, MT)                                                                                \
    do {                                                                                           \
        T *at = (T *)(void *)mem, new = (T)3, wrong = (T)9, same = (T)5, old = (T)0, old2 = (T)0;  \
        MPI_Win_fence(0, win);                                                                     \
        at[0] = (T)5;                                                                              \
        MPI_Win_fence(0, win);                                                                     \
        MUST(MPI_Compare_and_swap(&new, &wrong, &old, MT, right, 0, win));                         \
        MPI_Win_fence(0, win);                                                                     \
        CHECK_EQ(at[0], (T)5);                                                                     \
        CHECK_EQ(old, (T)5);                                                                       \
        MPI_Win_fence(0, win);                                                                     \
        MUST(MPI_Compare_and_swap(&new, &same, &old2, MT, right, 0, win));                         \
        MPI_Win_fence(0, win);                                                                     \
        CHECK_EQ(at[0], (T)3);                                                                     \
        CHECK_EQ(old2, (T)5);                                                                      \
    } while (0)

static void swaps(MPI_Win win)
{
    SWAP(int, MPI_INT);
    SWAP(long, MPI_LONG);
    SWAP(unsigned, MPI_UNSIGNED);
    SWAP(short, MPI_SHORT);
    SWAP(signed char, MPI_SIGNED_CHAR);
    SWAP(unsigned char, MPI_BYTE);
    SWAP(int64_t, MPI_INT64_T);
    SWAP(uint16_t, MPI_UINT16_T);
    SWAP(MPI_Aint, MPI_AINT);
    SWAP(MPI_Offset, MPI_OFFSET);
    SWAP(MPI_Fint, MPI_INTEGER);
    SWAP(MPI_Fint, MPI_LOGICAL);
}

static void nothing(MPI_Win win)
{
    long v = 1, old = 42;

    fill(0);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get_accumulate(&v, 1, MPI_LONG, &old, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG,
                            MPI_SUM, win));
    MUST(MPI_Fetch_and_op(&v, &old, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, win));
    MUST(MPI_Compare_and_swap(&v, &v, &old, MPI_LONG, MPI_PROC_NULL, 0, win));
    MUST(MPI_Get_accumulate(NULL, 0, MPI_LONG, NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG, MPI_SUM,
                            win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(old, 42);
    CHECK_EQ(mem[0], 0);
    MUST(MPI_Get_accumulate_c(&v, 1, MPI_LONG, &old, 1, MPI_LONG, right, 4, 1, MPI_LONG, MPI_SUM,
                              win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(old, 4);
    CHECK_EQ(mem[4], 5);
}

static void misuse(MPI_Win win)
{
    long v[2] = {0};
    double d = 0;
    MPI_Datatype two;

    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    FAILS(MPI_Get_accumulate(v, 1, MPI_LONG, v, 1, MPI_LONG, right, N, 1, MPI_LONG, MPI_SUM, win),
          MPI_ERR_RMA_RANGE);
    FAILS(MPI_Get_accumulate(v, 1, MPI_LONG, v, -1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win),
          MPI_ERR_COUNT);
    FAILS(MPI_Get_accumulate(&d, 1, MPI_DOUBLE, v, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, MPI_BAND,
                             win),
          MPI_ERR_OP);
    FAILS(MPI_Get_accumulate(v, 1, MPI_LONG, v, 1, MPI_LONG, mp_size, 0, 1, MPI_LONG, MPI_SUM, win),
          MPI_ERR_RANK);
    FAILS(MPI_Fetch_and_op(v, v + 1, two, right, 0, MPI_REPLACE, win), MPI_ERR_TYPE);
    FAILS(MPI_Fetch_and_op(v, v + 1, MPI_LONG, right, 0, MPI_OP_NULL, win), MPI_ERR_OP);
    FAILS(MPI_Compare_and_swap(&d, &d, &d, MPI_DOUBLE, right, 0, win), MPI_ERR_TYPE);
    FAILS(MPI_Compare_and_swap(v, v, v, MPI_LONG, right, -1, win), MPI_ERR_DISP);
    FAILS(MPI_Compare_and_swap(v, v, v, MPI_LONG, right, 0, MPI_WIN_NULL), MPI_ERR_WIN);
    FAILS(MPI_Fetch_and_op(v, v, MPI_LONG, right, 0, MPI_SUM, MPI_WIN_NULL), MPI_ERR_WIN);
    MPI_Type_free(&two);
}

static void outside(MPI_Win win)
{
    long v = 0, old = 0;

    FAILS(
        MPI_Get_accumulate(&v, 1, MPI_LONG, &old, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win),
        MPI_ERR_RMA_SYNC);
    FAILS(MPI_Fetch_and_op(&v, &old, MPI_LONG, right, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Compare_and_swap(&v, &v, &old, MPI_LONG, right, 0, win), MPI_ERR_RMA_SYNC);
}

static void run(MPI_Win win)
{
    all_ops(win);
    large(win);
    derived(win);
    swaps(win);
    nothing(win);
    if (!mp_is_library("MPICH"))
        misuse(win); /* that one looks at less */
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    outside(win);
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static long own[N];
    MPI_Win win;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    right = (mp_rank + 1) % mp_size;
    mem = own;
    MUST(MPI_Win_create(mem, N * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    run(win);
    MUST(MPI_Win_allocate(N * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                          &win));
    run(win);
    wide_types();
    if (!mp_is_library("MPICH")) /* that one stops: an assertion in it fails */
        structures();
    return mp_finish();
}
