/*
 * Broadcast over a binomial tree: whole messages, ceil(log2 n) deep, the far half first.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_bcast_binomial(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    int me = (run->rank - a->root + n) % n; /* the root is 0 in the tree */
    int64_t step = 1;

    while (step < n && (me & step) == 0)
        step *= 2;
    if (me != 0)
        dm_coll_recv_whole(run, a->rbuf, a->rcount, a->rtype, (int)((me - step + a->root) % n));
    while (step > 1) {
        step /= 2;
        if (me + step < n)
            dm_coll_forward(run, a->rbuf, a->rcount, a->rtype, (int)((me + step + a->root) % n));
    }
}
