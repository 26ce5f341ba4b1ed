/*
 * Allgather in a ring, equal blocks or not: n - 1 rounds, every block is passed on once
 * by everybody, without temporary memory.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_allgather_ring(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    int next = (run->rank + 1) % n;
    int prev = (run->rank - 1 + n) % n;

    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, run->rank),
                     dm_coll_rcount(a, run->rank), a->rtype);
    for (int i = 0; i < n - 1; i++) {
        int out = (run->rank - i + n) % n;
        int in = (out - 1 + n) % n;

        dm_coll_sendrecv(run, dm_coll_rplace(a, out), dm_coll_rcount(a, out), a->rtype, next,
                         dm_coll_rplace(a, in), dm_coll_rcount(a, in), a->rtype, prev);
    }
}
