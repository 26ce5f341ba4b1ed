/*
 * A hash table spread over all processes' windows, filled and read without the owners' help:
 * MPI_Compare_and_swap takes a slot, MPI_Put stores the value, MPI_Fetch_and_op says that it is
 * there, MPI_Get reads it. Every process inserts its own keys and some that all insert; then each looks
 * up the keys of its neighbour.
 *
 *   mpiexec -n 4 dht [KEYS PER PROCESS]
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMON 50 /* keys that everybody inserts */

struct slot {
    long key;   /* 0: free */
    long ready; /* 1: the value is there */
    double value;
};

static int rank, size;
static long n_slots; /* of each process */
static MPI_Win win;

static unsigned long hash(long key)
{
    unsigned long x = (unsigned long)key * 0x9e3779b97f4a7c15u;

    return x ^ (x >> 29);
}

static MPI_Aint place(long slot, size_t field)
{
    return (MPI_Aint)((size_t)slot * sizeof(struct slot) + field);
}

/* The i-th slot to try for a key: slots of one process, one behind the other. */
static void probe(long key, long i, int *owner, long *slot)
{
    unsigned long h = hash(key);

    *owner = (int)(h % (unsigned long)size);
    *slot = (long)((h / (unsigned long)size + (unsigned long)i) % (unsigned long)n_slots);
}

/* 1: new, 0: the key was there, -1: no slot is free. */
static int insert(long key, double value)
{
    const long nothing = 0, one = 1;

    for (long i = 0; i < n_slots; i++) {
        long found, slot, old;
        int owner;

        probe(key, i, &owner, &slot);
        MPI_Compare_and_swap(&key, &nothing, &found, MPI_LONG, owner,
                             place(slot, offsetof(struct slot, key)), win);
        MPI_Win_flush(owner, win);
        if (found == key)
            return 0;
        if (found != nothing)
            continue;
        MPI_Put(&value, 1, MPI_DOUBLE, owner, place(slot, offsetof(struct slot, value)), 1,
                MPI_DOUBLE, win);
        MPI_Win_flush(owner, win); /* the value before the word that says so */
        MPI_Fetch_and_op(&one, &old, MPI_LONG, owner, place(slot, offsetof(struct slot, ready)),
                         MPI_REPLACE, win);
        MPI_Win_flush(owner, win);
        return 1;
    }
    return -1;
}

/* 1: found. Waits for a value that another process is about to store. */
static int lookup(long key, double *value)
{
    for (long i = 0; i < n_slots; i++) {
        long found, slot, ready = 0;
        int owner;

        probe(key, i, &owner, &slot);
        MPI_Fetch_and_op(NULL, &found, MPI_LONG, owner, place(slot, offsetof(struct slot, key)),
                         MPI_NO_OP, win);
        MPI_Win_flush(owner, win);
        if (found == 0)
            return 0;
        if (found != key)
            continue;
        while (!ready) {
            MPI_Fetch_and_op(NULL, &ready, MPI_LONG, owner,
                             place(slot, offsetof(struct slot, ready)), MPI_NO_OP, win);
            MPI_Win_flush(owner, win);
        }
        MPI_Get(value, 1, MPI_DOUBLE, owner, place(slot, offsetof(struct slot, value)), 1,
                MPI_DOUBLE, win);
        MPI_Win_flush(owner, win);
        return 1;
    }
    return 0;
}

static double value_of(long key)
{
    return 0.5 * (double)key;
}

/* The number of wrong answers. */
static long check(long n_keys, long n_new)
{
    long bad = 0, all_new, used = 0, all_used, neighbour = (rank + 1) % size;
    double value;
    struct slot *mine;
    int found;

    for (long i = 1; i <= COMMON + n_keys; i++) {
        long key = i <= COMMON ? i : COMMON + neighbour * n_keys + i - COMMON;

        bad += !lookup(key, &value) || value != value_of(key);
    }
    bad += lookup(-1 - rank, &value); /* was never inserted */
    MPI_Win_get_attr(win, MPI_WIN_BASE, &mine, &found);
    MPI_Win_sync(win);
    for (long i = 0; i < n_slots; i++)
        used += mine[i].key != 0 && mine[i].ready == 1;
    MPI_Allreduce(&n_new, &all_new, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&used, &all_used, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    bad += all_new != COMMON + n_keys * size;
    bad += all_used != all_new;
    return bad;
}

int main(int argc, char **argv)
{
    long n_keys, n_new = 0, bad, all_bad;
    struct slot *mine;
    double start;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n_keys = argc > 1 ? atol(argv[1]) : 1000;
    n_slots = 2 * (n_keys + COMMON);
    MPI_Win_allocate((MPI_Aint)((size_t)n_slots * sizeof(*mine)), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &mine, &win);
    memset(mine, 0, (size_t)n_slots * sizeof(*mine));
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (long i = 1; i <= COMMON + n_keys; i++) {
        long key = i <= COMMON ? i : COMMON + rank * n_keys + i - COMMON;
        int is_new = insert(key, value_of(key));

        if (is_new < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        n_new += is_new;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld keys inserted by %d processes in %.3f s\n", COMMON + n_keys * size, size,
               MPI_Wtime() - start);
    bad = check(n_keys, n_new);
    MPI_Allreduce(&bad, &all_bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", all_bad == 0 ? "all found" : "WRONG");
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return all_bad != 0;
}
