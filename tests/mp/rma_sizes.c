/* test: np=1,2,3,5 timeout=90 */
/*
 * Parts of every size, another at each rank, in windows made in every way and with every
 * displacement unit: each byte is put, combined, got and fetched by the displacement it has, and nothing
 * lands beside it. Debian's MPICH misplaces data of windows at odd addresses, and of allocated
 * ones whose sizes are no multiples of 16.
 */
#include <stdint.h>

#include "mp_test.h"

enum { CREATE, CREATE_ODD, ALLOC_MEM, ALLOCATE, SHARED, SHARED_APART, DYNAMIC, N_WAYS };

static const char *const way_names[] = {
    "create",          "create at an odd address",   "on Alloc_mem", "allocate",
    "allocate_shared", "allocate_shared, noncontig", "dynamic"};
static const int sizes[] = {0,    1,    3,    8,  15,  16,  17,  24,  31,   32,   33,
                            40,   63,   64,   65, 100, 127, 128, 129, 255,  257,  1000,
                            4095, 4096, 4097, 7,  5,   2,   9,   12,  8191, 8193, 65537};
static const int units[] = {1, 2, 3, 4, 5, 8, 12, 16, 64};
#define N_SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))
#define N_UNITS ((int)(sizeof(units) / sizeof(units[0])))
#define MAX     16
#define EDGE    20 /* displacements at both ends of a long part */
#define GUARD   64

/* Of one window; size, unit and the displacement of the first byte of each rank. */
static int way, turn, size_of[MAX], unit_of[MAX];
static MPI_Aint base_of[MAX];
static MPI_Win win;
static unsigned char *mem, *block;

static unsigned char value(int target, long at)
{
    return (unsigned char)(1 + (at * 7 + target * 31 + turn * 13 + at / 256) % 250);
}

static void wrong(const char *what, int target, long at, int got, int want)
{
    if (++mp_failures <= 10)
        fprintf(stderr,
                "%s, turn %d, rank %d: %s: byte %ld of rank %d, which has %d (unit %d): "
                "%d instead of %d\n",
                way_names[way], turn, mp_rank, what, at, target, size_of[target], unit_of[target],
                got, want);
}

static MPI_Aint disp_of(int target, long d)
{
    return way == DYNAMIC ? base_of[target] + d * unit_of[target] : base_of[target] + d;
}

/* Is displacement d of the target one that is tried, and by this rank? */
static int is_mine(int target, long d)
{
    long n = (size_of[target] + unit_of[target] - 1) / unit_of[target];

    return d % mp_size == mp_rank && (d < EDGE || d >= n - EDGE);
}

/* Bytes from displacement d to the next one, or to the end. */
static int bytes_at(int target, long d)
{
    long left = size_of[target] - d * unit_of[target];

    return (int)(left < unit_of[target] ? left : unit_of[target]);
}

static int is_tried(int target, long at)
{
    long n = (size_of[target] + unit_of[target] - 1) / unit_of[target], d = at / unit_of[target];

    return d < EDGE || d >= n - EDGE;
}

/* One call per displacement; how: 0 puts, 1 adds to zeros, 2 replaces. */
static void write_all(int how)
{
    unsigned char buf[64];

    for (int t = 0; t < mp_size; t++) {
        for (long d = 0; d * unit_of[t] < size_of[t]; d++) {
            int n = bytes_at(t, d);

            if (!is_mine(t, d))
                continue;
            for (int i = 0; i < n; i++)
                buf[i] = value(t, d * unit_of[t] + i);
            if (how == 0)
                MUST(MPI_Put(buf, n, MPI_BYTE, t, disp_of(t, d), n, MPI_BYTE, win));
            else
                MUST(MPI_Accumulate(buf, n, MPI_UNSIGNED_CHAR, t, disp_of(t, d), n,
                                    MPI_UNSIGNED_CHAR, how == 1 ? MPI_SUM : MPI_REPLACE, win));
            MUST(MPI_Win_flush_local(t, win));
        }
    }
}

static void clear(void)
{
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mp_rank, 0, win));
    if (size_of[mp_rank] > 0)
        memset(mem, 0, (size_t)size_of[mp_rank]);
    MUST(MPI_Win_unlock(mp_rank, win));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_own(const char *what)
{
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, mp_rank, 0, win));
    for (long i = 0; i < size_of[mp_rank]; i++) {
        int want = is_tried(mp_rank, i) ? value(mp_rank, i) : 0;

        if (mem[i] != want)
            wrong(what, mp_rank, i, mem[i], want);
    }
    MUST(MPI_Win_unlock(mp_rank, win));
    for (int i = 0; block != NULL && i < GUARD; i++) {
        if (block[i] != 0xee)
            wrong("in front of the part", mp_rank, i, block[i], 0xee);
        if (mem[size_of[mp_rank] + i] != 0xee)
            wrong("behind the part", mp_rank, i, mem[size_of[mp_rank] + i], 0xee);
    }
}

/* Every rank gets every part, whole and in single bytes at both ends. */
static void read_all(void)
{
    unsigned char *got = malloc(65537 + 64), one;

    for (int t = 0; t < mp_size; t++) {
        long n = size_of[t], last = (n - 1) / unit_of[t];

        memset(got, 0xdd, (size_t)n + 1);
        MUST(MPI_Get(got, (int)n, MPI_BYTE, t, disp_of(t, 0), (int)n, MPI_BYTE, win));
        MUST(MPI_Win_flush(t, win));
        for (long i = 0; i < n; i++) {
            if (got[i] != (is_tried(t, i) ? value(t, i) : 0))
                wrong("get", t, i, got[i], value(t, i));
        }
        CHECK_EQ(got[n], 0xdd);
        for (long d = 0; n > 0 && d <= last; d += last > 0 ? last : 1) {
            one = 0;
            MUST(MPI_Fetch_and_op(NULL, &one, MPI_BYTE, t, disp_of(t, d), MPI_NO_OP, win));
            MUST(MPI_Win_flush(t, win));
            if (one != value(t, d * unit_of[t]))
                wrong("fetch", t, d * unit_of[t], one, value(t, d * unit_of[t]));
        }
    }
    free(got);
}

static void check_attributes(void)
{
    void *at;
    int found, n = size_of[mp_rank];

    MUST(MPI_Win_get_attr(win, MPI_WIN_SIZE, &at, &found));
    CHECK(found);
    CHECK_EQ(*(MPI_Aint *)at, way == DYNAMIC ? 0 : n);
    MUST(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &at, &found));
    CHECK_EQ(*(int *)at, way == DYNAMIC ? 1 : unit_of[mp_rank]);
    MUST(MPI_Win_get_attr(win, MPI_WIN_BASE, &at, &found));
    if (n > 0)
        CHECK(at == (way == DYNAMIC ? MPI_BOTTOM : (void *)mem));
    if (way != SHARED && way != SHARED_APART)
        return;
    for (int t = 0; t < mp_size; t++) {
        MPI_Aint size = -1;
        int unit = -1;

        MUST(MPI_Win_shared_query(win, t, &size, &unit, &at));
        CHECK_EQ(size, size_of[t]);
        CHECK_EQ(unit, unit_of[t]);
        for (long i = 0; i < size; i++) {
            int got = ((unsigned char *)at)[i], want = is_tried(t, i) ? value(t, i) : 0;

            if (got != want)
                wrong("load", t, i, got, want);
        }
    }
}

static void make(void)
{
    int n = size_of[mp_rank], unit = unit_of[mp_rank];
    MPI_Aint here = 0;
    MPI_Info info;

    block = NULL;
    switch (way) {
    case CREATE:
    case CREATE_ODD:
    case DYNAMIC:
        block = malloc((size_t)n + 2 * GUARD + 16);
        break;
    case ALLOC_MEM:
        MUST(MPI_Alloc_mem(n + 2 * GUARD + 16, MPI_INFO_NULL, &block));
        break;
    case ALLOCATE:
        MUST(MPI_Win_allocate(n, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
        return;
    default:
        MPI_Info_create(&info);
        MPI_Info_set(info, "alloc_shared_noncontig", way == SHARED_APART ? "true" : "false");
        MUST(MPI_Win_allocate_shared(n, unit, info, MPI_COMM_WORLD, &mem, &win));
        MPI_Info_free(&info);
        return;
    }
    memset(block, 0xee, (size_t)n + 2 * GUARD + 16);
    mem = block + GUARD + (way == CREATE_ODD ? 1 + 2 * (turn % 4) : 0);
    if (way != DYNAMIC) {
        MUST(MPI_Win_create(mem, n, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        return;
    }
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_attach(win, mem, n));
    MPI_Get_address(mem, &here);
    MPI_Allgather(&here, 1, MPI_AINT, base_of, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void one_window(void)
{
    static const char *const did[] = {"put", "sum", "replace"};

    memset(base_of, 0, sizeof(base_of));
    make();
    for (int how = 0; how < 3 && mp_failures == 0; how++) {
        clear();
        MUST(MPI_Win_lock_all(0, win));
        write_all(how);
        MUST(MPI_Win_flush_all(win));
        MPI_Barrier(MPI_COMM_WORLD);
        if (how == 0)
            read_all();
        MUST(MPI_Win_unlock_all(win));
        MPI_Barrier(MPI_COMM_WORLD);
        check_own(did[how]);
    }
    if (mp_failures == 0)
        check_attributes();
    MPI_Barrier(MPI_COMM_WORLD);
    if (way == DYNAMIC)
        MUST(MPI_Win_detach(win, mem));
    MUST(MPI_Win_free(&win));
    if (way == ALLOC_MEM)
        MUST(MPI_Free_mem(block));
    else
        free(block);
}

int main(int argc, char **argv)
{
    MPI_Comm host;
    int n_host, failed = 0;

    mp_start(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &n_host);
    MPI_Allreduce(MPI_IN_PLACE, &n_host, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Comm_free(&host);
    for (turn = 0; turn < N_SIZES + N_SIZES / 2 && !failed; turn++) {
        for (way = 0; way < N_WAYS && !failed; way++) {
            if ((way == SHARED || way == SHARED_APART) && n_host < mp_size)
                continue;
            for (int i = 0; i < mp_size; i++) {
                size_of[i] = sizes[(turn + i * (turn < N_SIZES ? 1 : 5)) % N_SIZES];
                /* the same everywhere, then another at each rank */
                unit_of[i] = units[(turn < N_SIZES ? turn : turn + i) % N_UNITS];
            }
            one_window();
            MPI_Allreduce(&mp_failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    return mp_finish();
}
