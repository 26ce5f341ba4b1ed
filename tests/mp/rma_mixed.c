/* test: np=1,2,3,4 timeout=120 */
/*
 * Atomicity whatever way an update takes: all ranks add at random to the same elements of
 * windows of every kind, by every call there is, in several types; nothing is lost, and the
 * old values that come back are what can have been there.
 */
#include <stddef.h>
#include <stdint.h>

#include "mp_test.h"

#define CELLS 6
#define STEPS 600

/* One part of every window. Some parts of the shared one lie at odd addresses. */
struct part {
    long l[CELLS];
    double d[CELLS];
    int i[CELLS];
    short s[CELLS];
    long double w[CELLS];
};

enum { T_LONG, T_DOUBLE, T_INT, T_SHORT, T_WIDE, N_TYPES };

static const MPI_Datatype types[] = {MPI_LONG, MPI_DOUBLE, MPI_INT, MPI_SHORT, MPI_LONG_DOUBLE};
static const MPI_Aint place[] = {offsetof(struct part, l), offsetof(struct part, d),
                                 offsetof(struct part, i), offsetof(struct part, s),
                                 offsetof(struct part, w)};
static const int size_of[] = {sizeof(long), sizeof(double), sizeof(int), sizeof(short),
                              sizeof(long double)};

union value {
    long l;
    double d;
    int i;
    short s;
    long double w;
};

static uint64_t seed;

static unsigned int rnd(unsigned int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned int)(seed >> 33) % n;
}

static void make(union value *v, int t, long x)
{
    memset(v, 0, sizeof(*v));
    switch (t) {
    case T_LONG:
        v->l = x;
        break;
    case T_DOUBLE:
        v->d = (double)x;
        break;
    case T_INT:
        v->i = (int)x;
        break;
    case T_SHORT:
        v->s = (short)x;
        break;
    default:
        v->w = x;
    }
}

static long number(int t, const void *at)
{
    union value v;

    memcpy(&v, at, (size_t)size_of[t]);
    switch (t) {
    case T_LONG:
        return v.l;
    case T_DOUBLE:
        return (long)v.d;
    case T_INT:
        return v.i;
    case T_SHORT:
        return v.s;
    default:
        return (long)v.w;
    }
}

/* Add one by comparing and swapping. */
static void swap_loop(MPI_Win win, int target, MPI_Aint disp, int t)
{
    union value old, want;

    MUST(MPI_Fetch_and_op(NULL, &old, types[t], target, disp, MPI_NO_OP, win));
    MUST(MPI_Win_flush(target, win));
    do {
        union value next;

        make(&next, t, number(t, &old) + 1);
        want = old;
        MUST(MPI_Compare_and_swap(&next, &want, &old, types[t], target, disp, win));
        MUST(MPI_Win_flush(target, win));
    } while (number(t, &old) != number(t, &want) && mp_failures == 0);
}

/* Add x to a cell in one of the ways there are. */
static void add(MPI_Win win, int target, MPI_Aint disp, int t, long x, long least)
{
    union value v, old;
    MPI_Request req;

    make(&v, t, x);
    make(&old, t, -1);
    switch (rnd(6)) {
    case 0:
        MUST(MPI_Accumulate(&v, 1, types[t], target, disp, 1, types[t], MPI_SUM, win));
        MUST(MPI_Win_flush_local(target, win));
        break;
    case 1:
        MUST(MPI_Raccumulate(&v, 1, types[t], target, disp, 1, types[t], MPI_SUM, win, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        break;
    case 2:
        MUST(MPI_Get_accumulate(&v, 1, types[t], &old, 1, types[t], target, disp, 1, types[t],
                                MPI_SUM, win));
        MUST(MPI_Win_flush(target, win));
        CHECK(number(t, &old) >= least);
        break;
    case 3:
        MUST(MPI_Rget_accumulate(&v, 1, types[t], &old, 1, types[t], target, disp, 1, types[t],
                                 MPI_SUM, win, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK(number(t, &old) >= least);
        break;
    case 4:
        MUST(MPI_Fetch_and_op(&v, &old, types[t], target, disp, MPI_SUM, win));
        MUST(MPI_Win_flush_local(target, win));
        CHECK(number(t, &old) >= least);
        break;
    default:
        if (t == T_DOUBLE || t == T_WIDE) {
            MUST(MPI_Fetch_and_op(&v, &old, types[t], target, disp, MPI_SUM, win));
            MUST(MPI_Win_flush(target, win));
            break;
        }
        for (long k = 0; k < x; k++)
            swap_loop(win, target, disp, t);
    }
}

/* Add 1 to every second cell of a type, with derived types. */
static void add_row(MPI_Win win, int target, MPI_Aint disp, int t)
{
    char ones[CELLS / 2][sizeof(union value)], old[CELLS][sizeof(union value)];
    MPI_Datatype every2, packed;
    union value one;

    make(&one, t, 1);
    for (int i = 0; i < CELLS / 2; i++)
        memcpy((char *)ones + i * size_of[t], &one, (size_t)size_of[t]);
    MPI_Type_vector(CELLS / 2, 1, 2, types[t], &every2);
    MPI_Type_commit(&every2);
    MPI_Type_contiguous(CELLS / 2, types[t], &packed);
    MPI_Type_commit(&packed);
    if (rnd(2)) {
        MUST(MPI_Accumulate(ones, 1, packed, target, disp, 1, every2, MPI_SUM, win));
        MUST(MPI_Win_flush_local(target, win));
    } else {
        MUST(MPI_Get_accumulate(ones, CELLS / 2, types[t], old, 1, every2, target, disp, 1, every2,
                                MPI_SUM, win));
        MUST(MPI_Win_flush(target, win));
    }
    MPI_Type_free(&every2);
    MPI_Type_free(&packed);
}

/* All ranks, also the owner, on one element as fast as they can. */
static void hammer(MPI_Comm comm, MPI_Win win, char *mem, const MPI_Aint *base, int n)
{
    long one = 1, old = 0, first = 0, cell;
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    memset(mem, 0, sizeof(struct part));
    MPI_Barrier(comm);
    MUST(MPI_Win_lock_all(0, win));
    for (int i = 0; i < n && mp_failures == 0; i++) {
        if (i % 2)
            MUST(MPI_Accumulate(&one, 1, MPI_LONG, 0, base[0], 1, MPI_LONG, MPI_SUM, win));
        else
            MUST(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, base[0], MPI_SUM, win));
        if (i % 64 == 0) {
            MUST(MPI_Win_flush(0, win));
            CHECK(old >= first + (i > 0 ? 64 : 0));
            first = old;
        }
    }
    MUST(MPI_Win_unlock_all(win));
    MPI_Barrier(comm);
    memcpy(&cell, mem, sizeof(cell));
    if (rank == 0)
        CHECK_EQ(cell, (long)n * size);
    MPI_Barrier(comm);
}

/* base: where the target's part begins, in displacements of the window. */
static void storm(MPI_Comm comm, MPI_Win win, char *mem, const MPI_Aint *base, int n_hammer)
{
    static long mine[64][N_TYPES][CELLS], total[64][N_TYPES][CELLS];
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    memset(mine, 0, sizeof(mine));
    memset(mem, 0, sizeof(struct part));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    hammer(comm, win, mem, base, n_hammer);
    memset(mem, 0, sizeof(struct part));
    MPI_Barrier(comm);
    MUST(MPI_Win_lock_all(0, win));
    for (int n = 0; n < STEPS && mp_failures == 0; n++) {
        int target = (int)rnd((unsigned int)size), t = (int)rnd(N_TYPES), cell = (int)rnd(CELLS);
        long x = 1 + rnd(3);

        if (rnd(8) == 0) {
            add_row(win, target, base[target] + place[t], t);
            for (int i = 0; i < CELLS; i += 2)
                mine[target][t][i]++;
            continue;
        }
        add(win, target, base[target] + place[t] + cell * size_of[t], t, x, mine[target][t][cell]);
        mine[target][t][cell] += x;
    }
    MUST(MPI_Win_unlock_all(win));
    MPI_Allreduce(mine, total, 64 * N_TYPES * CELLS, MPI_LONG, MPI_SUM, comm);
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    for (int t = 0; t < N_TYPES; t++) {
        for (int i = 0; i < CELLS; i++)
            CHECK_EQ(number(t, mem + place[t] + i * size_of[t]), total[rank][t][i]);
    }
    MUST(MPI_Win_unlock(rank, win));
    MUST(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    static MPI_Aint zero[64], at[64];
    static struct part own;
    MPI_Aint len = sizeof(struct part);
    MPI_Comm host;
    MPI_Aint here;
    MPI_Win win;
    char *mem;

    mp_start(&argc, &argv);
    seed = 77 + (uint64_t)mp_rank;
    MUST(MPI_Win_create(&own, len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    storm(MPI_COMM_WORLD, win, (char *)&own, zero, 1000);
    MUST(MPI_Win_allocate(len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    storm(MPI_COMM_WORLD, win, mem, zero, 50000);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MUST(MPI_Win_allocate_shared(len, 1, MPI_INFO_NULL, host, &mem, &win));
    storm(host, win, mem, zero, 50000);
    if (!mp_is_library("MPICH")) { /* that one is not atomic there */
        MUST(MPI_Win_allocate_shared(len + 2, 1, MPI_INFO_NULL, host, &mem, &win));
        storm(host, win, mem, zero, 1000);
    }
    MPI_Comm_free(&host);
    MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MUST(MPI_Win_attach(win, &own, len));
    MPI_Get_address(&own, &here);
    MPI_Allgather(&here, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    storm(MPI_COMM_WORLD, win, (char *)&own, at, 1000);
    return mp_finish();
}
