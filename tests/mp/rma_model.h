/*
 * For rma_random.c: what the calls may do to memory. Types and how to combine their elements, and
 * selections of elements with the datatypes that say the same, all from a seeded generator.
 */
#ifndef RMA_MODEL_H
#define RMA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mp_test.h"

/* ---- random numbers ---- */

struct rng {
    uint64_t at;
};

static uint64_t rng_bits(struct rng *r)
{
    uint64_t z = r->at += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int rnd(struct rng *r, int n)
{
    return (int)(rng_bits(r) % (uint64_t)n);
}

/* ---- types ---- */

enum kind_class { SIGNED, UNSIGNED, BITS, LOGIC, REAL, COMPLEX, PAIR };

struct kind {
    MPI_Datatype type;
    int size; /* the extent too */
    enum kind_class class;
    int part;      /* bytes of the first number in a pair, of one number in a complex */
    bool real;     /* a pair's first number is */
    int second;    /* where a pair's index is */
    bool can_swap; /* MPI_Compare_and_swap takes it */
};

struct pair_short {
    short v;
    int i;
};
struct pair_long {
    long v;
    int i;
};
struct pair_float {
    float v;
    int i;
};
struct pair_double {
    double v;
    int i;
};
struct pair_wide {
    long double v;
    int i;
};

#define WHOLE(t, c_type, c)                                                                        \
    {                                                                                              \
        t, sizeof(c_type), c, 0, false, 0, true                                                    \
    }
#define OTHER(t, size, c, part)                                                                    \
    {                                                                                              \
        t, size, c, part, false, 0, false                                                          \
    }
#define PAIRED(t, s, v_type, r)                                                                    \
    {                                                                                              \
        t, sizeof(s), PAIR, sizeof(v_type), r, offsetof(s, i), false                               \
    }

static const struct kind kinds[] = {
    WHOLE(MPI_INT, int, SIGNED),
    WHOLE(MPI_LONG, long, SIGNED),
    WHOLE(MPI_LONG_LONG, long long, SIGNED),
    WHOLE(MPI_SHORT, short, SIGNED),
    WHOLE(MPI_SIGNED_CHAR, signed char, SIGNED),
    WHOLE(MPI_INT8_T, int8_t, SIGNED),
    WHOLE(MPI_INT16_T, int16_t, SIGNED),
    WHOLE(MPI_INT32_T, int32_t, SIGNED),
    WHOLE(MPI_INT64_T, int64_t, SIGNED),
    WHOLE(MPI_AINT, MPI_Aint, SIGNED),
    WHOLE(MPI_OFFSET, MPI_Offset, SIGNED),
    WHOLE(MPI_COUNT, MPI_Count, SIGNED),
    WHOLE(MPI_UNSIGNED, unsigned int, UNSIGNED),
    WHOLE(MPI_UNSIGNED_LONG, unsigned long, UNSIGNED),
    WHOLE(MPI_UNSIGNED_SHORT, unsigned short, UNSIGNED),
    WHOLE(MPI_UNSIGNED_CHAR, unsigned char, UNSIGNED),
    WHOLE(MPI_UINT8_T, uint8_t, UNSIGNED),
    WHOLE(MPI_UINT16_T, uint16_t, UNSIGNED),
    WHOLE(MPI_UINT32_T, uint32_t, UNSIGNED),
    WHOLE(MPI_UINT64_T, uint64_t, UNSIGNED),
    WHOLE(MPI_BYTE, char, BITS),
    WHOLE(MPI_C_BOOL, bool, LOGIC),
    OTHER(MPI_FLOAT, sizeof(float), REAL, 0),
    OTHER(MPI_DOUBLE, sizeof(double), REAL, 0),
    OTHER(MPI_LONG_DOUBLE, sizeof(long double), REAL, 0),
    OTHER(MPI_C_FLOAT_COMPLEX, 2 * sizeof(float), COMPLEX, sizeof(float)),
    OTHER(MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double), COMPLEX, sizeof(double)),
    {MPI_2INT, 2 * sizeof(int), PAIR, sizeof(int), false, sizeof(int), false},
    PAIRED(MPI_SHORT_INT, struct pair_short, short, false),
    PAIRED(MPI_LONG_INT, struct pair_long, long, false),
    PAIRED(MPI_FLOAT_INT, struct pair_float, float, true),
    PAIRED(MPI_DOUBLE_INT, struct pair_double, double, true),
    PAIRED(MPI_LONG_DOUBLE_INT, struct pair_wide, long double, true),
};
#define N_KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* Elements of other classes are never summed on the way: whole numbers that are small stay exact. */
static long double real_get(const char *at, int size)
{
    float f;
    double d;
    long double w;

    if (size == sizeof(f)) {
        memcpy(&f, at, sizeof(f));
        return f;
    }
    if (size == sizeof(d)) {
        memcpy(&d, at, sizeof(d));
        return d;
    }
    memcpy(&w, at, sizeof(w));
    return w;
}

static void real_put(char *at, int size, long double x)
{
    float f = (float)x;
    double d = (double)x;
    long double w = x;

    if (size == sizeof(f))
        memcpy(at, &f, sizeof(f));
    else if (size == sizeof(d))
        memcpy(at, &d, sizeof(d));
    else
        memcpy(at, &w, 10); /* the rest of it is no value */
}

static uint64_t int_get(const char *at, int size, bool is_signed)
{
    uint64_t x = 0;

    for (int i = 0; i < size; i++) /* the lowest byte comes first on what this runs on */
        x |= (uint64_t)(unsigned char)at[i] << (8 * i);
    if (is_signed && size < 8 && (x >> (8 * size - 1)) != 0)
        x |= ~(uint64_t)0 << (8 * size);
    return x;
}

static void int_put(char *at, int size, uint64_t x)
{
    for (int i = 0; i < size; i++)
        at[i] = (char)(x >> (8 * i));
}

/* -1, 0, 1: the order of the numbers (of pairs: of their first ones). */
static int kind_cmp(const struct kind *k, const char *a, const char *b)
{
    int size = k->class == PAIR ? k->part : k->size;

    if (k->class == REAL || k->real) {
        long double x = real_get(a, size), y = real_get(b, size);

        return (x > y) - (x < y);
    }
    if (k->class == SIGNED || k->class == PAIR) {
        int64_t x = (int64_t)int_get(a, size, true), y = (int64_t)int_get(b, size, true);

        return (x > y) - (x < y);
    }
    return (int_get(a, size, false) > int_get(b, size, false)) -
           (int_get(a, size, false) < int_get(b, size, false));
}

/* Holes and padding do not count. */
static bool kind_same(const struct kind *k, const char *a, const char *b)
{
    if (k->class == PAIR)
        return kind_cmp(k, a, b) == 0 && memcmp(a + k->second, b + k->second, sizeof(int)) == 0;
    if (k->class == REAL)
        return real_get(a, k->size) == real_get(b, k->size);
    return memcmp(a, b, (size_t)k->size) == 0;
}

/* One element: inout = in op inout, as MPI_Accumulate does. */
static void kind_combine(const struct kind *k, MPI_Op op, const char *in, char *inout)
{
    bool is_signed = k->class == SIGNED;
    uint64_t a, b;

    if (op == MPI_NO_OP)
        return;
    if (op == MPI_MAXLOC || op == MPI_MINLOC) {
        int order = kind_cmp(k, in, inout) * (op == MPI_MAXLOC ? 1 : -1), i, j;

        memcpy(&i, in + k->second, sizeof(i));
        memcpy(&j, inout + k->second, sizeof(j));
        if (order > 0 || (order == 0 && i < j)) {
            memcpy(inout, in, (size_t)k->part);
            memcpy(inout + k->second, &i, sizeof(i));
        }
        return;
    }
    if (op == MPI_REPLACE || op == MPI_MAX || op == MPI_MIN) {
        if (op == MPI_REPLACE || kind_cmp(k, in, inout) * (op == MPI_MAX ? 1 : -1) > 0)
            memcpy(inout, in, (size_t)k->size);
        return;
    }
    if (k->class == REAL || k->class == COMPLEX) {
        int step = k->class == REAL ? k->size : k->part;

        for (int i = 0; i < k->size; i += step)
            real_put(inout + i, step,
                     op == MPI_SUM ? real_get(in + i, step) + real_get(inout + i, step)
                                   : real_get(in + i, step) * real_get(inout + i, step));
        return;
    }
    a = int_get(in, k->size, is_signed);
    b = int_get(inout, k->size, is_signed);
    b = op == MPI_SUM    ? a + b
        : op == MPI_PROD ? a * b
        : op == MPI_BAND ? (a & b)
        : op == MPI_BOR  ? (a | b)
        : op == MPI_BXOR ? (a ^ b)
        : op == MPI_LAND ? (a != 0 && b != 0)
        : op == MPI_LOR  ? (a != 0 || b != 0)
                         : ((a != 0) != (b != 0));
    int_put(inout, k->size, b);
}

static bool is_mpich; /* whose faults are left out, see rma_random.c */

/* An operation that the type can do. */
static MPI_Op kind_op(const struct kind *k, struct rng *r)
{
    static const MPI_Op ints[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN,  MPI_BAND,
                                  MPI_BOR, MPI_BXOR, MPI_LOR, MPI_LAND, MPI_LXOR};
    static const MPI_Op bits[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
    static const MPI_Op logic[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
    static const MPI_Op reals[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD};

    if (rnd(r, 8) == 0)
        return MPI_REPLACE;
    switch (k->class) {
    case BITS:
        return bits[rnd(r, 3)];
    case LOGIC:
        return logic[rnd(r, 3)];
    case REAL:
        return reals[rnd(r, 4)];
    case COMPLEX:
        return MPI_SUM;
    case PAIR:
        return rnd(r, 2) ? MPI_MAXLOC : MPI_MINLOC;
    case UNSIGNED:
        return ints[is_mpich ? 4 + rnd(r, 6) : rnd(r, 10)];
    default:
        return ints[rnd(r, 10)];
    }
}

/*
 * An element to begin with (op MPI_NO_OP), or one to combine by op: sums of some dozens of them
 * neither overflow nor round, and do not fall.
 */
static void kind_value(const struct kind *k, MPI_Op op, struct rng *r, char *at)
{
    int x = op == MPI_NO_OP  ? rnd(r, 15)
            : op == MPI_PROD ? 1 + rnd(r, 2) % (k->size > 2 ? 2 : 1)
                             : rnd(r, 3);
    memset(at, 0, (size_t)k->size);
    if (k->class == REAL) {
        real_put(at, k->size, x);
    } else if (k->class == COMPLEX) {
        real_put(at, k->part, x);
        real_put(at + k->part, k->part, rnd(r, 3));
    } else if (k->class == PAIR) {
        int i = rnd(r, 100);

        if (k->real)
            real_put(at, k->part, x);
        else
            int_put(at, k->part, (uint64_t)x);
        memcpy(at + k->second, &i, sizeof(i));
    } else if (k->class == LOGIC) {
        at[0] = (char)rnd(r, 2);
    } else if (op == MPI_SUM || op == MPI_PROD || op == MPI_NO_OP) {
        int_put(at, k->size, (uint64_t)x);
    } else {
        int_put(at, k->size, rng_bits(r) >> rnd(r, 64));
    }
}

/* ---- selections of elements ---- */

struct spread {
    int n;
    int first; /* the element whose place is given to the call */
    int *at;   /* the elements in order, counted from the start of the room */
    MPI_Datatype type;
    int count;
    bool is_derived;
};

static void spread_plain(struct spread *s, const struct kind *k)
{
    for (int i = 0; i < s->n; i++)
        s->at[i] = s->first + i;
    s->type = k->type;
    s->count = s->n;
}

static int round_down(int x, int step)
{
    return x - x % step;
}

/* Every stride-th element, as a vector or as elements with a longer extent. */
static void spread_stride(struct spread *s, const struct kind *k, struct rng *r, int room, int step,
                          bool build)
{
    int stride = 1 + rnd(r, room / s->n);
    bool as_vector = rnd(r, 2);

    s->first = round_down(rnd(r, room - (s->n - 1) * stride), step);
    for (int i = 0; i < s->n; i++)
        s->at[i] = s->first + i * stride;
    if (!build)
        return;
    s->is_derived = true;
    s->count = as_vector ? 1 : s->n;
    if (as_vector)
        MUST(MPI_Type_vector(s->n, 1, stride, k->type, &s->type));
    else
        MUST(MPI_Type_create_resized(k->type, 0, (MPI_Aint)stride * k->size, &s->type));
}

/* Any elements in any order, counted from any place: blocks, bytes or a struct. */
static void spread_scatter(struct spread *s, const struct kind *k, struct rng *r, int room,
                           int step, bool build)
{
    int *all = malloc((size_t)room * sizeof(int)), how = rnd(r, 3);
    MPI_Aint at[64];
    int ones[64], place[64];
    MPI_Datatype types[64];

    for (int i = 0; i < room; i++)
        all[i] = i;
    s->first = round_down(rnd(r, room), step);
    for (int i = 0; i < s->n; i++) {
        int j = i + rnd(r, room - i), chosen = all[j];

        all[j] = all[i];
        s->at[i] = chosen;
        place[i] = chosen - s->first;
        at[i] = (MPI_Aint)place[i] * k->size;
        ones[i] = 1;
        types[i] = k->type;
    }
    free(all);
    if (!build)
        return;
    s->is_derived = true;
    s->count = 1;
    if (how == 0)
        MUST(MPI_Type_create_indexed_block(s->n, 1, place, k->type, &s->type));
    else if (how == 1)
        MUST(MPI_Type_create_hindexed(s->n, ones, at, k->type, &s->type));
    else
        MUST(MPI_Type_create_struct(s->n, ones, at, types, &s->type));
}

/*
 * n of `room` elements; `first` is a multiple of step. The choice is the same for all who ask
 * with the same r; who wants the datatype builds it and frees it with spread_free.
 */
static void spread_make(struct spread *s, const struct kind *k, struct rng *r, int n, int room,
                        int step, bool is_plain, bool build)
{
    int how = is_plain || n == 0 ? 0 : rnd(r, 5);

    *s = (struct spread){.n = n, .at = malloc((size_t)(n + 1) * sizeof(int)), .type = k->type};
    if (how == 3 && n <= 64) {
        spread_scatter(s, k, r, room, step, build);
    } else if (how == 2) {
        spread_stride(s, k, r, room, step, build);
    } else {
        s->first = round_down(rnd(r, room - n + 1), step);
        spread_plain(s, k);
        if (how == 1 && build) {
            s->is_derived = true;
            s->count = 1;
            MUST(MPI_Type_contiguous(n, k->type, &s->type));
        }
    }
    if (s->is_derived)
        MUST(MPI_Type_commit(&s->type));
}

static void spread_free(struct spread *s)
{
    if (s->is_derived)
        MUST(MPI_Type_free(&s->type));
    free(s->at);
}

#endif
