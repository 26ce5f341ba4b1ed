/*
 * Reducing to 2^k ranks, and vector halving.
 */
#include "mpi/coll/alg/pof2.h"

void dm_coll_pof2_init(struct dm_coll_pof2 *pof2, const struct dm_run *run, int keep)
{
    int n = 1;

    while (n <= run->size / 2)
        n *= 2;
    pof2->n = n;
    pof2->n_pairs = run->size - n;
    pof2->keep = keep;
    pof2->pair = -1;
    pof2->pos = run->rank - pof2->n_pairs;
    if (run->rank / 2 < pof2->n_pairs) {
        pof2->pair = run->rank ^ 1;
        pof2->pos = run->rank / 2;
        if (dm_coll_pof2_rank(pof2, pof2->pos) != run->rank)
            pof2->pos = -1;
    }
}

int dm_coll_pof2_rank(const struct dm_coll_pof2 *pof2, int pos)
{
    if (pos >= pof2->n_pairs)
        return pos + pof2->n_pairs;
    return 2 * pos == pof2->keep ? 2 * pos : 2 * pos + 1;
}

static void pof2_swap(void **a, void **b)
{
    void *t = *a;

    *a = *b;
    *b = t;
}

void dm_coll_pof2_reduce(struct dm_run *run, const struct dm_coll_pof2 *pof2,
                         const struct dm_coll_args *a, void **acc_p, void **tmp_p)
{
    if (pof2->pair < 0)
        return;
    if (pof2->pos < 0) {
        dm_coll_send(run, *acc_p, a->rcount, a->rtype, pof2->pair);
        return;
    }
    dm_coll_recv(run, *tmp_p, a->rcount, a->rtype, pof2->pair);
    if (pof2->pair < run->rank) {
        dm_coll_combine(run, a->op, *tmp_p, *acc_p, a->rcount, a->rtype);
    } else {
        dm_coll_combine(run, a->op, *acc_p, *tmp_p, a->rcount, a->rtype);
        pof2_swap(acc_p, tmp_p);
    }
}

void dm_coll_halve(struct dm_run *run, const struct dm_coll_pof2 *pof2,
                   const struct dm_coll_args *a, void **acc_p, void **tmp_p,
                   struct dm_coll_halving *h)
{
    struct dm_coll_range all = {0, a->rcount};
    int i = 0;

    for (int step = 1; step < pof2->n; step *= 2, i++) {
        int partner = dm_coll_pof2_rank(pof2, pof2->pos ^ step);
        bool is_lower = (pof2->pos & step) == 0;
        size_t mid = all.lo + (all.hi - all.lo) / 2;
        struct dm_coll_range lower = {all.lo, mid};
        struct dm_coll_range upper = {mid, all.hi};
        struct dm_coll_range mine = is_lower ? lower : upper;
        struct dm_coll_range theirs = is_lower ? upper : lower;
        void *acc = dm_coll_at(*acc_p, (MPI_Count)mine.lo, a->rtype);
        void *tmp = dm_coll_at(*tmp_p, (MPI_Count)mine.lo, a->rtype);

        dm_coll_sendrecv(run, dm_coll_at(*acc_p, (MPI_Count)theirs.lo, a->rtype),
                         theirs.hi - theirs.lo, a->rtype, partner, tmp, mine.hi - mine.lo, a->rtype,
                         partner);
        if (is_lower) {
            dm_coll_combine(run, a->op, acc, tmp, mine.hi - mine.lo, a->rtype);
            pof2_swap(acc_p, tmp_p);
        } else {
            dm_coll_combine(run, a->op, tmp, acc, mine.hi - mine.lo, a->rtype);
        }
        h->at[i] = all;
        all = mine;
    }
    h->at[i] = all;
    h->depth = i;
}

struct dm_coll_range dm_coll_halving_other(const struct dm_coll_halving *h, int i)
{
    struct dm_coll_range all = h->at[i];
    struct dm_coll_range mine = h->at[i + 1];
    size_t mid = all.lo + (all.hi - all.lo) / 2;

    /* The upper half is never the shorter one. */
    if (mine.hi == mid)
        return (struct dm_coll_range){mid, all.hi};
    return (struct dm_coll_range){all.lo, mid};
}
