/*
 * Bodies of the collectives that compute. Inside, a vector's type and count are rtype
 * and rcount; with MPI_IN_PLACE the input is the output buffer.
 */
#include "mpi/coll/select.h"

/* Checks and MPI_IN_PLACE, common to all. */
static int reduce_prepare(struct dm_coll_args *a, const struct dm_comm *comm)
{
    a->is_in_place = a->sbuf == MPI_IN_PLACE;
    if (a->is_in_place && comm->remote != NULL)
        return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is not possible on an intercommunicator");
    if (a->rbuf == MPI_IN_PLACE)
        return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is not allowed as the receive buffer");
    if (a->is_in_place)
        a->sbuf = a->rbuf;
    /* Inside a group the call has checked that, at every rank. */
    return comm->remote != NULL ? dm_op_check(a->op, a->rtype) : DM_OK;
}

int dm_coll_reduce_run(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                       struct dm_op *op, int root, struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {
        .sbuf = sbuf, .rbuf = rbuf, .rcount = count, .rtype = type, .op = op, .root = root};
    bool is_inter = comm->remote != NULL;
    int err;

    if (dm_coll_is_copy(rbuf, comm, how))
        return dm_coll_copy_alone(sbuf, count, type, rbuf, count, type, comm, how);
    if (is_inter && root == MPI_PROC_NULL)
        return dm_coll_run(DM_COLL_REDUCE, 0, &a, comm, how);
    if (is_inter ? root >= 0 : comm->rank != root) {
        if (!is_inter && sbuf == MPI_IN_PLACE)
            return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is for the root, which is rank %d", root);
        a.rbuf = NULL;
    }
    if (is_inter && root == MPI_ROOT)
        a.sbuf = NULL;
    err = reduce_prepare(&a, comm);
    if (err != DM_OK)
        return err;
    return dm_coll_run_some(DM_COLL_REDUCE, dm_coll_bytes(count, type), &a, comm, how);
}

/* Operations where all ranks give and get a vector of the same length. */
static int reduce_vector(enum dm_coll_kind kind, const void *sbuf, void *rbuf, size_t count,
                         struct dm_type *type, struct dm_op *op, struct dm_comm *comm,
                         struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf, .rbuf = rbuf, .rcount = count, .rtype = type, .op = op};
    int err = reduce_prepare(&a, comm);

    if (err != DM_OK)
        return err;
    return dm_coll_run_some(kind, dm_coll_bytes(count, type), &a, comm, how);
}

int dm_coll_allreduce_run(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                          struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how)
{
    if (dm_coll_is_copy(rbuf, comm, how))
        return dm_coll_copy_alone(sbuf, count, type, rbuf, count, type, comm, how);
    return reduce_vector(DM_COLL_ALLREDUCE, sbuf, rbuf, count, type, op, comm, how);
}

int dm_coll_scan_run(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                     struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how)
{
    if (dm_coll_is_copy(rbuf, comm, how))
        return dm_coll_copy_alone(sbuf, count, type, rbuf, count, type, comm, how);
    return reduce_vector(DM_COLL_SCAN, sbuf, rbuf, count, type, op, comm, how);
}

int dm_coll_exscan(const void *sbuf, void *rbuf, size_t count, struct dm_type *type,
                   struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how)
{
    return reduce_vector(DM_COLL_EXSCAN, sbuf, rbuf, count, type, op, comm, how);
}

static int reduce_scatter(struct dm_coll_args *a, struct dm_comm *comm, struct dm_coll_how how)
{
    size_t total = 0;
    int err = reduce_prepare(a, comm);

    if (err != DM_OK)
        return err;
    for (int i = 0; i < comm->size; i++)
        total += dm_coll_rcount(a, i);
    if (!a->is_in_place && comm->remote == NULL && a->sbuf == a->rbuf && total > 0 &&
        a->rtype->size > 0)
        return DM_FAIL(DM_ERR_BUFFER,
                       "sendbuf and recvbuf are the same; pass MPI_IN_PLACE as sendbuf instead");
    return dm_coll_run_some(DM_COLL_REDUCE_SCATTER, dm_coll_bytes(total, a->rtype), a, comm, how);
}

int dm_coll_reduce_scatter_block(const void *sbuf, void *rbuf, size_t rcount, struct dm_type *type,
                                 struct dm_op *op, struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf, .rbuf = rbuf, .rcount = rcount, .rtype = type, .op = op};

    if (dm_coll_is_copy(rbuf, comm, how))
        return dm_coll_copy_alone(sbuf, rcount, type, rbuf, rcount, type, comm, how);
    return reduce_scatter(&a, comm, how);
}

int dm_coll_reduce_scatter(const void *sbuf, void *rbuf, struct dm_counts rcounts,
                           struct dm_type *type, struct dm_op *op, struct dm_comm *comm,
                           struct dm_coll_how how)
{
    struct dm_coll_args a = {
        .sbuf = sbuf, .rbuf = rbuf, .rcounts = rcounts, .rtype = type, .op = op};

    return reduce_scatter(&a, comm, how);
}
