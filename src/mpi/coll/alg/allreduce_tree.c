/*
 * Allreduce as a reduce to rank 0 and a broadcast: 2 (n - 1) messages in all, the least
 * there can be.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_allreduce_tree(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args to_0 = *a;

    to_0.root = 0;
    dm_coll_reduce_binomial(run, &to_0);
    dm_coll_bcast_binomial(run, &to_0);
}
