/*
 * Gather, with equal or different counts: everybody sends to the root at once. The
 * least messages and copies; the root handles n - 1 of them.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_gather_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    if (run->rank != a->root) {
        if (dm_coll_bytes(a->scount, a->stype) > 0)
            dm_coll_send(run, a->sbuf, a->scount, a->stype, a->root);
        return;
    }
    for (int i = 0; i < run->size; i++) {
        size_t count = dm_coll_rcount(a, i);

        if (i != a->root && dm_coll_bytes(count, a->rtype) > 0)
            dm_coll_irecv(run, dm_coll_rplace(a, i), count, a->rtype, i);
    }
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, run->rank),
                     dm_coll_rcount(a, run->rank), a->rtype);
    dm_coll_wait(run);
}
