/* test: np=1,2,3,4,7 timeout=60 cfg=COLL=|reduce=halving;allreduce=halving;reduce_scatter=pairwise|allreduce=tree;reduce_scatter=ordered|reduce=binomial;allreduce=doubling;reduce_scatter=allreduce */
/*
 * Collectives that compute: against the product of all operands in the order of the
 * ranks, with an operation that is not commutative, on a type with holes; predefined
 * operations; equal bits.
 */
#include "mp_test.h"

#include <stdint.h>

/* x -> a x + b: composition does not commute. */
struct map {
    uint32_t a, b;
};

static MPI_Op compose;
static MPI_Op add_maps;   /* commutative: adds both parts */
static MPI_Datatype pair; /* two unsigned at words 3 and 1 of an extent of 4 words, lower bound 1 */

#define WORDS 4
#define A     3
#define B     1

static void compose_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
    uint32_t *x = in;
    uint32_t *y = inout;

    CHECK(*type == pair);
    for (int i = 0; i < *len; i++, x += WORDS, y += WORDS) {
        y[B] = x[A] * y[B] + x[B];
        y[A] = x[A] * y[A];
    }
}

static void add_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
    uint32_t *x = in;
    uint32_t *y = inout;

    CHECK(*type == pair);
    for (int i = 0; i < *len; i++, x += WORDS, y += WORDS) {
        y[A] += x[A];
        y[B] += x[B];
    }
}

static struct map operand(int rank, size_t i)
{
    return (struct map){2 * (uint32_t)(rank * 131 + (int)i) + 3, (uint32_t)i * 7 + (uint32_t)rank};
}

/* Operands of ranks [0, n) combined. */
static struct map product(MPI_Op op, int n, size_t i)
{
    struct map p = operand(0, i);

    for (int r = 1; r < n; r++) {
        struct map q = operand(r, i);

        if (op == compose) {
            p.b = p.a * q.b + p.b;
            p.a = p.a * q.a;
        } else {
            p.a += q.a;
            p.b += q.b;
        }
    }
    return p;
}

#define HOLE 0xdeadbeefu

static uint32_t *operands(size_t n, size_t first, int is_set)
{
    uint32_t *v = malloc((n + 1) * WORDS * sizeof(*v));

    for (size_t i = 0; i < (n + 1) * WORDS; i++)
        v[i] = HOLE;
    for (size_t i = 0; i < n && is_set; i++) {
        v[i * WORDS + A] = operand(mp_rank, first + i).a;
        v[i * WORDS + B] = operand(mp_rank, first + i).b;
    }
    return v;
}

static void check_product(MPI_Op op, const uint32_t *v, size_t n, size_t first, int n_ranks)
{
    for (size_t i = 0; i < n; i++) {
        struct map p = product(op, n_ranks, first + i);

        CHECK_EQ(v[i * WORDS + A], p.a);
        CHECK_EQ(v[i * WORDS + B], p.b);
        CHECK_EQ(v[i * WORDS], HOLE);
        CHECK_EQ(v[i * WORDS + 2], HOLE);
    }
}

static void user_op(MPI_Op op, size_t n, int in_place)
{
    int count = (int)n;
    int step = n > 2000 && mp_size > 2 ? mp_size - 1 : 1;
    uint32_t *out;
    uint32_t *in = operands(n, 0, 1);
    /* MPICH 4.0.2 reads from the address MPI_IN_PLACE with a lower bound that is not 0. */
    int is_mpich = mp_is_library("MPICH");

    for (int root = 0; root < mp_size; root += step) {
        int here = in_place && mp_rank == root && !is_mpich;

        out = operands(n, 0, here);
        MUST(MPI_Reduce(here ? MPI_IN_PLACE : in, mp_rank == root || is_mpich ? out : NULL, count,
                        pair, op, root, MPI_COMM_WORLD));
        if (mp_rank == root)
            check_product(op, out, n, 0, mp_size);
        free(out);
    }
    out = operands(n, 0, in_place);
    MUST(MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, count, pair, op, MPI_COMM_WORLD));
    check_product(op, out, n, 0, mp_size);
    free(out);
    out = operands(n, 0, in_place);
    MUST(MPI_Scan(in_place ? MPI_IN_PLACE : in, out, count, pair, op, MPI_COMM_WORLD));
    check_product(op, out, n, 0, mp_rank + 1);
    free(out);
    out = operands(n, 0, in_place);
    MUST(MPI_Exscan(in_place ? MPI_IN_PLACE : in, out, count, pair, op, MPI_COMM_WORLD));
    if (mp_rank > 0)
        check_product(op, out, n, 0, mp_rank);
    free(out);
    check_product(op, in, 0, 0, mp_size);
    free(in);
}

static void user_scatter(MPI_Op op, size_t n, int in_place)
{
    int *counts = malloc((size_t)mp_size * sizeof(int));
    size_t total = 0;
    size_t at = 0;
    uint32_t *in, *out;

    for (int i = 0; i < mp_size; i++) {
        counts[i] = i % 3 == 1 ? 0 : (int)n + i;
        at = i == mp_rank ? total : at;
        total += (size_t)counts[i];
    }
    in = operands(total, 0, 1);
    out = in_place ? operands(total, 0, 1) : operands((size_t)counts[mp_rank], 0, 0);
    MUST(MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in, out, counts, pair, op, MPI_COMM_WORLD));
    check_product(op, out, (size_t)counts[mp_rank], at, mp_size);
    free(in);
    free(out);

    total = n * (size_t)mp_size;
    in = operands(total, 0, 1);
    out = in_place ? operands(total, 0, 1) : operands(n, 0, 0);
    MUST(MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : in, out, (int)n, pair, op,
                                  MPI_COMM_WORLD));
    check_product(op, out, n, n * (size_t)mp_rank, mp_size);
    free(in);
    free(out);
    free(counts);
}

static void predefined(void)
{
    struct {
        double v;
        int i;
    } loc = {(double)((mp_rank * 5) % mp_size / 2), mp_rank}, best;
    int mine[3] = {mp_rank + 1, -mp_rank, 1 << mp_rank % 31};
    int sum[3], low[3], bits[3];
    double want = 1e9;
    int where = -1;

    MUST(MPI_Allreduce(mine, sum, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum[0], mp_size * (mp_size + 1) / 2);
    CHECK_EQ(sum[1], -mp_size * (mp_size - 1) / 2);
    MUST(MPI_Allreduce(mine, low, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    CHECK_EQ(low[1], 1 - mp_size);
    MUST(MPI_Allreduce(mine, bits, 3, MPI_INT, MPI_BXOR, MPI_COMM_WORLD));
    for (int r = 0; r < mp_size; r++)
        bits[2] ^= 1 << r % 31;
    CHECK_EQ(bits[2], 0);
    for (int r = mp_size - 1; r >= 0; r--) {
        double v = (double)((r * 5) % mp_size / 2);

        if (v <= want) {
            want = v;
            where = r;
        }
    }
    MUST(MPI_Allreduce(&loc, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
    CHECK(best.v == want);
    CHECK_EQ(best.i, where);
    /* an operation that does not fit the type is an error in every rank, before anything is sent */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Allreduce(mine, sum, 3, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Sums of doubles have the same bits everywhere, and every time. */
static void same_bits(size_t n)
{
    double *in = malloc(n * sizeof(*in));
    double *out = malloc(2 * n * sizeof(*out));
    double *theirs = malloc(n * sizeof(*theirs));

    for (size_t i = 0; i < n; i++)
        in[i] = 1.0 / (double)(1 + mp_rank * 37 + (int)i % 101);
    for (int i = 0; i < 2; i++)
        MUST(MPI_Allreduce(in, out + (size_t)i * n, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(memcmp(out, out + n, n * sizeof(*out)) == 0);
    memcpy(theirs, out, n * sizeof(*out));
    MUST(MPI_Bcast(theirs, (int)n, MPI_DOUBLE, mp_size - 1, MPI_COMM_WORLD));
    CHECK(memcmp(out, theirs, n * sizeof(*out)) == 0);
    free(in);
    free(out);
    free(theirs);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 511, 513, 1025, 2049, 9001, 70001};
    int lens[2] = {1, 1};
    int displs[2] = {A, B};
    MPI_Datatype t;

    mp_start(&argc, &argv);
    MPI_Type_indexed(2, lens, displs, MPI_UNSIGNED, &t);
    MPI_Type_create_resized(t, sizeof(unsigned), WORDS * sizeof(unsigned), &pair);
    MPI_Type_free(&t);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose_fn, 0, &compose);
    MPI_Op_create(add_fn, 1, &add_maps);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            user_op(compose, sizes[i], in_place);
            user_op(add_maps, sizes[i], in_place);
            if (sizes[i] < 10000) {
                /* MPICH 4.0.2 writes past a buffer of its own with gaps in the type. */
                if (!mp_is_library("MPICH"))
                    user_scatter(compose, sizes[i], in_place);
                user_scatter(add_maps, sizes[i], in_place);
            }
        }
        same_bits(sizes[i]);
    }
    predefined();
    MPI_Op_free(&compose);
    MPI_Op_free(&add_maps);
    MPI_Type_free(&pair);
    return mp_finish();
}
