/*
 * Allgather of equal blocks by recursive doubling, for 2^k ranks: partners exchange all
 * that they have, in place in the receive buffer.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_allgather_doubling(struct dm_run *run, const struct dm_coll_args *a)
{
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, run->rank), a->rcount,
                     a->rtype);
    for (int step = 1; step < run->size; step *= 2) {
        int partner = run->rank ^ step;
        size_t count = a->rcount * (size_t)step;

        dm_coll_sendrecv(run, dm_coll_rplace(a, run->rank & ~(step - 1)), count, a->rtype, partner,
                         dm_coll_rplace(a, partner & ~(step - 1)), count, a->rtype, partner);
    }
}
