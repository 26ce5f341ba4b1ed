/* test: np=1,2,4 timeout=60 */
/*
 * A reduction by the program's function on a derived type: type and operation are freed while a
 * nonblocking or a persistent collective is under way, and the function still gets a handle that
 * names the type.
 */
#include "mp_test.h"

#define N 5

static MPI_Datatype expected;
static int n_calls;

static void add_pairs(void *in, void *inout, int *len, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    int size, n_ints, n_addresses, n_types, combiner;
    const int *a = in;
    int *b = inout;

    n_calls++;
    CHECK_EQ(*type, expected);
    MUST(MPI_Type_size(*type, &size));
    CHECK_EQ(size, 2 * sizeof(int));
    MUST(MPI_Type_get_extent(*type, &lb, &extent));
    CHECK_EQ(extent, 3 * sizeof(int));
    MUST(MPI_Type_get_envelope(*type, &n_ints, &n_addresses, &n_types, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_RESIZED);
    for (int i = 0; i < *len; i++) {
        b[3 * i] += a[3 * i];
        b[3 * i + 1] += a[3 * i + 1];
    }
}

static MPI_Datatype pairs(void)
{
    MPI_Datatype two, type;

    MUST(MPI_Type_contiguous(2, MPI_INT, &two));
    MUST(MPI_Type_create_resized(two, 0, 3 * sizeof(int), &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_free(&two));
    expected = type;
    return type;
}

static void fill(int *send, int *recv)
{
    for (int i = 0; i < 3 * N; i++) {
        send[i] = i % 3 == 2 ? -1 : mp_rank + i;
        recv[i] = -5;
    }
}

static void check(const int *recv)
{
    for (int i = 0; i < 3 * N; i++)
        CHECK_EQ(recv[i], i % 3 == 2 ? -5 : mp_size * (mp_size - 1) / 2 + mp_size * i);
}

static void nonblocking(int commutes)
{
    int send[3 * N], recv[3 * N];
    MPI_Datatype type = pairs();
    MPI_Op op;
    MPI_Request req;

    fill(send, recv);
    MUST(MPI_Op_create(add_pairs, commutes, &op));
    MUST(MPI_Iallreduce(send, recv, N, type, op, MPI_COMM_WORLD, &req));
    MUST(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    MUST(MPI_Op_free(&op));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    check(recv);
}

static void persistent(void)
{
    int send[3 * N], recv[3 * N];
    MPI_Datatype type = pairs();
    MPI_Op op;
    MPI_Request req;

    MUST(MPI_Op_create(add_pairs, 1, &op));
    MUST(MPI_Allreduce_init(send, recv, N, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &req));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Op_free(&op));
    for (int i = 0; i < 3; i++) {
        fill(send, recv);
        MUST(MPI_Start(&req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        check(recv);
    }
    MUST(MPI_Request_free(&req));
}

/* When the operation is over the handle is no type any more. */
static void over(void)
{
    int size;

    if (!mp_is_library("MPICH")) /* tells only some of them apart */
        FAILS(MPI_Type_size(expected, &size), MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    nonblocking(0);
    over();
    nonblocking(1);
    over();
    persistent();
    over();
    /* somewhere */
    MUST(MPI_Allreduce(MPI_IN_PLACE, &n_calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(mp_size == 1 || n_calls > 0);
    return mp_finish();
}
