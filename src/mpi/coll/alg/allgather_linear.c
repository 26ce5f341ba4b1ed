/*
 * Allgather of short equal blocks among few ranks: rank 0 gets all blocks, and sends all of them to each rank.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_allgather_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args gather = *a, all = {.rbuf = a->rbuf, .rtype = a->rtype};

    if (a->is_in_place) {
        gather.sbuf = dm_coll_rplace(a, run->rank);
        gather.scount = a->rcount;
        gather.stype = a->rtype;
    }
    gather.root = 0;
    dm_coll_gather_linear(run, &gather);
    all.rcount = a->rcount * (size_t)run->size;
    dm_coll_bcast_linear(run, &all);
}
