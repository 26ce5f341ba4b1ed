/*
 * All-to-all with many messages under way: for short blocks, where waiting costs more than
 * moving.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/alg/alltoall_exchange.h"

#define WINDOW 32

void dm_coll_alltoall_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    dm_coll_alltoall_exchange(run, a, WINDOW);
}
