/*
 * For tests of collectives: int payloads in buffers of several layouts, between
 * which lies a sentinel that must stay.
 */
#ifndef MP_COLL_TEST_H
#define MP_COLL_TEST_H

#include "mp_test.h"

#define SENTINEL  (-77)
#define N_LAYOUTS 3

/* A datatype of n ints at offsets off[] of an extent of ext ints. */
struct layout {
    MPI_Datatype type;
    int n;
    int off[2];
    int ext;
};

static struct layout layouts[N_LAYOUTS];

static void make_layouts(void)
{
    MPI_Datatype t;
    int lens[2] = {1, 1};
    MPI_Aint back[2] = {3 * sizeof(int), 1 * sizeof(int)};

    layouts[0] = (struct layout){.type = MPI_INT, .n = 1, .ext = 1};
    layouts[1] = (struct layout){.n = 2, .off = {0, 2}, .ext = 4};
    MPI_Type_vector(2, 1, 2, MPI_INT, &t);
    MPI_Type_create_resized(t, 0, 4 * sizeof(int), &layouts[1].type);
    MPI_Type_free(&t);
    /* backwards, and the lower bound is not 0 */
    layouts[2] = (struct layout){.n = 2, .off = {3, 1}, .ext = 3};
    MPI_Type_create_hindexed(2, lens, back, MPI_INT, &layouts[2].type);
    for (int i = 1; i < N_LAYOUTS; i++)
        MPI_Type_commit(&layouts[i].type);
}

static void free_layouts(void)
{
    for (int i = 1; i < N_LAYOUTS; i++)
        MPI_Type_free(&layouts[i].type);
}

/* Ints of memory for n payload ints. */
static size_t room(const struct layout *l, size_t n)
{
    return (n / (size_t)l->n + 1) * (size_t)l->ext + 4;
}

static int *new_buf(size_t n_ints)
{
    int *buf = malloc(n_ints * sizeof(int));

    for (size_t i = 0; i < n_ints; i++)
        buf[i] = SENTINEL;
    return buf;
}

static size_t place(const struct layout *l, size_t k)
{
    return k / (size_t)l->n * (size_t)l->ext + (size_t)l->off[k % (size_t)l->n];
}

/* What payload int k of the block that src gives to dst is. */
static int value(int src, int dst, size_t k)
{
    return (int)((unsigned)src * 1000003u + (unsigned)dst * 10007u + (unsigned)k) & 0x7fffffff;
}

/* Elements of the layout that hold n ints. */
static int elems(const struct layout *l, size_t n)
{
    return (int)(n / (size_t)l->n);
}

/* Write or check n payload ints beginning at payload int `first` of the buffer. */
static inline void put_block(int *buf, const struct layout *l, size_t first, size_t n, int src,
                             int dst)
{
    for (size_t k = 0; k < n; k++)
        buf[place(l, first + k)] = value(src, dst, k);
}

/* Checked values become sentinels, so that check_rest can look for other values. */
static inline void check_block(int *buf, const struct layout *l, size_t first, size_t n, int src,
                               int dst)
{
    for (size_t k = 0; k < n; k++) {
        size_t at = place(l, first + k);

        CHECK_EQ(buf[at], value(src, dst, k));
        buf[at] = SENTINEL;
    }
}

static inline void check_rest(const int *buf, size_t n_ints)
{
    for (size_t i = 0; i < n_ints; i++)
        CHECK_EQ(buf[i], SENTINEL);
}

#endif
