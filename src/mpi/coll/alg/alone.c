/*
 * Collectives of one rank: what it gives is what it gets.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_alone_nothing(struct dm_run *run, const struct dm_coll_args *a)
{
    (void)run;
    (void)a;
}

void dm_coll_alone_move(struct dm_run *run, const struct dm_coll_args *a)
{
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, 0), dm_coll_scount(a, 0), dm_coll_stype(a, 0),
                     dm_coll_rplace(a, 0), dm_coll_rcount(a, 0), dm_coll_rtype(a, 0));
}

void dm_coll_alone_reduce(struct dm_run *run, const struct dm_coll_args *a)
{
    size_t count = dm_coll_rcount(a, 0);

    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, count, a->rtype, a->rbuf, count, a->rtype);
}
