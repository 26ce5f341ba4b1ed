/* test: np=1,2 timeout=90 */
/*
 * MPI_Alloc_mem: very many blocks of all lengths at a time with few descriptors, each its own; what is freed is used
 * again; what is not of MPI_Alloc_mem, or was freed, is an error; too much is one, and the job goes on.
 */
#include <stdint.h>
#include <sys/resource.h>

#include "mp_test.h"

enum { N_SHORT = 100000, N_LONG = 1500, N_WINS = 300, N_DESCRIPTORS = 256 };

static char *blocks[N_SHORT];

static MPI_Aint len_of(int i)
{
    static const MPI_Aint lens[] = {0, 1, 8, 63, 64, 65, 200, 512, 1000, 2048};

    return i % 1000 == 999 ? 5000 + i : lens[i % 10];
}

static void mark(char *block, MPI_Aint len, int i)
{
    for (MPI_Aint k = 0; k < len; k += 50)
        block[k] = (char)(i + k);
}

static int is_marked(const char *block, MPI_Aint len, int i)
{
    for (MPI_Aint k = 0; k < len; k += 50)
        if (block[k] != (char)(i + k))
            return 0;
    return 1;
}

static void take(int i)
{
    MUST(MPI_Alloc_mem(len_of(i), MPI_INFO_NULL, &blocks[i]));
    CHECK((uintptr_t)blocks[i] % 64 == 0);
    mark(blocks[i], len_of(i), i);
}

static void short_ones(void)
{
    for (int i = 0; i < N_SHORT; i++)
        take(i);
    for (int round = 0; round < 3; round++) {
        for (int i = round; i < N_SHORT; i += 3) {
            CHECK(is_marked(blocks[i], len_of(i), i));
            MUST(MPI_Free_mem(blocks[i]));
        }
        for (int i = round; i < N_SHORT; i += 3)
            take(i);
    }
    for (int i = N_SHORT - 1; i >= 0; i--) {
        CHECK(is_marked(blocks[i], len_of(i), i));
        MUST(MPI_Free_mem(blocks[i]));
    }
}

static void long_ones(void)
{
    for (int i = 0; i < N_LONG; i++) {
        MUST(MPI_Alloc_mem(300000 + i * 100, MPI_INFO_NULL, &blocks[i]));
        blocks[i][0] = (char)i;
        blocks[i][299999] = (char)(i + 1);
    }
    for (int i = 0; i < N_LONG; i++) {
        int k = i * 7 % N_LONG;

        CHECK(blocks[k][0] == (char)k && blocks[k][299999] == (char)(k + 1));
        MUST(MPI_Free_mem(blocks[k]));
    }
}

/* A long block is freed once, and what a window gets of its room is zero. */
static void again(MPI_Aint len)
{
    char *a, *b;
    MPI_Win win;

    for (int i = 0; i < 3; i++) {
        MUST(MPI_Alloc_mem(len, MPI_INFO_NULL, &a));
        memset(a, 0x55, (size_t)len);
        MUST(MPI_Alloc_mem(len / 2, MPI_INFO_NULL, &b));
        memset(b, 0x66, (size_t)len / 2);
        CHECK(a[0] == 0x55 && a[len - 1] == 0x55);
        MUST(MPI_Free_mem(i % 2 == 0 ? a : b));
        FAILS(MPI_Free_mem(i % 2 == 0 ? a : b), MPI_ERR_BASE);
        MUST(MPI_Free_mem(i % 2 == 0 ? b : a));
        MUST(MPI_Win_allocate(len / 2, 1, MPI_INFO_NULL, MPI_COMM_SELF, &b, &win));
        for (MPI_Aint k = 0; k < len / 2; k += 1024)
            CHECK_EQ(b[k], 0);
        memset(b, 0x77, (size_t)len / 2);
        MUST(MPI_Win_free(&win));
    }
}

/* Several long blocks given back and taken again, of different lengths, have their pages still. */
static void in_turn(void)
{
    enum { N_BLOCKS = 4, N_ROUNDS = 10 };
    static const size_t lens[N_BLOCKS] = {2 << 20, 100 << 10, 1 << 20, 4 << 20};
    struct rusage start = {0}, end;
    char *block[N_BLOCKS];

    for (int round = 0; round < N_ROUNDS; round++) {
        if (round == 1)
            CHECK_EQ(getrusage(RUSAGE_SELF, &start), 0);
        for (int i = 0; i < N_BLOCKS; i++) {
            MUST(MPI_Alloc_mem((MPI_Aint)lens[i], MPI_INFO_NULL, &block[i]));
            memset(block[i], round, lens[i]);
        }
        for (int i = 0; i < N_BLOCKS; i++)
            MUST(MPI_Free_mem(block[i]));
    }
    CHECK_EQ(getrusage(RUSAGE_SELF, &end), 0);
    CHECK(end.ru_minflt - start.ru_minflt < 1000); /* fewer than of the blocks taken once */
}

/* A window's memory that is given back and taken again stays mapped by the neighbour, too. */
static void window_again(void)
{
    enum { LEN = 2 << 20, N_ROUNDS = 10 };
    static char data[LEN];
    int right = (mp_rank + 1) % mp_size;
    struct rusage start = {0}, end;
    MPI_Win win;
    char *base;

    for (int round = 0; round < N_ROUNDS; round++) {
        if (round == 1)
            CHECK_EQ(getrusage(RUSAGE_SELF, &start), 0);
        memset(data, round + 1, LEN);
        MUST(MPI_Alloc_mem(LEN, MPI_INFO_NULL, &base));
        MUST(MPI_Win_create(base, LEN, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        MUST(MPI_Win_fence(0, win));
        MUST(MPI_Put(data, LEN, MPI_CHAR, right, 0, LEN, MPI_CHAR, win));
        MUST(MPI_Win_fence(0, win));
        CHECK(base[0] == round + 1 && base[LEN - 1] == round + 1);
        MUST(MPI_Win_free(&win));
        MUST(MPI_Free_mem(base));
    }
    CHECK_EQ(getrusage(RUSAGE_SELF, &end), 0);
    CHECK(end.ru_minflt - start.ru_minflt < 2000);
}

static void windows(void)
{
    int right = (mp_rank + 1) % mp_size, left = (mp_rank + mp_size - 1) % mp_size;
    MPI_Win wins[N_WINS];
    int *base[N_WINS];

    for (int i = 0; i < N_WINS; i++) {
        MUST(MPI_Win_allocate(64 + i, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base[i], &wins[i]));
        CHECK_EQ(base[i][0], 0);
        MUST(MPI_Win_fence(0, wins[i]));
        MUST(MPI_Put(&(int){1000 * mp_rank + i}, 1, MPI_INT, right, 0, 1, MPI_INT, wins[i]));
        MUST(MPI_Win_fence(0, wins[i]));
    }
    for (int i = 0; i < N_WINS; i++)
        CHECK_EQ(base[i][0], 1000 * left + i);
    for (int i = 0; i < N_WINS; i++)
        MUST(MPI_Win_free(&wins[i]));
}

static void wrong_ones(void)
{
    int here;
    char *a, *b;
    MPI_Win win;
    void *base;

    MUST(MPI_Alloc_mem(100, MPI_INFO_NULL, &a));
    MUST(MPI_Alloc_mem(10000, MPI_INFO_NULL, &b));
    MUST(MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win));
    FAILS(MPI_Free_mem(&here), MPI_ERR_BASE);
    FAILS(MPI_Free_mem(a + 64), MPI_ERR_BASE);
    FAILS(MPI_Free_mem(b + 1), MPI_ERR_BASE);
    FAILS(MPI_Free_mem(b + 4096), MPI_ERR_BASE);
    FAILS(MPI_Free_mem(base), MPI_ERR_BASE);
    MUST(MPI_Free_mem(a));
    FAILS(MPI_Free_mem(a), MPI_ERR_BASE);
    MUST(MPI_Free_mem(b));
    FAILS(MPI_Free_mem(b), MPI_ERR_BASE);
    MUST(MPI_Win_free(&win));
    FAILS(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &a), MPI_ERR_NO_MEM);
    FAILS(MPI_Alloc_mem(PTRDIFF_MAX, MPI_INFO_NULL, &a), MPI_ERR_NO_MEM);
    MUST(MPI_Alloc_mem(100, MPI_INFO_NULL, &a));
    MUST(MPI_Free_mem(a));
}

static void aligned_ones(void)
{
    MPI_Info info;
    char *a[20];

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
    for (int i = 0; i < 20; i++) {
        MUST(MPI_Alloc_mem(1 + i * 100, info, &a[i]));
        CHECK((uintptr_t)a[i] % 4096 == 0);
    }
    for (int i = 0; i < 20; i++)
        MUST(MPI_Free_mem(a[i]));
    MUST(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    struct rlimit few = {N_DESCRIPTORS, N_DESCRIPTORS};

    mp_start(&argc, &argv);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    short_ones();
    long_ones();
    for (int mib = 1; mib <= 64; mib *= 4)
        again((MPI_Aint)mib << 20);
    in_turn();
    window_again();
    windows();
    wrong_ones();
    aligned_ones();
    return mp_finish();
}
