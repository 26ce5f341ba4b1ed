/*
 * Reduce-scatter of long vectors with a commutative operation: in round i everybody sends
 * the rank i further on its block and combines what comes from the rank i before. Moves the
 * least data and needs room for two blocks.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_reduce_scatter_pairwise(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    size_t count = dm_coll_rcount(a, run->rank);
    size_t *at = dm_coll_alloc_n(run, (size_t)n, sizeof(*at));
    void *tmp = dm_coll_alloc_typed(run, count, a->rtype);
    void *acc = a->is_in_place ? dm_coll_alloc_typed(run, count, a->rtype) : a->rbuf;

    if (at == NULL || tmp == NULL || (a->is_in_place && acc == NULL))
        return;
    at[0] = 0;
    for (int i = 1; i < n; i++)
        at[i] = at[i - 1] + dm_coll_rcount(a, i - 1);
    dm_coll_copy(run, dm_coll_at(a->sbuf, (MPI_Count)at[run->rank], a->rtype), count, a->rtype, acc,
                 count, a->rtype);
    for (int i = 1; i < n; i++) {
        int to = (run->rank + i) % n;
        int from = (run->rank - i + n) % n;

        dm_coll_sendrecv(run, dm_coll_at(a->sbuf, (MPI_Count)at[to], a->rtype),
                         dm_coll_rcount(a, to), a->rtype, to, tmp, count, a->rtype, from);
        dm_coll_combine(run, a->op, tmp, acc, count, a->rtype);
    }
    dm_coll_copy(run, acc, count, a->rtype, a->rbuf, count, a->rtype);
}
