/* test: np=1,2 timeout=60 */
/*
 * Wrong arguments to the collective functions. Every rank makes the same mistake, so that nobody
 * waits for the others.
 */
#include "err_args.h"

#define W MPI_COMM_WORLD
#define NEG                                                                                        \
    {                                                                                              \
        -1, -1, -1, -1                                                                             \
    }

static int sbuf[64], rbuf[64];
static const int ones[4] = {1, 1, 1, 1}, negs[4] = NEG, zeros[4];

static MPI_Op freed_op(void)
{
    MPI_Op op, copy;

    MPI_Op_create(add_user, 1, &op);
    copy = op;
    MPI_Op_free(&op);
    return copy;
}

static void comms(MPI_Comm bad)
{
    int *s = sbuf, *r = rbuf;

    BAD(MPI_Barrier(bad), MPI_ERR_COMM);
    BAD(MPI_Bcast(s, 1, MPI_INT, 0, bad), MPI_ERR_COMM);
    BAD(MPI_Reduce(s, r, 1, MPI_INT, MPI_SUM, 0, bad), MPI_ERR_COMM);
    BAD(MPI_Allreduce(s, r, 1, MPI_INT, MPI_SUM, bad), MPI_ERR_COMM);
    BAD(MPI_Gather(s, 1, MPI_INT, r, 1, MPI_INT, 0, bad), MPI_ERR_COMM);
    BAD(MPI_Gatherv(s, 1, MPI_INT, r, ones, zeros, MPI_INT, 0, bad), MPI_ERR_COMM);
    BAD(MPI_Scatter(s, 1, MPI_INT, r, 1, MPI_INT, 0, bad), MPI_ERR_COMM);
    BAD(MPI_Scatterv(s, ones, zeros, MPI_INT, r, 1, MPI_INT, 0, bad), MPI_ERR_COMM);
    BAD(MPI_Allgather(s, 1, MPI_INT, r, 1, MPI_INT, bad), MPI_ERR_COMM);
    BAD(MPI_Allgatherv(s, 1, MPI_INT, r, ones, zeros, MPI_INT, bad), MPI_ERR_COMM);
    BAD(MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, bad), MPI_ERR_COMM);
    BAD(MPI_Alltoallv(s, ones, zeros, MPI_INT, r, ones, zeros, MPI_INT, bad), MPI_ERR_COMM);
    BAD(MPI_Scan(s, r, 1, MPI_INT, MPI_SUM, bad), MPI_ERR_COMM);
    BAD(MPI_Exscan(s, r, 1, MPI_INT, MPI_SUM, bad), MPI_ERR_COMM);
    BAD(MPI_Reduce_scatter(s, r, ones, MPI_INT, MPI_SUM, bad), MPI_ERR_COMM);
    BAD(MPI_Reduce_scatter_block(s, r, 1, MPI_INT, MPI_SUM, bad), MPI_ERR_COMM);
}

static void types(MPI_Datatype bad)
{
    int *s = sbuf, *r = rbuf;

    BAD(MPI_Bcast(s, 1, bad, 0, W), MPI_ERR_TYPE);
    BAD(MPI_Reduce(s, r, 1, bad, MPI_SUM, 0, W), MPI_ERR_TYPE);
    BAD(MPI_Allreduce(s, r, 1, bad, MPI_SUM, W), MPI_ERR_TYPE);
    BAD(MPI_Gather(s, 1, bad, r, 1, MPI_INT, 0, W), MPI_ERR_TYPE);
    BAD(MPI_Gather(s, 1, MPI_INT, r, 1, bad, mp_rank, W), MPI_ERR_TYPE);
    BAD(MPI_Gatherv(s, 1, bad, r, ones, zeros, MPI_INT, 0, W), MPI_ERR_TYPE);
    BAD(MPI_Gatherv(s, 1, MPI_INT, r, ones, zeros, bad, mp_rank, W), MPI_ERR_TYPE);
    BAD(MPI_Scatter(s, 1, bad, r, 1, MPI_INT, mp_rank, W), MPI_ERR_TYPE);
    BAD(MPI_Scatter(s, 1, MPI_INT, r, 1, bad, 0, W), MPI_ERR_TYPE);
    BAD(MPI_Scatterv(s, ones, zeros, bad, r, 1, MPI_INT, mp_rank, W), MPI_ERR_TYPE);
    BAD(MPI_Scatterv(s, ones, zeros, MPI_INT, r, 1, bad, 0, W), MPI_ERR_TYPE);
    BAD(MPI_Allgather(s, 1, bad, r, 1, MPI_INT, W), MPI_ERR_TYPE);
    BAD(MPI_Allgather(s, 1, MPI_INT, r, 1, bad, W), MPI_ERR_TYPE);
    BAD(MPI_Allgatherv(s, 1, MPI_INT, r, ones, zeros, bad, W), MPI_ERR_TYPE);
    BAD(MPI_Alltoall(s, 1, bad, r, 1, MPI_INT, W), MPI_ERR_TYPE);
    BAD(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, r, 1, bad, W), MPI_ERR_TYPE);
    BAD(MPI_Alltoallv(s, ones, zeros, MPI_INT, r, ones, zeros, bad, W), MPI_ERR_TYPE);
    BAD(MPI_Scan(s, r, 1, bad, MPI_SUM, W), MPI_ERR_TYPE);
    BAD(MPI_Exscan(s, r, 1, bad, MPI_SUM, W), MPI_ERR_TYPE);
    BAD(MPI_Reduce_scatter(s, r, ones, bad, MPI_SUM, W), MPI_ERR_TYPE);
    BAD(MPI_Reduce_scatter_block(s, r, 1, bad, MPI_SUM, W), MPI_ERR_TYPE);
}

static void ops(MPI_Op bad)
{
    int *s = sbuf, *r = rbuf;

    BAD(MPI_Reduce(s, r, 1, MPI_INT, bad, 0, W), MPI_ERR_OP);
    BAD(MPI_Allreduce(s, r, 1, MPI_INT, bad, W), MPI_ERR_OP);
    BAD(MPI_Scan(s, r, 1, MPI_INT, bad, W), MPI_ERR_OP);
    BAD(MPI_Exscan(s, r, 1, MPI_INT, bad, W), MPI_ERR_OP);
    BAD(MPI_Reduce_scatter(s, r, ones, MPI_INT, bad, W), MPI_ERR_OP);
    BAD(MPI_Reduce_scatter_block(s, r, 1, MPI_INT, bad, W), MPI_ERR_OP);
}

static void op_type_pairs(void)
{
    static const struct {
        MPI_Op op;
        MPI_Datatype type;
    } pairs[] = {
        {MPI_BAND, MPI_DOUBLE}, {MPI_LXOR, MPI_C_DOUBLE_COMPLEX}, {MPI_MAXLOC, MPI_INT},
        {MPI_SUM, MPI_BYTE},    {MPI_MAX, MPI_C_DOUBLE_COMPLEX},  {MPI_SUM, MPI_2INT},
        {MPI_PROD, MPI_C_BOOL},
    };
    double s[4] = {0}, r[4];

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        BAD(MPI_Allreduce(s, r, 1, pairs[i].type, pairs[i].op, W), MPI_ERR_OP);
        BAD(MPI_Reduce(s, r, 1, pairs[i].type, pairs[i].op, 0, W), MPI_ERR_OP);
        BAD(MPI_Scan(s, r, 1, pairs[i].type, pairs[i].op, W), MPI_ERR_OP);
    }
}

static void counts(void)
{
    int *s = sbuf, *r = rbuf;

    BAD(MPI_Bcast(s, -1, MPI_INT, 0, W), MPI_ERR_COUNT);
    BAD(MPI_Reduce(s, r, -1, MPI_INT, MPI_SUM, 0, W), MPI_ERR_COUNT);
    BAD(MPI_Allreduce(s, r, -1, MPI_INT, MPI_SUM, W), MPI_ERR_COUNT);
    BAD(MPI_Gather(s, -1, MPI_INT, r, 1, MPI_INT, 0, W), MPI_ERR_COUNT);
    BAD(MPI_Gather(s, 1, MPI_INT, r, -1, MPI_INT, mp_rank, W), MPI_ERR_COUNT);
    BAD(MPI_Gatherv(s, 1, MPI_INT, r, negs, zeros, MPI_INT, mp_rank, W), MPI_ERR_COUNT);
    BAD(MPI_Scatter(s, -1, MPI_INT, r, 1, MPI_INT, mp_rank, W), MPI_ERR_COUNT);
    BAD(MPI_Scatter(s, 1, MPI_INT, r, -1, MPI_INT, 0, W), MPI_ERR_COUNT);
    BAD(MPI_Scatterv(s, negs, zeros, MPI_INT, r, 1, MPI_INT, mp_rank, W), MPI_ERR_COUNT);
    BAD(MPI_Allgather(s, -1, MPI_INT, r, 1, MPI_INT, W), MPI_ERR_COUNT);
    BAD(MPI_Allgatherv(s, 1, MPI_INT, r, negs, zeros, MPI_INT, W), MPI_ERR_COUNT);
    BAD(MPI_Alltoall(s, 1, MPI_INT, r, -1, MPI_INT, W), MPI_ERR_COUNT);
    BAD(MPI_Alltoallv(s, negs, zeros, MPI_INT, r, ones, zeros, MPI_INT, W), MPI_ERR_COUNT);
    BAD(MPI_Alltoallv(s, ones, zeros, MPI_INT, r, negs, zeros, MPI_INT, W), MPI_ERR_COUNT);
    BAD(MPI_Scan(s, r, -1, MPI_INT, MPI_SUM, W), MPI_ERR_COUNT);
    BAD(MPI_Exscan(s, r, -1, MPI_INT, MPI_SUM, W), MPI_ERR_COUNT);
    BAD(MPI_Reduce_scatter(s, r, negs, MPI_INT, MPI_SUM, W), MPI_ERR_COUNT);
    BAD(MPI_Reduce_scatter_block(s, r, -1, MPI_INT, MPI_SUM, W), MPI_ERR_COUNT);
}

static void roots(int bad)
{
    int *s = sbuf, *r = rbuf;

    BAD(MPI_Bcast(s, 1, MPI_INT, bad, W), MPI_ERR_ROOT);
    BAD(MPI_Reduce(s, r, 1, MPI_INT, MPI_SUM, bad, W), MPI_ERR_ROOT);
    BAD(MPI_Gather(s, 1, MPI_INT, r, 1, MPI_INT, bad, W), MPI_ERR_ROOT);
    BAD(MPI_Gatherv(s, 1, MPI_INT, r, ones, zeros, MPI_INT, bad, W), MPI_ERR_ROOT);
    BAD(MPI_Scatter(s, 1, MPI_INT, r, 1, MPI_INT, bad, W), MPI_ERR_ROOT);
    BAD(MPI_Scatterv(s, ones, zeros, MPI_INT, r, 1, MPI_INT, bad, W), MPI_ERR_ROOT);
}

static void buffers(void)
{
    int *s = sbuf, *r = rbuf;

    BAD(MPI_Bcast(NULL, 1, MPI_INT, 0, W), MPI_ERR_BUFFER);
    BAD(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, W), MPI_ERR_BUFFER);
    BAD(MPI_Allreduce(NULL, r, 1, MPI_INT, MPI_SUM, W), MPI_ERR_BUFFER);
    BAD(MPI_Allreduce(s, NULL, 1, MPI_INT, MPI_SUM, W), MPI_ERR_BUFFER);
    BAD(MPI_Allreduce(s, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, W), MPI_ERR_BUFFER);
    BAD(MPI_Allreduce(s, s, 1, MPI_INT, MPI_SUM, W), MPI_ERR_BUFFER);
    BAD(MPI_Reduce(s, s, 1, MPI_INT, MPI_SUM, mp_rank, W), MPI_ERR_BUFFER);
    BAD(MPI_Reduce(s, NULL, 1, MPI_INT, MPI_SUM, mp_rank, W), MPI_ERR_BUFFER);
    BAD(MPI_Gather(NULL, 1, MPI_INT, r, 1, MPI_INT, 0, W), MPI_ERR_BUFFER);
    BAD(MPI_Scatter(s, 1, MPI_INT, NULL, 1, MPI_INT, 0, W), MPI_ERR_BUFFER);
    BAD(MPI_Allgather(NULL, 1, MPI_INT, r, 1, MPI_INT, W), MPI_ERR_BUFFER);
    BAD(MPI_Alltoall(s, 1, MPI_INT, NULL, 1, MPI_INT, W), MPI_ERR_BUFFER);
    BAD(MPI_Gatherv(s, 1, MPI_INT, r, NULL, zeros, MPI_INT, mp_rank, W), MPI_ERR_ARG);
    BAD(MPI_Gatherv(s, 1, MPI_INT, r, ones, NULL, MPI_INT, mp_rank, W), MPI_ERR_ARG);
    BAD(MPI_Reduce_scatter(s, r, NULL, MPI_INT, MPI_SUM, W), MPI_ERR_ARG);
    BAD(MPI_Alltoallv(s, NULL, zeros, MPI_INT, r, ones, zeros, MPI_INT, W), MPI_ERR_ARG);
    MUST(MPI_Bcast(NULL, 0, MPI_INT, 0, W));
    MUST(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, W));
}

/* Arguments that have no meaning on a rank may be anything. */
static void insignificant(void)
{
    int x = 7, *all = rbuf;

    if (mp_rank == 0)
        MUST(MPI_Gather(&x, 1, MPI_INT, all, 1, MPI_INT, 0, W));
    else
        MUST(MPI_Gather(&x, 1, MPI_INT, NULL, -3, MPI_DATATYPE_NULL, 0, W));
    if (mp_rank == 0)
        MUST(MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, 0, W));
    else
        MUST(MPI_Gather(&x, 1, MPI_INT, NULL, -3, MPI_DATATYPE_NULL, 0, W));
    if (mp_rank == 0)
        MUST(MPI_Scatterv(all, ones, zeros, MPI_INT, &x, 1, MPI_INT, 0, W));
    else
        MUST(MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, &x, 1, MPI_INT, 0, W));
    CHECK_EQ(x, 7);
    MUST(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, 1, MPI_INT, W));
    MUST(MPI_Reduce(&x, mp_rank == 0 ? all : NULL, 1, MPI_INT, MPI_SUM, 0, W));
    if (mp_rank == 0)
        CHECK_EQ(all[0], 7 * mp_size);
}

int main(int argc, char **argv)
{
    MPI_Datatype uncommitted;
    MPI_Op op;
    int commute;

    mp_start(&argc, &argv);
    errors_return();
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    comms(MPI_COMM_NULL);
    comms(freed_comm());
    types(MPI_DATATYPE_NULL);
    types(uncommitted);
    types(freed_type());
    ops(MPI_OP_NULL);
    ops(MPI_REPLACE);
    ops(MPI_NO_OP);
    ops(freed_op());
    op_type_pairs();
    for (int i = 0; i < N_NO_HANDLES; i++) {
        comms(no_handles[i]);
        types(no_handles[i]);
        ops(no_handles[i]);
        BAD(MPI_Op_commutative(no_handles[i], &commute), MPI_ERR_OP);
        op = no_handles[i];
        BAD(MPI_Op_free(&op), MPI_ERR_OP);
    }
    op = MPI_SUM;
    BAD(MPI_Op_free(&op), MPI_ERR_OP);
    CHECK(op == MPI_SUM);
    op = MPI_OP_NULL;
    BAD(MPI_Op_free(&op), MPI_ERR_OP);
    BAD(MPI_Op_free(NULL), MPI_ERR_ARG);
    BAD(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
    BAD(MPI_Op_create(add_user, 1, NULL), MPI_ERR_ARG);
    BAD(MPI_Reduce_local(sbuf, rbuf, 1, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP);
    BAD(MPI_Reduce_local(sbuf, rbuf, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    BAD(MPI_Reduce_local(NULL, rbuf, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    BAD(MPI_Reduce_local(sbuf, rbuf, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
    counts();
    roots(mp_size);
    roots(-1);
    roots(MPI_ROOT);
    roots(MPI_PROC_NULL);
    buffers();
    insignificant();
    MPI_Type_free(&uncommitted);
    return mp_finish();
}
