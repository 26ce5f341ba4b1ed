/* test: np=1,2,3 cfg=RMA=auto|emulated timeout=60 */
/*
 * Corners of chapter 12: epochs with nobody and without checks, requests on MPI_PROC_NULL, MPI_REPLACE,
 * MPI_NO_OP and MPI_MAXLOC on every predefined type, compare and swap of all that it takes, order of updates
 * and answers, parts without memory, one memory in two windows.
 */
#include <stddef.h>
#include <stdint.h>

#include "mp_test.h"

#define N 8

static int right;

static void nobody(void)
{
    MPI_Group all, none;
    long mem[2] = {0}, v = 7;
    MPI_Win win;
    int flag = 0;

    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 0, NULL, &none);
    MUST(MPI_Win_post(none, 0, win));
    MUST(MPI_Win_start(none, MPI_MODE_NOCHECK, win));
    MUST(MPI_Put(&v, 1, MPI_LONG, MPI_PROC_NULL, 5, 1, MPI_LONG, win));
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_test(win, &flag));
    CHECK_EQ(flag, 1);
    /* everybody, without checks: posts have been called before anybody starts */
    MUST(MPI_Win_post(all, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE, win));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_start(all, MPI_MODE_NOCHECK, win));
    MUST(MPI_Put(&v, 1, MPI_LONG, right, 1, 1, MPI_LONG, win));
    MUST(MPI_Win_complete(win));
    MUST(MPI_Win_wait(win));
    CHECK_EQ(mem[1], 7);
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, win));
    MUST(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    v = mp_rank + 20;
    MUST(MPI_Put(&v, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, mp_rank, 0, win));
    CHECK_EQ(mem[0], (mp_rank + mp_size - 1) % mp_size + 20);
    MUST(MPI_Win_unlock(mp_rank, win));
    MPI_Group_free(&all);
    MPI_Group_free(&none);
    MUST(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

/* A lock without checks leaves nothing behind: the next one, under MPI_Win_lock_all, is given back. */
static void unchecked(void)
{
    long mem = 0, v = 3;
    MPI_Win win;

    MUST(MPI_Win_create(&mem, sizeof(mem), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, right, MPI_MODE_NOCHECK, win));
    MUST(MPI_Put(&v, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    MUST(MPI_Win_unlock(right, win));
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Put(&v, 1, MPI_LONG, right, 0, 1, MPI_LONG, win));
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mp_rank, 0, win));
    CHECK_EQ(mem, 3);
    MUST(MPI_Win_unlock(mp_rank, win));
    MUST(MPI_Win_free(&win));
}

static void requests(void)
{
    long *mem, v[2] = {3, 4}, old[2] = {-1, -1};
    MPI_Request req[4];
    MPI_Status status[4];
    MPI_Win win;
    int flag;

    MUST(MPI_Win_allocate(N * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                          &win));
    for (int i = 0; i < N; i++)
        mem[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Rput(v, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, win, &req[0]));
    MUST(MPI_Rget(old, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, win, &req[1]));
    MUST(MPI_Raccumulate(v, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, MPI_SUM, win, &req[2]));
    MUST(MPI_Rget_accumulate(v, 2, MPI_LONG, old, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG,
                             MPI_SUM, win, &req[3]));
    MUST(MPI_Waitall(4, req, status));
    CHECK_EQ(old[0], -1);
    for (int i = 0; i < 4; i++)
        CHECK(req[i] == MPI_REQUEST_NULL);
    MUST(MPI_Raccumulate(v, 2, MPI_LONG, right, 0, 2, MPI_LONG, MPI_SUM, win, &req[0]));
    MUST(MPI_Rput(v, 0, MPI_LONG, right, 0, 0, MPI_LONG, win, &req[1]));
    MUST(MPI_Waitall(2, req, status));
    /* a copy of what was there is all that the standard asks for: the buffer is free */
    v[0] = v[1] = 100;
    MUST(MPI_Rget_accumulate(NULL, 0, MPI_DATATYPE_NULL, old, 2, MPI_LONG, right, 0, 2, MPI_LONG,
                             MPI_NO_OP, win, &req[0]));
    do
        MUST(MPI_Test(&req[0], &flag, &status[0]));
    while (!flag);
    CHECK_EQ(old[0], 3);
    CHECK_EQ(old[1], 4);
    MUST(MPI_Rput(v, 1, MPI_LONG, right, N - 1, 1, MPI_LONG, win, &req[0]));
    MUST(MPI_Wait(&req[0], &status[0]));
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(mem[N - 1], 100);
    MUST(MPI_Win_free(&win));
}

/* One after another without a flush: later ones see and replace what the earlier ones did. */
static void in_order(void)
{
    static long plain[N];
    MPI_Win win;
    long one = 1, old = -1, v;

    memset(plain, 0, sizeof(plain));
    MUST(MPI_Win_create(plain, sizeof(plain), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    for (long i = 1; i <= 50; i++) {
        v = i;
        MUST(MPI_Accumulate(&v, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_REPLACE, win));
        MUST(MPI_Win_flush_local(right, win));
        v = -1;
        if (i % 5 == 0)
            MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, right, 0, MPI_SUM, win));
        if (i % 10 == 0) {
            MUST(MPI_Win_flush(right, win));
            CHECK_EQ(old, i);
        }
    }
    MUST(MPI_Win_unlock(right, win));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, mp_rank, 0, win));
    CHECK_EQ(plain[0], 51);
    MUST(MPI_Win_unlock(mp_rank, win));
    MUST(MPI_Win_free(&win));
}

/* Bytes that mean something in a value of a type: not the holes of pairs, or of long doubles. */
static size_t meaning(MPI_Datatype type, char *is_value)
{
    char from[64], packed[64], to[64];
    MPI_Aint lb, extent;
    int at = 0, size;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &size);
    memset(from, 1, sizeof(from));
    memset(to, 0, sizeof(to));
    MPI_Pack(from, 1, type, packed, sizeof(packed), &at, MPI_COMM_SELF);
    at = 0;
    MPI_Unpack(packed, size, &at, to, 1, type, MPI_COMM_SELF);
    memcpy(is_value, to, (size_t)extent);
    return (size_t)extent;
}

static void one_type(MPI_Datatype type, const char *name)
{
    _Alignas(16) char mem[128] = {0};
    _Alignas(16) char v[2][64], old[64], is_value[64];
    size_t extent = meaning(type, is_value);
    int bad = mp_failures;
    MPI_Win win;

    MUST(MPI_Win_create(mem, sizeof(mem), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    memset(v[0], 0, sizeof(v[0]));
    memset(v[1], 0, sizeof(v[1]));
    for (size_t i = 0; i < extent; i++) {
        v[0][i] = is_value[i] ? 1 : 0;
        v[1][i] = is_value[i] && i == 0;
    }
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Accumulate(v[0], 1, type, right, 0, 1, type, MPI_REPLACE, win));
    MUST(MPI_Fetch_and_op(v[1], old, type, right, 0, MPI_REPLACE, win));
    MUST(MPI_Win_fence(0, win));
    for (size_t i = 0; i < extent; i++) {
        CHECK(!is_value[i] || old[i] == v[0][i]);
        CHECK_EQ(mem[i], v[1][i]);
    }
    memset(old, 0, sizeof(old));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, old, 1, type, right, 0, 1, type, MPI_NO_OP,
                            win));
    MUST(MPI_Win_fence(0, win));
    for (size_t i = 0; i < extent; i++)
        CHECK(!is_value[i] || old[i] == v[1][i]);
    for (size_t i = extent; i < sizeof(mem); i++)
        CHECK_EQ(mem[i], 0);
    if (mp_failures > bad)
        fprintf(stderr, "the type was %s\n", name);
    MUST(MPI_Win_free(&win));
}

#define TYPE(t)                                                                                    \
    {                                                                                              \
        t, #t                                                                                      \
    }

static void all_types(void)
{
    const struct {
        MPI_Datatype type;
        const char *name;
    } types[] = {
        TYPE(MPI_CHAR),
        TYPE(MPI_SIGNED_CHAR),
        TYPE(MPI_UNSIGNED_CHAR),
        TYPE(MPI_BYTE),
        TYPE(MPI_WCHAR),
        TYPE(MPI_SHORT),
        TYPE(MPI_INT),
        TYPE(MPI_LONG),
        TYPE(MPI_LONG_LONG),
        TYPE(MPI_UNSIGNED),
        TYPE(MPI_UNSIGNED_LONG),
        TYPE(MPI_FLOAT),
        TYPE(MPI_DOUBLE),
        TYPE(MPI_LONG_DOUBLE),
        TYPE(MPI_INT8_T),
        TYPE(MPI_UINT16_T),
        TYPE(MPI_INT32_T),
        TYPE(MPI_UINT64_T),
        TYPE(MPI_C_BOOL),
        TYPE(MPI_C_FLOAT_COMPLEX),
        TYPE(MPI_C_DOUBLE_COMPLEX),
        TYPE(MPI_AINT),
        TYPE(MPI_C_LONG_DOUBLE_COMPLEX),
        TYPE(MPI_OFFSET),
        TYPE(MPI_COUNT),
        TYPE(MPI_FLOAT_INT),
        TYPE(MPI_DOUBLE_INT),
        TYPE(MPI_LONG_INT),
        TYPE(MPI_2INT),
        TYPE(MPI_SHORT_INT),
        TYPE(MPI_LONG_DOUBLE_INT),
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        one_type(types[i].type, types[i].name);
}

#define PAIR(t, mpi_type)                                                                          \
    do {                                                                                           \
        struct {                                                                                   \
            t v;                                                                                   \
            int i;                                                                                 \
        } mem[3], mine, old = {9, 9};                                                              \
        memset(mem, 0, sizeof(mem));                                                               \
        /* a long double has bytes that mean nothing, and travel */                                \
        memset(&mine, 0, sizeof(mine));                                                            \
        mine.v = (t)(mp_rank + 1);                                                                 \
        mine.i = mp_rank;                                                                          \
        MPI_Win win;                                                                               \
        MUST(MPI_Win_create(mem, sizeof(mem), sizeof(mem[0]), MPI_INFO_NULL, MPI_COMM_WORLD,       \
                            &win));                                                                \
        MUST(MPI_Win_fence(0, win));                                                               \
        MUST(MPI_Accumulate(&mine, 1, mpi_type, 0, 1, 1, mpi_type, MPI_MAXLOC, win));              \
        MUST(MPI_Win_fence(0, win));                                                               \
        MUST(MPI_Get_accumulate(&mine, 1, mpi_type, &old, 1, mpi_type, 0, 1, 1, mpi_type,          \
                                MPI_MINLOC, win));                                                 \
        MUST(MPI_Win_fence(0, win));                                                               \
        CHECK(old.v >= 1 && old.v <= mp_size && old.i == (int)old.v - 1);                          \
        CHECK(mp_rank != 0 || (mem[1].v == 1 && mem[1].i == 0));                                   \
        CHECK(mem[0].v == 0 && mem[0].i == 0 && mem[2].v == 0 && mem[2].i == 0);                   \
        MUST(MPI_Win_free(&win));                                                                  \
    } while (0)

static void pairs(void)
{
    PAIR(float, MPI_FLOAT_INT);
    PAIR(double, MPI_DOUBLE_INT);
    PAIR(long, MPI_LONG_INT);
    PAIR(int, MPI_2INT);
    PAIR(short, MPI_SHORT_INT);
    PAIR(long double, MPI_LONG_DOUBLE_INT);
}

#define SWAP(t, mpi_type)                                                                          \
    do {                                                                                           \
        t mem[4] = {0, 1, 0, 0}, no = 0, yes = 1, v = 5, old = 3;                                  \
        MPI_Win win;                                                                               \
        MUST(MPI_Win_create(mem, sizeof(mem), sizeof(t), MPI_INFO_NULL, MPI_COMM_WORLD, &win));    \
        MUST(MPI_Win_fence(0, win));                                                               \
        MUST(MPI_Compare_and_swap(&v, &no, &old, mpi_type, right, 1, win));                        \
        MUST(MPI_Win_fence(0, win));                                                               \
        CHECK_EQ(old, 1);                                                                          \
        CHECK_EQ(mem[1], 1);                                                                       \
        MUST(MPI_Win_fence(0, win));                                                               \
        MUST(MPI_Compare_and_swap(&v, &yes, &old, mpi_type, right, 1, win));                       \
        MUST(MPI_Win_fence(0, win));                                                               \
        CHECK_EQ(old, 1);                                                                          \
        CHECK_EQ(mem[0] + mem[2] + mem[3], 0);                                                     \
        CHECK_EQ(mem[1], 5);                                                                       \
        MUST(MPI_Win_free(&win));                                                                  \
    } while (0)

static void swaps(void)
{
    SWAP(signed char, MPI_SIGNED_CHAR);
    SWAP(unsigned char, MPI_BYTE);
    SWAP(short, MPI_SHORT);
    SWAP(uint16_t, MPI_UINT16_T);
    SWAP(int, MPI_INT);
    SWAP(long, MPI_LONG);
    SWAP(uint64_t, MPI_UINT64_T);
    SWAP(MPI_Aint, MPI_AINT);
    SWAP(MPI_Offset, MPI_OFFSET);
}

/* Every second process has no memory, whatever its base is; and one memory is in two windows. */
static void parts(void)
{
    long mem[N] = {0}, v = mp_rank + 1;
    int has = mp_rank % 2 == 0;
    MPI_Win win, again;

    MUST(MPI_Win_create(has ? mem : NULL, has ? (MPI_Aint)sizeof(mem) : 0, 3, MPI_INFO_NULL,
                        MPI_COMM_WORLD, &win));
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &again));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MUST(MPI_Win_fence(0, win));
    if (right % 2 == 0)
        MUST(MPI_Put(&v, 1, MPI_LONG, right, 8, 1, MPI_LONG, win));
    else
        FAILS(MPI_Put(&v, 1, MPI_LONG, right, 0, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
    MUST(MPI_Put(&v, 0, MPI_LONG, right, 0, 0, MPI_LONG, win));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Win_fence(0, again));
    MUST(MPI_Put(&v, 1, MPI_LONG, right, 0, 1, MPI_LONG, again));
    MUST(MPI_Win_fence(0, again));
    CHECK_EQ(mem[0], (mp_rank + mp_size - 1) % mp_size + 1);
    CHECK_EQ(mem[3], has ? (mp_rank + mp_size - 1) % mp_size + 1 : 0);
    MUST(MPI_Win_free(&win));
    MUST(MPI_Win_free(&again));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    right = (mp_rank + 1) % mp_size;
    nobody();
    unchecked();
    requests();
    in_order();
    all_types();
    pairs();
    swaps();
    parts();
    return mp_finish();
}
