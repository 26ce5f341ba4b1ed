/*
 * Scatter, with equal or different counts: the root sends to everybody.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_scatter_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    if (run->rank != a->root) {
        if (dm_coll_bytes(a->rcount, a->rtype) > 0)
            dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, a->root);
        return;
    }
    for (int i = 0; i < run->size; i++) {
        size_t count = dm_coll_scount(a, i);

        if (i != a->root && dm_coll_bytes(count, a->stype) > 0)
            dm_coll_isend(run, dm_coll_splace(a, i), count, a->stype, i);
    }
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, run->rank), dm_coll_scount(a, run->rank), a->stype,
                     a->rbuf, a->rcount, a->rtype);
    dm_coll_wait(run);
}
