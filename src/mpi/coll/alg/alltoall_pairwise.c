/*
 * All-to-all one partner after the other: for long blocks, where more at a time would only
 * compete.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/alg/alltoall_exchange.h"

void dm_coll_alltoall_pairwise(struct dm_run *run, const struct dm_coll_args *a)
{
    dm_coll_alltoall_exchange(run, a, 1);
}
