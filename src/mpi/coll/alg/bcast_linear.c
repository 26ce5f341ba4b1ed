/*
 * Broadcast to few ranks: the root sends to each.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_bcast_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    if (run->rank != a->root) {
        dm_coll_recv_whole(run, a->rbuf, a->rcount, a->rtype, a->root);
        return;
    }
    for (int i = 0; i < run->size; i++)
        if (i != a->root)
            dm_coll_isend(run, a->rbuf, a->rcount, a->rtype, i);
    dm_coll_wait(run);
}
