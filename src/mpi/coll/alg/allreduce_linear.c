/*
 * Allreduce of short vectors among few ranks: rank 0 gets all vectors, and sends the result to each.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_allreduce_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args by_0 = *a;

    by_0.root = 0;
    dm_coll_reduce_linear(run, &by_0);
    dm_coll_bcast_linear(run, &by_0);
}
