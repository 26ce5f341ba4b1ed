/*
 * Allreduce of long vectors (Rabenseifner): a reduce-scatter by vector halving, then an
 * allgather back along the same pairs. Every rank moves about twice the vector, whatever
 * n is. Keeps the order of the operands, so any operation will do.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/alg/pof2.h"

static void halving_spread(struct dm_run *run, const struct dm_coll_args *a,
                           const struct dm_coll_pof2 *pof2, const struct dm_coll_halving *h)
{
    for (int i = h->depth - 1; i >= 0; i--) {
        int partner = dm_coll_pof2_rank(pof2, pof2->pos ^ (1 << i));
        struct dm_coll_range mine = h->at[i + 1];
        struct dm_coll_range other = dm_coll_halving_other(h, i);

        dm_coll_sendrecv(run, dm_coll_at(a->rbuf, (MPI_Count)mine.lo, a->rtype), mine.hi - mine.lo,
                         a->rtype, partner, dm_coll_at(a->rbuf, (MPI_Count)other.lo, a->rtype),
                         other.hi - other.lo, a->rtype, partner);
    }
}

void dm_coll_allreduce_halving(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_pof2 pof2;
    struct dm_coll_halving halving;
    struct dm_coll_range held;
    void *acc = a->rbuf;
    void *tmp;

    dm_coll_pof2_init(&pof2, run, -1);
    if (pof2.pos < 0) {
        dm_coll_send(run, a->sbuf, a->rcount, a->rtype, pof2.pair);
        dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, pof2.pair);
        return;
    }
    tmp = dm_coll_alloc_typed(run, a->rcount, a->rtype);
    if (tmp == NULL)
        return;
    dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, acc, a->rcount, a->rtype);
    dm_coll_pof2_reduce(run, &pof2, a, &acc, &tmp);
    dm_coll_halve(run, &pof2, a, &acc, &tmp, &halving);
    held = halving.at[halving.depth];
    if (acc != a->rbuf)
        dm_coll_copy(run, dm_coll_at(acc, (MPI_Count)held.lo, a->rtype), held.hi - held.lo,
                     a->rtype, dm_coll_at(a->rbuf, (MPI_Count)held.lo, a->rtype), held.hi - held.lo,
                     a->rtype);
    halving_spread(run, a, &pof2, &halving);
    if (pof2.pair >= 0)
        dm_coll_send(run, a->rbuf, a->rcount, a->rtype, pof2.pair);
}
