/*
 * Reduce-scatter as a reduce to rank 0, over a tree or by all at once, which scatters: 2 (n - 1) messages in all, where
 * everybody with everybody would be n (n - 1). Keeps the order of the operands.
 */
#include "mpi/coll/alg/alg.h"

static void scatter_reduced(struct dm_run *run, const struct dm_coll_args *a, dm_coll_alg *reduce)
{
    int n = run->size;
    MPI_Count *at = dm_coll_alloc_n(run, (size_t)n, sizeof(*at));
    struct dm_coll_args whole = {.sbuf = a->sbuf, .rtype = a->rtype, .op = a->op};
    struct dm_coll_args parts = {.rbuf = a->rbuf,
                                 .rtype = a->rtype,
                                 .rcount = dm_coll_rcount(a, run->rank),
                                 .stype = a->rtype,
                                 .scount = a->rcount,
                                 .scounts = a->rcounts};

    for (int i = 0; i < n && at != NULL; i++) {
        at[i] = (MPI_Count)whole.rcount;
        whole.rcount += dm_coll_rcount(a, i);
    }
    if (run->rank == 0)
        whole.rbuf = dm_coll_alloc_typed(run, whole.rcount, a->rtype);
    if (at == NULL || (run->rank == 0 && whole.rbuf == NULL))
        return;
    reduce(run, &whole);
    parts.sbuf = whole.rbuf;
    parts.sdispls = dm_counts_wide(at);
    dm_coll_scatter_linear(run, &parts);
}

void dm_coll_reduce_scatter_tree(struct dm_run *run, const struct dm_coll_args *a)
{
    scatter_reduced(run, a, dm_coll_reduce_binomial);
}

void dm_coll_reduce_scatter_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    scatter_reduced(run, a, dm_coll_reduce_linear);
}
