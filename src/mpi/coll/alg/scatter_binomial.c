/*
 * Scatter of equal blocks over a binomial tree: inner ranks pass on the packed blocks of
 * their subtree. The root sends straight from its buffer; the subtree that wraps round
 * the last rank goes through a temporary.
 */
#include "mpi/coll/alg/alg.h"

/* At the root: the blocks of n ranks from tree position pos on. */
static void hand_out(struct dm_run *run, const struct dm_coll_args *a, int64_t pos, int64_t n)
{
    int first = (int)((pos + a->root) % run->size);
    size_t block = dm_coll_bytes(a->scount, a->stype);
    char *tmp;

    if (first + n <= run->size) {
        dm_coll_send(run, dm_coll_splace(a, first), a->scount * (size_t)n, a->stype, first);
        return;
    }
    tmp = dm_coll_alloc_n(run, (size_t)n, block);
    if (tmp == NULL)
        return;
    for (int i = 0; i < n; i++)
        dm_coll_pack(run, dm_coll_splace(a, (first + i) % run->size), a->scount, a->stype,
                     tmp + (size_t)i * block);
    dm_coll_send(run, tmp, block * (size_t)n, dm_coll_byte(), first);
}

static void scatter_at_root(struct dm_run *run, const struct dm_coll_args *a)
{
    int64_t step = 1;

    while (step < run->size)
        step *= 2;
    for (step /= 2; step > 0; step /= 2)
        hand_out(run, a, step, step < run->size - step ? step : run->size - step);
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, run->rank), a->scount, a->stype, a->rbuf, a->rcount,
                     a->rtype);
}

void dm_coll_scatter_binomial(struct dm_run *run, const struct dm_coll_args *a)
{
    int n = run->size;
    int me = (run->rank - a->root + n) % n;
    int64_t span = 1; /* ranks in my subtree */
    size_t block;
    size_t held;
    char *tmp;

    if (me == 0) {
        scatter_at_root(run, a);
        return;
    }
    while ((me & span) == 0)
        span *= 2;
    if (span == 1 || me == n - 1) {
        dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, (int)((me - span + a->root) % n));
        return;
    }
    block = dm_coll_bytes(a->rcount, a->rtype);
    held = (size_t)(span < n - me ? span : n - me);
    tmp = dm_coll_alloc_n(run, held, block);
    if (tmp == NULL)
        return;
    dm_coll_recv(run, tmp, held * block, dm_coll_byte(), (int)((me - span + a->root) % n));
    for (int64_t step = span / 2; step > 0; step /= 2) {
        int64_t left = n - me - step;

        if (left > 0)
            dm_coll_send(run, tmp + (size_t)step * block,
                         (size_t)(step < left ? step : left) * block, dm_coll_byte(),
                         (int)((me + step + a->root) % n));
    }
    dm_coll_unpack(run, tmp, a->rbuf, a->rcount, a->rtype);
}
