/*
 * Reduce of long vectors (Rabenseifner): vector halving with distance doubling leaves
 * every rank with a part of the result, which then travel to the root along the same
 * pairs. Keeps the order of the operands, so any operation will do.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/alg/pof2.h"

/* Bring the parts to the root's position: the reverse of the halving. */
static void halving_collect(struct dm_run *run, const struct dm_coll_args *a,
                            const struct dm_coll_pof2 *pof2, int root_pos, void *acc,
                            const struct dm_coll_halving *h)
{
    for (int i = h->depth - 1; i >= 0; i--) {
        int step = 1 << i;
        int partner = dm_coll_pof2_rank(pof2, pof2->pos ^ step);
        struct dm_coll_range mine = h->at[i + 1];
        struct dm_coll_range other = dm_coll_halving_other(h, i);

        if (((pof2->pos ^ root_pos) & step) != 0) {
            dm_coll_send(run, dm_coll_at(acc, (MPI_Count)mine.lo, a->rtype), mine.hi - mine.lo,
                         a->rtype, partner);
            return;
        }
        dm_coll_recv(run, dm_coll_at(acc, (MPI_Count)other.lo, a->rtype), other.hi - other.lo,
                     a->rtype, partner);
    }
}

void dm_coll_reduce_halving(struct dm_run *run, const struct dm_coll_args *a)
{
    bool is_root = run->rank == a->root;
    struct dm_coll_pof2 pof2;
    struct dm_coll_halving halving;
    void *tmp;
    void *acc;
    int root_pos;

    dm_coll_pof2_init(&pof2, run, a->root);
    root_pos = a->root / 2 < pof2.n_pairs ? a->root / 2 : a->root - pof2.n_pairs;
    if (pof2.pos < 0) {
        dm_coll_send(run, a->sbuf, a->rcount, a->rtype, pof2.pair);
        return;
    }
    tmp = dm_coll_alloc_typed(run, a->rcount, a->rtype);
    acc = is_root ? a->rbuf : dm_coll_alloc_typed(run, a->rcount, a->rtype);
    if (tmp == NULL || acc == NULL)
        return;
    dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, acc, a->rcount, a->rtype);
    dm_coll_pof2_reduce(run, &pof2, a, &acc, &tmp);
    dm_coll_halve(run, &pof2, a, &acc, &tmp, &halving);
    if (is_root && acc != a->rbuf) {
        struct dm_coll_range held = halving.at[halving.depth];

        dm_coll_copy(run, dm_coll_at(acc, (MPI_Count)held.lo, a->rtype), held.hi - held.lo,
                     a->rtype, dm_coll_at(a->rbuf, (MPI_Count)held.lo, a->rtype), held.hi - held.lo,
                     a->rtype);
        acc = a->rbuf;
    }
    halving_collect(run, a, &pof2, root_pos, acc, &halving);
}
