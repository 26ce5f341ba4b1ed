/*
 * Reduce_scatter: to each its block, reduced where the base has posted it.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/reduction.h"

/* Elements of a block in the round that begins with number `at` of each. */
static size_t scatter_in_block(const struct dm_reduction *r, int lrank, size_t at)
{
    size_t count = dm_coll_rcount(r->a, lrank);

    if (at >= count)
        return 0;
    return count - at < r->n ? count - at : r->n;
}

/* Do all have vectors as long as mine? */
static bool scatter_agrees(struct dm_reduction *r)
{
    for (int i = 0; i < r->shm->n; i++)
        if (!dm_reduction_agrees(r, i, r->shm->space))
            return false;
    return true;
}

static void reduce_scatter_round(struct dm_reduction *r, size_t at, const size_t *firsts,
                                 size_t all)
{
    struct dm_coll_shm *shm = r->shm;
    const struct dm_coll_args *a = r->a;
    size_t stride = r->n * r->size, n = scatter_in_block(r, shm->me, at);
    char *place, *io;

    dm_coll_shm_next(shm);
    if (!dm_coll_shm_claim(r->run, shm, shm->space))
        return;
    place = dm_coll_shm_slot_data(shm, shm->me, shm->space);
    for (int i = 0; i < shm->n; i++)
        dm_coll_shm_pack(a->sbuf, all, a->rtype, (firsts[i] + at) * r->size,
                         place + stride * (size_t)i, scatter_in_block(r, i, at) * r->size);
    if (!dm_coll_shm_barrier(r->run, shm, shm->space, r->total))
        return;
    io = dm_coll_shm_slot_data(shm, r->base, shm->space) + stride * (size_t)shm->me;
    if (scatter_agrees(r) && n > 0) {
        dm_reduction_add_all(r, shm->space, stride * (size_t)shm->me, NULL, io, n);
        dm_coll_shm_unpack(r->run, a->rbuf, dm_coll_rcount(a, shm->me), a->rtype, at * r->size, io,
                           n * r->size);
    }
    dm_coll_shm_finish(r->run, shm);
}

void dm_coll_reduce_scatter_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    size_t most = 0, all = 0, *firsts;
    struct dm_reduction r;

    if ((size_t)a->rtype->size > dm_coll_shm_part(shm, shm->n)) {
        dm_coll_reduce_scatter_allreduce(run, a);
        return;
    }
    firsts = dm_coll_alloc_n(run, (size_t)shm->n, sizeof(*firsts));
    for (int i = 0; i < shm->n && firsts != NULL; i++) {
        size_t count = dm_coll_rcount(a, i);

        firsts[i] = all;
        all += count;
        most = count > most ? count : most;
    }
    if (firsts != NULL &&
        dm_reduction_open(&r, run, a, (size_t)shm->n, dm_coll_bytes(all, a->rtype))) {
        dm_coll_shm_expect(shm, 2 * all * r.size * (size_t)shm->n);
        dm_reduction_expect(&r, most);
        for (size_t at = 0; at < most && !run->is_stopped; at += r.n)
            reduce_scatter_round(&r, at, firsts, all);
    }
    dm_coll_shm_close(run, shm);
}
