/* test: np=1,3 timeout=60 */
/*
 * Predefined and user operations through MPI_Allreduce and MPI_Reduce: each against what all
 * ranks' contributions give when combined by hand, in rank order.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 5

static int n_failed;
static int rank, size;

static void check(int cond, const char *what)
{
    if (!cond && n_failed++ < 10)
        printf("rank %d: %s is wrong\n", rank, what);
}

/* What rank r contributes. */
static long value(int r, int i)
{
    return (r * 7 + i * 3) % 5 + (i == 4 ? 0 : 1);
}

static void integers(MPI_Op op, const char *name, long (*combine)(long, long))
{
    int in[N], out[N];
    unsigned char in8[N], out8[N];
    long long in64[N], out64[N];

    for (int i = 0; i < N; i++) {
        in[i] = (int)value(rank, i);
        in8[i] = (unsigned char)in[i];
        in64[i] = in[i];
    }
    MPI_Allreduce(in, out, N, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Allreduce(in8, out8, N, MPI_UNSIGNED_CHAR, op, MPI_COMM_WORLD);
    MPI_Reduce(in64, out64, N, MPI_LONG_LONG, op, size - 1, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        long want = value(0, i);

        for (int r = 1; r < size; r++)
            want = combine(want, value(r, i));
        if (size == 1 && (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)) {
            check(out[i] == in[i], name); /* nothing to combine with */
            continue;
        }
        check(out[i] == want, name);
        check(out8[i] == (unsigned char)want, name);
        check(rank != size - 1 || out64[i] == want, name);
    }
}

#define COMBINE(NAME, EXPR)                                                                        \
    static long NAME(long a, long b)                                                               \
    {                                                                                              \
        return (EXPR);                                                                             \
    }
/* clang-format off */
COMBINE(max, a > b ? a : b)
COMBINE(min, a < b ? a : b)
COMBINE(sum, a + b)
COMBINE(prod, a * b)
COMBINE(land, a && b)
COMBINE(lor, a || b)
COMBINE(lxor, !a != !b)
COMBINE(band, a & b)
COMBINE(bor, a | b)
COMBINE(bxor, a ^ b)
/* clang-format on */

static void pairs(void)
{
    struct {
        double v;
        int i;
    } in[2], out[2];

    memset(in, 0, sizeof(in));
    in[0].v = rank % 2 ? 3 : 1; /* a tie among even ranks and among odd ones */
    in[0].i = 10 + rank;
    in[1].v = -rank;
    in[1].i = rank;
    MPI_Allreduce(in, out, 2, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    check(out[0].v == 1 && out[0].i == 10, "MINLOC of a tie");
    check(out[1].v == 1 - size && out[1].i == size - 1, "MINLOC");
    MPI_Allreduce(in, out, 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    check(out[0].v == (size > 1 ? 3 : 1) && out[0].i == (size > 1 ? 11 : 10), "MAXLOC of a tie");
    check(out[1].v == 0 && out[1].i == 0, "MAXLOC");
}

/* 2x2 matrices: associative, not commutative. */
static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int k = 0; k < *len; k++) {
        const long *a = (const long *)in + 4 * k;
        long *b = (long *)inout + 4 * k;
        long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                     a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};

        memcpy(b, c, sizeof(c));
    }
}

static void user(void)
{
    MPI_Datatype matrix;
    MPI_Op op;
    int commute = -1;
    long in[8], out[8] = {0}, want[8];

    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_commutative(op, &commute);
    check(commute == 0, "commutative");
    for (int r = 0; r < size; r++) {
        long m[8] = {1, r + 1, 0, 1, r + 2, 1, 1, 0};
        long *from = r == 0 ? want : m;

        if (r == rank)
            memcpy(in, m, sizeof(m));
        if (r == 0) {
            memcpy(want, m, sizeof(m));
        } else {
            int len = 2;

            multiply(want, from, &len, &matrix);
            memcpy(want, from, sizeof(want));
        }
    }
    MPI_Allreduce(in, out, 2, matrix, op, MPI_COMM_WORLD);
    check(memcmp(out, want, sizeof(want)) == 0, "a product of matrices");
    MPI_Op_free(&op);
    check(op == MPI_OP_NULL, "a freed operation");
    MPI_Type_free(&matrix);
}

int main(int argc, char **argv)
{
    double in[N], out[N];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    integers(MPI_MAX, "MAX", max);
    integers(MPI_MIN, "MIN", min);
    integers(MPI_SUM, "SUM", sum);
    integers(MPI_PROD, "PROD", prod);
    integers(MPI_LAND, "LAND", land);
    integers(MPI_LOR, "LOR", lor);
    integers(MPI_LXOR, "LXOR", lxor);
    integers(MPI_BAND, "BAND", band);
    integers(MPI_BOR, "BOR", bor);
    integers(MPI_BXOR, "BXOR", bxor);
    for (int i = 0; i < N; i++)
        in[i] = rank + 0.5 * i;
    MPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        check(out[i] == size * (size - 1) / 2 + 0.5 * i * size, "a sum of doubles");
    pairs();
    user();
    MPI_Finalize();
    return n_failed > 0;
}
