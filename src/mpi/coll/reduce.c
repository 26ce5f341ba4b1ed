/*
 * Bodies of the collectives that compute. Inside, a vector's type and count are rtype
 * and rcount; with MPI_IN_PLACE the input is the output buffer.
 */
#include "mpi/coll/body.h"

/* Checks and MPI_IN_PLACE, common to all. */
static int prepare(struct dm_coll_args *a, const char *name, const struct dm_comm *comm)
{
    if (comm->remote != NULL)
        return dm_coll_no_inter(name);
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->rbuf == MPI_IN_PLACE)
        return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is not allowed as the receive buffer");
    if (a->is_in_place)
        a->sbuf = a->rbuf;
    return dm_op_check(a->op, a->rtype);
}

/* The whole operation where there is one rank: the result is the input. */
static int copy_own(const struct dm_coll_args *a, size_t count)
{
    return a->is_in_place ? DM_OK
                          : dm_type_copy(a->sbuf, count, a->rtype, a->rbuf, count, a->rtype);
}

int dm_reduce(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
              int root, struct dm_comm *comm)
{
    struct dm_coll_args a = {
        .sbuf = sbuf, .rbuf = rbuf, .rcount = count, .rtype = type, .op = op, .root = root};
    size_t bytes = dm_coll_bytes(count, type);
    int err;

    if (comm->rank != root) {
        if (sbuf == MPI_IN_PLACE)
            return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is for the root, which is rank %d", root);
        a.rbuf = NULL;
    }
    err = prepare(&a, "reduce", comm);
    if (err != DM_OK || bytes == 0)
        return err;
    return comm->size > 1 ? dm_coll_run(DM_COLL_REDUCE, bytes, &a, comm) : copy_own(&a, count);
}

/* Operations where all ranks give and get a vector of the same length. */
static int vector(enum dm_coll_kind kind, const char *name, struct dm_coll_args *a,
                  struct dm_comm *comm)
{
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    int err = prepare(a, name, comm);

    if (err != DM_OK || bytes == 0)
        return err;
    if (comm->size > 1)
        return dm_coll_run(kind, bytes, a, comm);
    return kind == DM_COLL_EXSCAN ? DM_OK : copy_own(a, a->rcount);
}

int dm_allreduce(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
                 struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf, .rbuf = rbuf, .rcount = count, .rtype = type, .op = op};

    return vector(DM_COLL_ALLREDUCE, "allreduce", &a, comm);
}

int dm_scan(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
            struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf, .rbuf = rbuf, .rcount = count, .rtype = type, .op = op};

    return vector(DM_COLL_SCAN, "scan", &a, comm);
}

int dm_exscan(const void *sbuf, void *rbuf, size_t count, struct dm_type *type, struct dm_op *op,
              struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf, .rbuf = rbuf, .rcount = count, .rtype = type, .op = op};

    return vector(DM_COLL_EXSCAN, "exscan", &a, comm);
}

static int reduce_scatter(const char *name, struct dm_coll_args *a, struct dm_comm *comm)
{
    size_t total = 0;
    int err = prepare(a, name, comm);

    if (err != DM_OK)
        return err;
    for (int i = 0; i < comm->size; i++)
        total += dm_coll_rcount(a, i);
    if (dm_coll_bytes(total, a->rtype) == 0)
        return DM_OK;
    if (comm->size > 1)
        return dm_coll_run(DM_COLL_REDUCE_SCATTER, dm_coll_bytes(total, a->rtype), a, comm);
    return copy_own(a, total);
}

int dm_reduce_scatter_block(const void *sbuf, void *rbuf, size_t rcount, struct dm_type *type,
                            struct dm_op *op, struct dm_comm *comm)
{
    struct dm_coll_args a = {.sbuf = sbuf, .rbuf = rbuf, .rcount = rcount, .rtype = type, .op = op};

    return reduce_scatter("reduce_scatter_block", &a, comm);
}

int dm_reduce_scatter(const void *sbuf, void *rbuf, struct dm_counts rcounts, struct dm_type *type,
                      struct dm_op *op, struct dm_comm *comm)
{
    struct dm_coll_args a = {
        .sbuf = sbuf, .rbuf = rbuf, .rcounts = rcounts, .rtype = type, .op = op};

    return reduce_scatter("reduce_scatter", &a, comm);
}
