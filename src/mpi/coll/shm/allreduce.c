/*
 * Allreduce: a short vector is reduced by each rank for itself, or by the last one for all, among many
 * by the last one of each group and then the last one of all; of a long one each rank reduces a part.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/reduction.h"
#include "util/copy.h"

#define SMALL_FLAT ((size_t)16 << 10) /* bytes that everybody reduces for itself */

/* ---- a short vector to all ---- */

static void allreduce_own(struct dm_reduction *r, size_t len)
{
    struct dm_coll_shm *shm = r->shm;
    char *to = dm_reduction_direct(r, r->a->rbuf, 0);
    char *io = to != NULL ? to : dm_coll_alloc(r->run, len);

    if (io == NULL || !dm_reduction_agrees(r, r->base, len))
        return;
    if (shm->me != r->base || !r->a->is_in_place || to == NULL)
        dm_copy(io, dm_coll_shm_slot_data(shm, r->base, len), len);
    dm_reduction_add_all(r, len, 0, NULL, io, r->n_now);
    if (to == NULL)
        dm_reduction_store(r, 0, io, len);
}

/* The vector, or what those of a group have become, of a local rank to that of another one. */
static void allreduce_add(struct dm_reduction *r, int lrank, int base)
{
    size_t len = r->n_now * r->size;

    if (dm_reduction_agrees(r, lrank, len))
        dm_reduction_combine(r, dm_coll_shm_slot_data(r->shm, lrank, len),
                             dm_coll_shm_slot_data(r->shm, base, len), r->n_now);
}

static void allreduce_for_group(void *arg, int from, int to)
{
    struct dm_reduction *r = arg;

    if (r->base == 0)
        for (int i = from + 1; i < to; i++)
            allreduce_add(r, i, from);
    else
        for (int i = to - 2; i >= from; i--)
            allreduce_add(r, i, to - 1);
}

static void allreduce_for_all(void *arg, int n_each)
{
    struct dm_reduction *r = arg;

    if (r->base == 0)
        for (int i = n_each; i < r->shm->n; i += n_each)
            allreduce_add(r, i, 0);
    else
        for (int i = (r->base / n_each) * n_each - 1; i >= 0; i -= n_each)
            allreduce_add(r, i, r->base);
}

static void allreduce_small(struct dm_reduction *r)
{
    struct dm_coll_shm_work work = {allreduce_for_group, allreduce_for_all, r};
    struct dm_coll_shm *shm = r->shm;
    size_t len = dm_reduction_begin(r, 0);

    dm_reduction_expect(r, r->a->rcount);
    if (!dm_coll_shm_claim(r->run, shm, len))
        return;
    dm_reduction_put(r, 0, 0, r->n_now);
    if (shm->is_flat) {
        if (dm_coll_shm_barrier(r->run, shm, len, len))
            allreduce_own(r, len);
    } else if (dm_coll_shm_barrier_work(r->run, shm, len, len, &work)) {
        if (dm_reduction_agrees(r, r->base, len))
            dm_reduction_store(r, 0, dm_coll_shm_slot_data(shm, r->base, len), len);
    }
    dm_coll_shm_finish(r->run, shm);
}

/* ---- a long vector: each rank reduces a part ---- */

/* First element of a local rank's part of n. */
static inline size_t part_first(const struct dm_reduction *r, size_t n, int lrank)
{
    return n * (size_t)lrank / (size_t)r->shm->n;
}

/* My vector but for the part that I reduce: that is read where it is, unless it is the base's. */
static void parts_put(const struct dm_reduction *r, size_t at)
{
    size_t lo = part_first(r, r->n_now, r->shm->me), hi = part_first(r, r->n_now, r->shm->me + 1);

    if (r->shm->me == r->base || !r->a->rtype->is_contig) {
        dm_reduction_put(r, at, 0, r->n_now);
        return;
    }
    dm_reduction_put(r, at, 0, lo);
    dm_reduction_put(r, at, hi, r->n_now - hi);
}

static void parts_reduce(struct dm_reduction *r, size_t at, bool is_wanted)
{
    struct dm_coll_shm *shm = r->shm;
    size_t len = r->n_now * r->size, lo = part_first(r, r->n_now, shm->me);
    size_t n = part_first(r, r->n_now, shm->me + 1) - lo;
    char *io = dm_coll_shm_slot_data(shm, r->base, len) + lo * r->size;

    if (n == 0 || !dm_reduction_agrees(r, r->base, len))
        return;
    dm_reduction_add_all(r, len, lo * r->size, dm_reduction_direct(r, r->a->sbuf, at + lo), io, n);
    if (is_wanted)
        dm_reduction_store(r, at + lo, io, n * r->size);
}

/* The parts of a round before that others have reduced. */
static void parts_store(const struct dm_reduction *r, uint64_t round, size_t at, size_t n)
{
    const char *src = dm_coll_shm_slot_data_at(r->shm, r->base, round, n * r->size);
    size_t lo = part_first(r, n, r->shm->me), hi = part_first(r, n, r->shm->me + 1);

    dm_reduction_store(r, at, src, lo * r->size);
    dm_reduction_store(r, at + hi, src + hi * r->size, (n - hi) * r->size);
}

/*
 * In each round the raw vectors are posted, and what was reduced in the round before is read: one
 * barrier a round. A slot is read one round longer than its own.
 */
void dm_reduction_parts(struct dm_reduction *r, bool is_wanted)
{
    struct dm_coll_shm *shm = r->shm;
    size_t n_before = 0;

    dm_reduction_expect(r, r->a->rcount + r->n);
    for (size_t at = 0; at < r->a->rcount + r->n; at += r->n) {
        size_t len = 0;

        if (at < r->a->rcount)
            len = dm_reduction_begin(r, at);
        else
            dm_coll_shm_next(shm);
        if (!dm_coll_shm_claim(r->run, shm, len))
            return;
        if (len > 0)
            parts_put(r, at);
        if (!dm_coll_shm_barrier(r->run, shm, len, r->total))
            return;
        if (is_wanted && n_before > 0)
            parts_store(r, shm->round - 1, at - r->n, n_before);
        if (len > 0)
            parts_reduce(r, at, is_wanted);
        n_before = r->n_now;
    }
    shm->n_finished--;
    dm_coll_shm_finish(r->run, shm);
}

void dm_coll_allreduce_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct dm_reduction r;

    if ((size_t)a->rtype->size > shm->space) {
        dm_coll_allreduce_tree(run, a);
        return;
    }
    dm_coll_shm_expect(shm, 2 * bytes * (size_t)shm->n);
    if (dm_reduction_open(&r, run, a, 1, bytes)) {
        if (r.n >= a->rcount && bytes <= (shm->is_flat ? SMALL_FLAT : DM_REDUCTION_SMALL))
            allreduce_small(&r);
        else
            dm_reduction_parts(&r, true);
    }
    dm_coll_shm_close(run, shm);
}
