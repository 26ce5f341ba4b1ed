/*
 * Reduce-scatter of long vectors with an operation that is not commutative: everybody
 * collects all operands of its block, as much as one vector in all, and combines them in
 * the order of the ranks.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_reduce_scatter_ordered(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    size_t count = dm_coll_rcount(a, run->rank);
    size_t *at = dm_coll_alloc_n(run, (size_t)n, sizeof(*at));
    char *all = count > 0 && (size_t)n > SIZE_MAX / count
                    ? NULL
                    : dm_coll_alloc_typed(run, (size_t)n * count, a->rtype);

    if (at == NULL || all == NULL)
        return;
    at[0] = 0;
    for (int i = 1; i < n; i++)
        at[i] = at[i - 1] + dm_coll_rcount(a, i - 1);
    for (int i = 0; i < n; i++) {
        int to = (run->rank + i) % n;
        int from = (run->rank - i + n) % n;
        void *place = dm_coll_at(all, (MPI_Count)count * from, a->rtype);
        const void *block = dm_coll_at(a->sbuf, (MPI_Count)at[to], a->rtype);

        if (i == 0)
            dm_coll_copy(run, block, count, a->rtype, place, count, a->rtype);
        else
            dm_coll_sendrecv(run, block, dm_coll_rcount(a, to), a->rtype, to, place, count,
                             a->rtype, from);
    }
    for (int i = 1; i < n; i++)
        dm_coll_combine(run, a->op, dm_coll_at(all, (MPI_Count)count * (i - 1), a->rtype),
                        dm_coll_at(all, (MPI_Count)count * i, a->rtype), count, a->rtype);
    dm_coll_copy(run, dm_coll_at(all, (MPI_Count)count * (n - 1), a->rtype), count, a->rtype,
                 a->rbuf, count, a->rtype);
}
