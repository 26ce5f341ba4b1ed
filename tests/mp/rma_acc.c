/* test: np=1,2,4 cfg=RMA=auto|emulated,RMA_UPDATE=auto|yes timeout=60 */
/*
 * Accumulate: every rank adds to every rank at once and nothing is lost; other
 * operations, large counts, derived targets, order of one origin.
 */
#include "mp_test.h"

#define N 3000

static void all_add(MPI_Win win, long *mem)
{
    long one[N];

    for (int i = 0; i < N; i++)
        one[i] = i + 1;
    for (int i = 0; i < N; i++)
        mem[i] = 5;
    MUST(MPI_Win_fence(0, win));
    for (int r = 0; r < mp_size; r++) {
        MUST(MPI_Accumulate(one, N, MPI_LONG, r, 0, N, MPI_LONG, MPI_SUM, win));
        for (int k = 0; k < 100; k++)
            MUST(MPI_Accumulate(&one[k], 1, MPI_LONG, r, 7, 1, MPI_LONG, MPI_SUM, win));
    }
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < N; i++)
        CHECK_EQ(mem[i], 5 + (long)mp_size * (i + 1 + (i == 7 ? 5050 : 0)));
}

static void operations(MPI_Win win, long *mem)
{
    static const struct {
        MPI_Op op;
        long init, value, want;
    } cases[] = {
        {MPI_MAX, 3, 9, 9},  {MPI_MIN, 3, 9, 3},     {MPI_PROD, 3, 9, 27}, {MPI_BOR, 4, 3, 7},
        {MPI_BAND, 6, 3, 2}, {MPI_BXOR, 6, 3, 5},    {MPI_LAND, 6, 0, 0},  {MPI_LOR, 0, 3, 1},
        {MPI_LXOR, 1, 1, 0}, {MPI_REPLACE, 6, 3, 3},
    };
    int n = (int)(sizeof(cases) / sizeof(cases[0]));
    int left = (mp_rank + mp_size - 1) % mp_size, right = (mp_rank + 1) % mp_size;

    (void)left;
    for (int i = 0; i < n; i++)
        mem[i] = cases[i].init;
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < n; i++) {
        long v = cases[i].value;

        MUST(MPI_Accumulate(&v, 1, MPI_LONG, right, i, 1, MPI_LONG, cases[i].op, win));
        MUST(MPI_Win_fence(0, win));
    }
    for (int i = 0; i < n; i++)
        CHECK_EQ(mem[i], cases[i].want);
    MUST(MPI_Win_fence(0, win));
}

/* Accumulates of one origin to one place happen in order: the last replace wins. */
static void order(MPI_Win win, long *mem)
{
    long v[200];

    mem[mp_rank] = -1;
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < 200; i++) {
        v[i] = i;
        MUST(MPI_Accumulate(&v[i], 1, MPI_LONG, 0, mp_rank, 1, MPI_LONG, MPI_REPLACE, win));
    }
    MUST(MPI_Win_fence(0, win));
    if (mp_rank == 0) {
        for (int r = 0; r < mp_size; r++)
            CHECK_EQ(mem[r], 199);
    }
    MUST(MPI_Win_fence(0, win));
}

/* Strided on both sides, and a pair type with a hole in it. */
static void derived(MPI_Win win, long *mem)
{
    int right = (mp_rank + 1) % mp_size;
    long src[400];
    MPI_Datatype every2, every7;

    MPI_Type_vector(200, 1, 2, MPI_LONG, &every2);
    MPI_Type_vector(200, 1, 7, MPI_LONG, &every7);
    MPI_Type_commit(&every2);
    MPI_Type_commit(&every7);
    for (int i = 0; i < 400; i++)
        src[i] = i;
    for (int i = 0; i < N; i++)
        mem[i] = 1;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Accumulate(src, 1, every2, right, 5, 1, every7, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(mem[5 + 7 * i], 1 + 2 * i);
        CHECK_EQ(mem[6 + 7 * i], 1);
    }
    MPI_Type_free(&every2);
    MPI_Type_free(&every7);
}

static void pairs(void)
{
    struct pair {
        short value;
        int place;
    } mem[10], mine[10];
    MPI_Win win;

    for (int i = 0; i < 10; i++) {
        mem[i].value = -1;
        mem[i].place = -1;
        mine[i].value = (short)(mp_rank * (i % 2 ? 1 : -1) + 100);
        mine[i].place = mp_rank;
    }
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(mem[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Accumulate(mine, 10, MPI_SHORT_INT, 0, 0, 10, MPI_SHORT_INT, MPI_MAXLOC, win));
    MUST(MPI_Win_fence(0, win));
    if (mp_rank == 0) {
        for (int i = 0; i < 10; i++) {
            CHECK_EQ(mem[i].value, i % 2 ? 100 + mp_size - 1 : 100);
            CHECK_EQ(mem[i].place, i % 2 ? mp_size - 1 : 0);
        }
    }
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static long mem[N];
    long *shared;
    MPI_Win created, allocated;

    mp_start(&argc, &argv);
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    MUST(MPI_Win_allocate(sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                          &allocated));
    all_add(created, mem);
    all_add(allocated, shared);
    operations(created, mem);
    operations(allocated, shared);
    order(created, mem);
    derived(created, mem);
    derived(allocated, shared);
    MUST(MPI_Win_free(&created));
    MUST(MPI_Win_free(&allocated));
    pairs();
    return mp_finish();
}
