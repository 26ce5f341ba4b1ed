/*
 * Reduce, to a root.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/reduce_pair.h"
#include "mpi/coll/shm/reduction.h"
#include "util/copy.h"

#define ROOT_ALONE 3 /* ranks whose vectors the root reduces alone */

static void reduce_send(struct dm_reduction *r)
{
    for (size_t at = 0; at < r->a->rcount; at += r->n) {
        size_t len = dm_reduction_begin(r, at);

        if (!dm_coll_shm_claim(r->run, r->shm, len))
            return;
        dm_reduction_put(r, at, 0, r->n_now);
        dm_coll_shm_post(r->run, r->shm, len, r->total, false);
        dm_coll_shm_finish(r->run, r->shm);
    }
}

/* The base's own vector, while the others still write theirs. */
static void reduce_copy_base(const struct dm_reduction *r, size_t at, size_t len)
{
    const char *own = dm_reduction_direct(r, r->a->sbuf, at);
    char *io = dm_reduction_direct(r, r->a->rbuf, at);

    if (io != NULL && io != own)
        dm_copy(io, own, len);
}

/*
 * Into the root's buffer, so that nothing is written that others wrote before. Where that is not
 * packed, into the base's slot, which is its poster's no more.
 */
static void reduce_round(struct dm_reduction *r, size_t at, size_t len)
{
    struct dm_coll_shm *shm = r->shm;
    char *own = dm_reduction_direct(r, r->a->sbuf, at),
         *io = dm_reduction_direct(r, r->a->rbuf, at);
    const char *first = own;

    if (own == NULL) {
        /* mine are not posted: nobody else reads them */
        dm_coll_shm_head(shm, shm->me)->len = (uint32_t)len;
        dm_coll_shm_head(shm, shm->me)->total = r->total;
        dm_reduction_put(r, at, 0, r->n_now);
    }
    if (shm->me != r->base || own == NULL) {
        if (!dm_reduction_agrees(r, r->base, len))
            return;
        first = dm_coll_shm_slot_data(shm, r->base, len);
    }
    if (io == NULL) {
        io = dm_coll_shm_slot_data(shm, r->base, len);
    } else if (io == own && shm->me != r->base) {
        /* in place: mine must be kept */
        dm_copy(r->spare, own, len);
        own = r->spare;
    }
    if (shm->me != r->base && io != first)
        dm_copy(io, first, len);
    dm_reduction_add_all(r, len, 0, own, io, r->n_now);
    if (dm_reduction_direct(r, r->a->rbuf, at) == NULL)
        dm_reduction_store(r, at, io, len);
}

static void reduce_receive(struct dm_reduction *r)
{
    for (size_t at = 0; at < r->a->rcount; at += r->n) {
        size_t len = dm_reduction_begin(r, at);

        if (!dm_coll_shm_claim(r->run, r->shm, len))
            return;
        if (r->shm->me == r->base)
            reduce_copy_base(r, at, len);
        for (int i = 0; i < r->shm->n; i++)
            if (i != r->shm->me && dm_coll_shm_await(r->run, r->shm, i, false) == NULL)
                return;
        reduce_round(r, at, len);
        dm_coll_shm_finish(r->run, r->shm);
    }
}

void dm_coll_shm_reduce(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a,
                        int root)
{
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct dm_reduction r;

    dm_coll_shm_expect(shm, 2 * bytes * (size_t)shm->n);
    if (dm_coll_shm_is_pair(shm, a, bytes)) {
        dm_coll_shm_pair_reduce(run, shm, a, bytes, root);
        shm->n_rounds = 0;
        return;
    }
    if (!dm_reduction_open(&r, run, a, 1, bytes))
        return;
    if (shm->n > ROOT_ALONE && bytes > DM_REDUCTION_SMALL) {
        dm_reduction_parts(&r, shm->me == root);
    } else {
        dm_reduction_set_pieces(&r, bytes);
        dm_reduction_expect(&r, a->rcount);
        if (shm->n == 2 && shm->me == root && (root == 1 || a->op->is_commutative))
            r.base = root; /* either is right, and mine need not be waited for */
        if (shm->me != root)
            reduce_send(&r);
        else if (!a->is_in_place || dm_reduction_open_spare(&r))
            reduce_receive(&r);
    }
    shm->n_rounds = 0;
}

void dm_coll_reduce_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    if ((size_t)a->rtype->size > shm->space) {
        dm_coll_reduce_binomial(run, a);
        return;
    }
    dm_coll_shm_reduce(run, shm, a, a->root);
    dm_coll_shm_close(run, shm);
}
