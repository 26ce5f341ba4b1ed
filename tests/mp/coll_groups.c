/* test: np=65,97,260 prov=datum-shm timeout=120 */
/*
 * Collectives of more ranks of a host than one works for, or than fit the least slots of their segment: short and long
 * reductions, in order where the operation does not commute, with vectors of different lengths found; blocks for all.
 */
#include "mp_test.h"

#include <stdlib.h>

#define N_ROUNDS 40 /* all slots of a segment, more than once */

/* 2 x 2 matrices modulo 2^32: their product is associative, and does not commute. */
static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    unsigned int *a = in, *b = inout;

    (void)type;
    for (int i = 0; i + 3 < *len; i += 4, a += 4, b += 4) {
        unsigned int c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                             a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};

        for (int k = 0; k < 4; k++)
            b[k] = c[k];
    }
}

static void matrix_of(unsigned int *m, int rank, int round)
{
    m[0] = (unsigned int)(2 * rank + 1);
    m[1] = (unsigned int)(rank + round);
    m[2] = 3;
    m[3] = (unsigned int)(round + 1);
}

static void sums(int n, int round)
{
    int *x = calloc(2 * (size_t)n, sizeof(*x)), *y = x + n;

    for (int i = 0; i < n; i++)
        x[i] = mp_rank + i + round;
    MUST(MPI_Allreduce(x, y, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        CHECK_EQ(y[i], mp_size * (mp_size - 1) / 2 + mp_size * (i + round));
    MUST(MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        CHECK_EQ(x[i], mp_size - 1 + i + round);
    free(x);
}

/* n matrices; what one process would get that multiplies them in the order of ranks. */
static void products(MPI_Op op, int n, int round)
{
    size_t len = 4 * (size_t)n;
    unsigned int *x = malloc(3 * len * sizeof(*x)), *y = x + len, *want = y + len, one[4];
    int four = 4;

    for (int k = 0; k < n; k++) {
        matrix_of(&x[4 * k], mp_rank, round + k);
        matrix_of(&want[4 * k], mp_size - 1, round + k);
        for (int i = mp_size - 2; i >= 0; i--) {
            matrix_of(one, i, round + k);
            multiply(one, &want[4 * k], &four, NULL);
        }
    }
    MUST(MPI_Allreduce(x, y, (int)len, MPI_UNSIGNED, op, MPI_COMM_WORLD));
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(y[i], want[i]);
    free(x);
}

static int block(int from, int to, int i)
{
    return 1000 * from + to + 7 * i;
}

/* n integers from each to each. */
static void blocks(int n)
{
    size_t len = (size_t)n * (size_t)mp_size;
    int *out = malloc(2 * len * sizeof(*out)), *in = out + len;

    for (int to = 0; to < mp_size; to++)
        for (int i = 0; i < n; i++)
            out[to * n + i] = block(mp_rank, to, i);
    MUST(MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD));
    for (int from = 0; from < mp_size; from++)
        for (int i = 0; i < n; i++)
            CHECK_EQ(in[from * n + i], block(from, mp_rank, i));
    MUST(MPI_Alltoall(MPI_IN_PLACE, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD));
    for (int from = 0; from < mp_size; from++)
        for (int i = 0; i < n; i++)
            CHECK_EQ(out[from * n + i], block(from, mp_rank, i));
    free(out);
}

static void from_one(int n, int root)
{
    int *out = malloc((size_t)n * (size_t)(mp_size + 1) * sizeof(*out)), *in = out + n * mp_size;

    for (int i = 0; i < n * mp_size; i++)
        out[i] = block(root, i / n, i % n);
    MUST(MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        CHECK_EQ(in[i], block(root, mp_rank, i));
    free(out);
}

static void reduced_blocks(int n)
{
    int *out = malloc((size_t)n * (size_t)(mp_size + 1) * sizeof(*out)), *in = out + n * mp_size;

    for (int i = 0; i < n * mp_size; i++)
        out[i] = mp_rank + i;
    MUST(MPI_Reduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        CHECK_EQ(in[i], mp_size * (mp_size - 1) / 2 + mp_size * (n * mp_rank + i));
    free(out);
}

/* One rank in the middle of a group has a shorter vector: at least it, and whoever reads its, is told. */
static void uneven(void)
{
    int x[8] = {0}, y[8], n_told, is_told;
    MPI_Comm comm;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MUST(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int i = 0; i < 3; i++) /* its segment is there then */
        MUST(MPI_Barrier(comm));
    is_told = MPI_Allreduce(x, y, mp_rank == 41 ? 7 : 8, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS;
    MUST(MPI_Allreduce(&is_told, &n_told, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(n_told > 0);
    MUST(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    MPI_Op op;

    mp_start(&argc, &argv);
    MUST(MPI_Op_create(multiply, 0, &op));
    for (int round = 0; round < N_ROUNDS; round++) {
        sums(1, round);
        sums(81, round);
        products(op, 1, round);
        products(op, 20, round);
    }
    sums(3000, 0);
    sums(20000, 1);
    products(op, 300, 2);
    for (int n = 0; n < 40; n += 13) {
        blocks(n);
        from_one(n, mp_size - 1);
        reduced_blocks(n);
    }
    uneven();
    MUST(MPI_Op_free(&op));
    return mp_finish();
}
