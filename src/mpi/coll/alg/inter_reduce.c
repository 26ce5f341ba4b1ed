/*
 * Reductions between two groups: each group reduces its vectors to its rank 0; what that
 * has goes to the other group.
 */
#include "mpi/coll/alg/alg.h"

/* Reduce count elements inside the group; rank 0 gets the place of the result, others NULL. */
static void *reduce_inside(struct dm_run *run, const struct dm_coll_args *a, size_t count)
{
    struct dm_coll_args local = {.sbuf = a->sbuf, .rcount = count, .rtype = a->rtype, .op = a->op};

    if (run->rank == 0)
        local.rbuf = dm_coll_alloc_typed(run, count, a->rtype);
    dm_coll_inside(run);
    dm_coll_reduce_binomial(run, &local);
    dm_coll_across(run);
    return local.rbuf;
}

void dm_coll_inter_reduce(struct dm_run *run, const struct dm_coll_args *a)
{
    if (a->root == MPI_ROOT) {
        dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, 0);
    } else if (a->root >= 0) {
        void *result = reduce_inside(run, a, a->rcount);

        if (run->rank == 0)
            dm_coll_send(run, result, a->rcount, a->rtype, a->root);
    }
}

void dm_coll_inter_allreduce(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args local = *a;
    void *result = reduce_inside(run, a, a->rcount);

    if (run->rank == 0)
        dm_coll_sendrecv(run, result, a->rcount, a->rtype, 0, a->rbuf, a->rcount, a->rtype, 0);
    local.root = 0;
    dm_coll_inside(run);
    dm_coll_bcast_binomial(run, &local);
}

/* The counts are those of the local group; both groups' sums are the same. */
void dm_coll_inter_reduce_scatter(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->inter->size;
    MPI_Count *at = dm_coll_alloc_n(run, (size_t)n, sizeof(*at));
    struct dm_coll_args local = {
        .rbuf = a->rbuf, .rtype = a->rtype, .stype = a->rtype, .scounts = a->rcounts};
    size_t total = 0;
    void *result;
    void *all = NULL;

    for (int i = 0; i < n && at != NULL; i++) {
        at[i] = (MPI_Count)total;
        total += dm_coll_rcount(a, i);
    }
    if (run->rank == 0)
        all = dm_coll_alloc_typed(run, total, a->rtype);
    result = reduce_inside(run, a, total);
    if (run->rank == 0)
        dm_coll_sendrecv(run, result, total, a->rtype, 0, all, total, a->rtype, 0);
    local.sbuf = all;
    local.sdispls = dm_counts_wide(at);
    local.scount = a->rcount;
    local.rcount = dm_coll_rcount(a, run->rank);
    dm_coll_inside(run);
    dm_coll_scatter_linear(run, &local);
}

void dm_coll_inter_or(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args local = *a;
    void *others = dm_coll_alloc_typed(run, a->rcount, a->rtype);

    local.root = 0;
    dm_coll_inside(run);
    dm_coll_reduce_binomial(run, &local);
    dm_coll_across(run);
    if (run->rank == 0) {
        dm_coll_sendrecv(run, a->rbuf, a->rcount, a->rtype, 0, others, a->rcount, a->rtype, 0);
        dm_coll_combine(run, a->op, others, a->rbuf, a->rcount, a->rtype);
    }
    dm_coll_inside(run);
    dm_coll_bcast_binomial(run, &local);
}
