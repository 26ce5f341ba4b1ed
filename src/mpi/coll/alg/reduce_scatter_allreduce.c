/*
 * Reduce-scatter of short vectors: everybody computes all and takes its block.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_reduce_scatter_allreduce(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args whole = {.sbuf = a->sbuf, .rtype = a->rtype, .op = a->op};
    size_t count = dm_coll_rcount(a, run->rank);
    size_t at = 0;

    for (int i = 0; i < run->size; i++) {
        if (i == run->rank)
            at = whole.rcount;
        whole.rcount += dm_coll_rcount(a, i);
    }
    whole.rbuf = dm_coll_alloc_typed(run, whole.rcount, a->rtype);
    if (whole.rbuf == NULL)
        return;
    dm_coll_allreduce_doubling(run, &whole);
    dm_coll_copy(run, dm_coll_at(whole.rbuf, (MPI_Count)at, a->rtype), count, a->rtype, a->rbuf,
                 count, a->rtype);
}
