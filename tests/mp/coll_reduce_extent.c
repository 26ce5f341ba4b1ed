/* test: np=1,2,3,5 cfg=COLL_SHM=yes|no timeout=60 */
/*
 * Reductions by an operation of the program of types whose extents are far longer than their data, or negative: the
 * memory that they take is that of the data, and the order of the ranks is kept.
 */
#include "mp_test.h"

enum { REDUCE, ALLREDUCE, SCAN, EXSCAN, BLOCK, N_CALLS };

static int n_applied;

/* Composition of affine maps, which does not commute: (a, b) then (c, d) is (a * c, b * c + d), modulo 2^32. */
static void compose(void *in, void *io, int *len, MPI_Datatype *type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *len; i++) {
        const unsigned *x = (const unsigned *)((char *)in + i * extent);
        unsigned *y = (unsigned *)((char *)io + i * extent);
        unsigned a = x[0] * y[0], b = x[1] * y[0] + y[1];

        y[0] = a;
        y[1] = b;
    }
    n_applied += *len;
}

static void element(int rank, int i, unsigned *x)
{
    x[0] = 2u * (unsigned)(rank * 7 + i) + 1;
    x[1] = (unsigned)(rank + 3 * i);
}

/* Of ranks 0 to last. */
static void expected(int last, int i, unsigned *x)
{
    unsigned y[2];

    element(0, i, x);
    for (int rank = 1; rank <= last; rank++) {
        element(rank, i, y);
        x[1] = x[1] * y[0] + y[1];
        x[0] *= y[0];
    }
}

static unsigned *place(char *buf, int i, MPI_Aint extent)
{
    return (unsigned *)(void *)(buf + i * extent);
}

static void call(int which, char *in, char *out, int count, MPI_Datatype type, MPI_Op op)
{
    switch (which) {
    case REDUCE:
        MUST(MPI_Reduce(in, out, count, type, op, mp_size - 1, MPI_COMM_WORLD));
        break;
    case ALLREDUCE:
        MUST(MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD));
        break;
    case SCAN:
        MUST(MPI_Scan(in, out, count, type, op, MPI_COMM_WORLD));
        break;
    case EXSCAN:
        MUST(MPI_Exscan(in, out, count, type, op, MPI_COMM_WORLD));
        break;
    default:
        MUST(MPI_Reduce_scatter_block(in, out, count, type, op, MPI_COMM_WORLD));
    }
}

static void want(int which, char *out, int count, MPI_Aint extent)
{
    int last = which == SCAN ? mp_rank : which == EXSCAN ? mp_rank - 1 : mp_size - 1;
    int first = which == BLOCK ? mp_rank * count : 0;
    unsigned x[2];

    if (last < 0 || (which == REDUCE && mp_rank != mp_size - 1))
        return;
    for (int i = 0; i < count; i++) {
        expected(last, first + i, x);
        CHECK_EQ(place(out, i, extent)[0], x[0]);
        CHECK_EQ(place(out, i, extent)[1], x[1]);
    }
}

static void reduce(int count, MPI_Aint extent)
{
    int n = count * mp_size;
    size_t len = (size_t)(n - 1) * (size_t)(extent < 0 ? -extent : extent) + 8;
    char *memory[2], *in, *out;
    MPI_Datatype pair, type;
    MPI_Op op;

    MUST(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
    MUST(MPI_Type_create_resized(pair, 0, extent, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Op_create(compose, 0, &op));
    for (int i = 0; i < 2; i++) {
        memory[i] = calloc(1, len);
        CHECK(memory[i] != NULL);
    }
    in = memory[0] + (extent < 0 ? len - 8 : 0);
    out = memory[1] + (extent < 0 ? len - 8 : 0);
    for (int i = 0; i < n; i++)
        element(mp_rank, i, place(in, i, extent));
    for (int which = 0; which < N_CALLS; which++) {
        memset(memory[1], 0, len);
        call(which, in, out, count, type, op);
        want(which, out, count, extent);
        memcpy(memory[1], memory[0], len);
        if (which < BLOCK)
            call(which, which == REDUCE && mp_rank != mp_size - 1 ? out : MPI_IN_PLACE, out, count,
                 type, op);
        else
            call(which, MPI_IN_PLACE, out, count, type, op);
        want(which, out, count, extent);
    }
    for (int i = 0; i < 2; i++)
        free(memory[i]);
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Type_free(&pair));
}

int main(int argc, char **argv)
{
    int one = 1, sum;

    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) /* what only begins to be used after some calls */
        MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    reduce(1, 4 << 20);
    reduce(1, -(4 << 20));
    reduce(2, 1 << 20);
    reduce(300, 4096);
    reduce(300, -4096);
    reduce(5000, 40);
    CHECK(n_applied > 0 || mp_size == 1 || mp_rank == 0);
    return mp_finish();
}
