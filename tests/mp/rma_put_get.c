/* test: np=1,2,3,4 cfg=RMA=auto|emulated timeout=60 */
/*
 * Put and Get between fences: sizes, displacement units, derived types on both
 * sides, self, MPI_PROC_NULL, zero counts, created and allocated windows.
 */
#include "mp_test.h"

#define N 5000

static void fill(int *a, int n, int seed)
{
    for (int i = 0; i < n; i++)
        a[i] = seed * 1000003 + i;
}

static void check_fill(const int *a, int n, int seed)
{
    int bad = 0;

    for (int i = 0; i < n; i++)
        bad += a[i] != seed * 1000003 + i;
    CHECK_EQ(bad, 0);
}

/* Every rank puts to its right neighbour and gets from its left one, for many lengths. */
static void ring(MPI_Win win, int *mem)
{
    int right = (mp_rank + 1) % mp_size, left = (mp_rank + mp_size - 1) % mp_size;
    static const int lens[] = {0, 1, 2, 3, 16, 17, 255, 1024, N};
    int src[N], dst[N];

    for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
        int n = lens[l];

        fill(src, n, mp_rank + 1);
        memset(mem, 0, N * sizeof(int));
        MUST(MPI_Win_fence(0, win));
        MUST(MPI_Put(src, n, MPI_INT, right, 0, n, MPI_INT, win));
        MUST(MPI_Put(src, n, MPI_INT, MPI_PROC_NULL, 0, n, MPI_INT, win));
        MUST(MPI_Win_fence(0, win));
        check_fill(mem, n, left + 1);
        for (int i = n; i < N; i++)
            CHECK_EQ(mem[i], 0);
        memset(dst, 0, sizeof(dst));
        MUST(MPI_Get(dst, n, MPI_INT, right, 0, n, MPI_INT, win));
        MUST(MPI_Win_fence(0, win));
        check_fill(dst, n, mp_rank + 1);
    }
}

/* A column of a matrix from a row, and back through an indexed type. */
static void derived(MPI_Win win, int *mem)
{
    int right = (mp_rank + 1) % mp_size, left = (mp_rank + mp_size - 1) % mp_size;
    int row[40], back[80];
    int blocks[3] = {10, 0, 30}, places[3] = {30, 5, 45};
    MPI_Datatype column, pieces;

    MPI_Type_vector(40, 1, 50, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_indexed(3, blocks, places, MPI_INT, &pieces);
    MPI_Type_commit(&pieces);
    fill(row, 40, mp_rank + 7);
    memset(mem, 0, N * sizeof(int));
    memset(back, 0, sizeof(back));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(row, 40, MPI_INT, right, 3, 1, column, win));
    MUST(MPI_Win_fence(0, win));
    for (int i = 0; i < 40; i++)
        CHECK_EQ(mem[3 + 50 * i], (left + 7) * 1000003 + i);
    CHECK_EQ(mem[4], 0);
    MUST(MPI_Get(back, 1, pieces, right, 3, 1, column, win));
    MUST(MPI_Win_fence(0, win));
    check_fill(back + 30, 10, mp_rank + 7);
    for (int i = 0; i < 30; i++)
        CHECK_EQ(back[45 + i], (mp_rank + 7) * 1000003 + 10 + i);
    CHECK_EQ(back[29], 0);
    CHECK_EQ(back[40], 0);
    CHECK_EQ(back[75], 0);
    MPI_Type_free(&column);
    MPI_Type_free(&pieces);
}

/* Everybody writes its own slots of everybody, and reads all back. */
static void all_to_all(MPI_Win win, int *mem)
{
    int mine[16], got[16];

    memset(mem, 0, N * sizeof(int));
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int r = 0; r < mp_size; r++) {
        for (int i = 0; i < 16; i++)
            mine[i] = mp_rank * 100 + i;
        MUST(MPI_Put(mine, 16, MPI_INT, r, 16 * mp_rank, 16, MPI_INT, win));
    }
    MUST(MPI_Win_fence(0, win));
    for (int r = 0; r < mp_size; r++) {
        for (int i = 0; i < 16; i++)
            CHECK_EQ(mem[16 * r + i], r * 100 + i);
    }
    for (int r = 0; r < mp_size; r++) {
        MUST(MPI_Get(got, 16, MPI_INT, r, 16 * ((mp_rank + 1) % mp_size), 16, MPI_INT, win));
        MUST(MPI_Win_fence(0, win));
        CHECK_EQ(got[15], (mp_rank + 1) % mp_size * 100 + 15);
    }
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* Large transfers of odd lengths at odd addresses, with a displacement unit of one byte. */
static void large(void)
{
    size_t size = (3 << 20) + 13;
    char *mem, *src = malloc(size);
    MPI_Win win;
    size_t bad = 0;

    MUST(MPI_Win_allocate((MPI_Aint)size + 5, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    for (size_t i = 0; i < size; i++)
        src[i] = (char)(i * 7 + (size_t)mp_rank);
    memset(mem, 0, size + 5);
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(src, (int)size, MPI_CHAR, (mp_rank + 1) % mp_size, 5, (int)size, MPI_CHAR, win));
    MUST(MPI_Win_fence(0, win));
    for (size_t i = 0; i < size; i++)
        bad += mem[5 + i] != (char)(i * 7 + (size_t)((mp_rank + mp_size - 1) % mp_size));
    CHECK_EQ(bad, 0);
    CHECK_EQ(mem[4], 0);
    memset(src, 0, size);
    MUST(MPI_Get(src, (int)size, MPI_CHAR, (mp_rank + 1) % mp_size, 5, (int)size, MPI_CHAR, win));
    MUST(MPI_Win_fence(0, win));
    for (size_t i = 0; i < size; i++)
        bad += src[i] != (char)(i * 7 + (size_t)mp_rank);
    CHECK_EQ(bad, 0);
    MUST(MPI_Win_free(&win));
    free(src);
}

/* Parts of different sizes, one of them empty; different displacement units. */
static void uneven(void)
{
    int n = mp_rank * 10, unit = mp_rank % 2 ? 4 : 8;
    int *mem = malloc((size_t)(n > 0 ? n : 1) * sizeof(int));
    int last = mp_size - 1, value = 4711, got = 0;
    MPI_Win win;

    MUST(MPI_Win_create(n > 0 ? mem : NULL, (MPI_Aint)n * 4, unit, MPI_INFO_NULL, MPI_COMM_WORLD,
                        &win));
    for (int i = 0; i < n; i++)
        mem[i] = -1;
    MUST(MPI_Win_fence(0, win));
    if (mp_rank == 0 && last > 0) {
        int at = 4 / (last % 2 ? 1 : 2);

        MUST(MPI_Put(&value, 1, MPI_INT, last, at, 1, MPI_INT, win));
    }
    MUST(MPI_Win_fence(0, win));
    if (mp_rank == last && last > 0)
        CHECK_EQ(mem[4], value);
    if (last > 0)
        MUST(MPI_Get(&got, 1, MPI_INT, last, 4 / (last % 2 ? 1 : 2), 1, MPI_INT, win));
    MUST(MPI_Win_fence(0, win));
    if (last > 0)
        CHECK_EQ(got, value);
    MUST(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    free(mem);
}

int main(int argc, char **argv)
{
    static int mem[N];
    int *shared;
    MPI_Win created, allocated;

    mp_start(&argc, &argv);
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    MUST(MPI_Win_allocate(sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                          &allocated));
    ring(created, mem);
    ring(allocated, shared);
    derived(created, mem);
    derived(allocated, shared);
    all_to_all(created, mem);
    all_to_all(allocated, shared);
    MUST(MPI_Win_free(&created));
    MUST(MPI_Win_free(&allocated));
    large();
    uneven();
    return mp_finish();
}
