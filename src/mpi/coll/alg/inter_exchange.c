/*
 * Allgather and all-to-all between two groups: everybody exchanges directly with every rank
 * of the other group, all messages at once. The groups' sizes differ, so that there are no rounds
 * in which everybody has a partner.
 */
#include "mpi/coll/alg/alg.h"

static void get(struct dm_run *run, const struct dm_coll_args *a, int from)
{
    size_t count = dm_coll_rcount(a, from);
    struct dm_type *type = dm_coll_rtype(a, from);

    if (dm_coll_bytes(count, type) > 0)
        dm_coll_irecv(run, dm_coll_rplace(a, from), count, type, from);
}

void dm_coll_inter_allgather(struct dm_run *run, const struct dm_coll_args *a)
{
    for (int i = 0; i < run->size; i++)
        get(run, a, (run->rank + i) % run->size);
    for (int i = 0; i < run->size && dm_coll_bytes(a->scount, a->stype) > 0; i++)
        dm_coll_isend(run, a->sbuf, a->scount, a->stype, (run->rank + i) % run->size);
    dm_coll_wait(run);
}

void dm_coll_inter_alltoall(struct dm_run *run, const struct dm_coll_args *a)
{
    for (int i = 0; i < run->size; i++)
        get(run, a, (run->rank + i) % run->size);
    for (int i = 0; i < run->size; i++) {
        int to = (run->rank + i) % run->size;
        size_t count = dm_coll_scount(a, to);
        struct dm_type *type = dm_coll_stype(a, to);

        if (dm_coll_bytes(count, type) > 0)
            dm_coll_isend(run, dm_coll_splace(a, to), count, type, to);
    }
    dm_coll_wait(run);
}
