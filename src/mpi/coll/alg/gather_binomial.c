/*
 * Gather of equal blocks over a binomial tree: inner ranks collect their subtree packed.
 * The root receives subtrees straight into its buffer; the one that wraps round the last
 * rank goes through a temporary.
 */
#include "mpi/coll/alg/alg.h"

/* At the root: the blocks of n ranks from tree position pos on. */
static void gather_collect(struct dm_run *run, const struct dm_coll_args *a, int64_t pos, int64_t n)
{
    int first = (int)((pos + a->root) % run->size);
    size_t block = dm_coll_bytes(a->rcount, a->rtype);
    char *tmp;

    if (first + n <= run->size) {
        dm_coll_recv(run, dm_coll_rplace(a, first), a->rcount * (size_t)n, a->rtype, first);
        return;
    }
    tmp = dm_coll_alloc_n(run, (size_t)n, block);
    if (tmp == NULL)
        return;
    dm_coll_recv(run, tmp, block * (size_t)n, dm_coll_byte(), first);
    for (int i = 0; i < n; i++)
        dm_coll_unpack(run, tmp + (size_t)i * block, dm_coll_rplace(a, (first + i) % run->size),
                       a->rcount, a->rtype);
}

static void gather_at_root(struct dm_run *run, const struct dm_coll_args *a)
{
    for (int64_t step = 1; step < run->size; step *= 2)
        gather_collect(run, a, step, step < run->size - step ? step : run->size - step);
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, run->rank), a->rcount,
                     a->rtype);
}

void dm_coll_gather_binomial(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    int me = (run->rank - a->root + n) % n;
    int64_t span = 1; /* ranks in my subtree */
    size_t block;
    char *tmp;

    if (me == 0) {
        gather_at_root(run, a);
        return;
    }
    while ((me & span) == 0)
        span *= 2;
    if (span == 1 || me == n - 1) {
        dm_coll_send(run, a->sbuf, a->scount, a->stype, (int)((me - span + a->root) % n));
        return;
    }
    block = dm_coll_bytes(a->scount, a->stype);
    tmp = dm_coll_alloc_n(run, (size_t)(span < n - me ? span : n - me), block);
    if (tmp == NULL)
        return;
    dm_coll_pack(run, a->sbuf, a->scount, a->stype, tmp);
    for (int64_t step = 1; step < span && me + step < n; step *= 2) {
        int64_t have = step < n - me - step ? step : n - me - step;

        dm_coll_recv(run, tmp + (size_t)step * block, (size_t)have * block, dm_coll_byte(),
                     (int)((me + step + a->root) % n));
    }
    dm_coll_send(run, tmp, (size_t)(span < n - me ? span : n - me) * block, dm_coll_byte(),
                 (int)((me - span + a->root) % n));
}
