/*
 * Scan and exscan: each reduces the short vectors of the ranks below; pieces of longer ones
 * travel from rank to rank.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/cma.h"
#include "mpi/coll/shm/reduce_pair.h"
#include "mpi/coll/shm/reduction.h"
#include "util/copy.h"

#define SMALL_SCAN ((size_t)4 << 10) /* bytes that each reduces with those of all below */

/* ---- short vectors ---- */

/* The ranks below, and mine when it is inclusive. */
static void scan_reduce_below(struct dm_reduction *r, size_t len, bool is_inclusive)
{
    int top = is_inclusive ? r->shm->me : r->shm->me - 1;
    char *io = dm_reduction_direct(r, r->a->rbuf, 0), *to = io;

    if (top < 0)
        return;
    dm_reduction_set_last(r, top);
    if (io == NULL)
        io = r->spare;
    if (!dm_reduction_agrees(r, r->base, len))
        return;
    dm_copy(io, dm_coll_shm_slot_data(r->shm, r->base, len), len);
    dm_reduction_add_all(r, len, 0, NULL, io, r->n_now);
    if (to == NULL)
        dm_reduction_store(r, 0, io, len);
}

/* Everybody reads all below: each needs to run once. */
static void scan_small(struct dm_reduction *r, bool is_inclusive)
{
    struct dm_coll_shm *shm = r->shm;
    size_t len = dm_reduction_begin(r, 0);

    if (!dm_coll_shm_claim(r->run, shm, len))
        return;
    dm_reduction_put(r, 0, 0, r->n_now);
    dm_coll_shm_post(r->run, shm, len, r->total, false);
    for (int i = 0; i < shm->me; i++)
        if (dm_coll_shm_await(r->run, shm, i, false) == NULL)
            return;
    scan_reduce_below(r, len, is_inclusive);
    dm_coll_shm_finish(r->run, shm);
}

/* ---- longer ones: what is reduced goes from rank to rank ---- */

/* Mine, and in the end what is reduced: in my slot, or where only I need it; NULL: nobody does. */
static char *scan_place(struct dm_reduction *r, size_t at, size_t len, bool is_inclusive)
{
    char *result = dm_reduction_direct(r, r->a->rbuf, at);

    if (r->shm->me < r->shm->n - 1)
        return dm_coll_shm_slot_data(r->shm, r->shm->me, len);
    if (!is_inclusive)
        return NULL;
    return result != NULL ? result : r->spare;
}

static void scan_round(struct dm_reduction *r, size_t at, bool is_inclusive)
{
    struct dm_coll_shm *shm = r->shm;
    size_t len = dm_reduction_begin(r, at);
    const char *below = NULL, *own = dm_reduction_direct(r, r->a->sbuf, at);
    char *io = scan_place(r, at, len, is_inclusive);

    if (!dm_coll_shm_claim(r->run, shm, shm->me < shm->n - 1 ? len : 0))
        return;
    if (io != NULL && io != own)
        dm_coll_shm_pack(r->a->sbuf, r->a->rcount, r->a->rtype, at * r->size, io, len);
    if (shm->me > 0) {
        if (dm_coll_shm_await(r->run, shm, shm->me - 1, false) == NULL)
            return;
        if (dm_reduction_agrees(r, shm->me - 1, len))
            below = dm_coll_shm_slot_data(shm, shm->me - 1, len);
        if (io != NULL && below != NULL)
            dm_reduction_combine(r, below, io, r->n_now);
    }
    if (shm->me < shm->n - 1)
        dm_coll_shm_post(r->run, shm, len, r->total, false);
    if (is_inclusive && io != dm_reduction_direct(r, r->a->rbuf, at))
        dm_reduction_store(r, at, io, len);
    if (!is_inclusive && below != NULL)
        dm_reduction_store(r, at, below, len);
    dm_coll_shm_finish(r->run, shm);
}

/* Exscan of two is a copy. */
static void exscan_pair(struct dm_reduction *r)
{
    struct dm_run *run = r->run;
    struct dm_coll_shm *shm = r->shm;
    const struct dm_coll_args *a = r->a;
    struct dm_coll_shm_buf mine = {(void *)(uintptr_t)a->sbuf, a->rcount, a->rtype};

    shm->n_rounds = 1;
    dm_coll_shm_next(shm);
    if (shm->me > 0) {
        const struct dm_coll_shm_head *head = dm_coll_shm_await(run, shm, 0, false);

        if (head != NULL && head->total == DM_COLL_SHM_BY_CMA)
            dm_coll_shm_cma_read(run, shm, 0, dm_coll_shm_span(shm, 0), a->rbuf, a->rcount,
                                 a->rtype, true);
        else if (head != NULL)
            dm_reduction_agrees(r, 0, r->total);
        dm_coll_shm_finish(run, shm);
        return;
    }
    if (!dm_coll_shm_claim(run, shm, sizeof(struct dm_coll_shm_span)) ||
        !dm_coll_shm_expose(run, mine, dm_coll_shm_span(shm, 0)))
        return;
    dm_coll_shm_post(run, shm, sizeof(struct dm_coll_shm_span), DM_COLL_SHM_BY_CMA, false);
    dm_coll_shm_finish(run, shm);
    dm_coll_shm_await_all_finished(run, shm);
}

static void scan_run(struct dm_run *run, const struct dm_coll_args *a, bool is_inclusive)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    size_t bytes = dm_coll_bytes(a->rcount, a->rtype);
    struct dm_reduction r;

    dm_coll_shm_expect(shm, bytes * (size_t)shm->n);
    if (is_inclusive && dm_coll_shm_is_pair(shm, a, bytes)) {
        dm_coll_shm_pair_reduce(run, shm, a, bytes, 1);
        if (shm->me == 0 && a->sbuf != a->rbuf)
            dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
    } else if (dm_reduction_open(&r, run, a, 1, bytes) &&
               (a->rtype->is_contig || dm_reduction_open_spare(&r))) {
        dm_reduction_set_pieces(&r, bytes);
        dm_reduction_expect(&r, a->rcount);
        if (shm->n == 2 && !is_inclusive && dm_coll_shm_uses_cma(shm, bytes))
            exscan_pair(&r);
        else if (bytes <= SMALL_SCAN && r.n >= a->rcount)
            scan_small(&r, is_inclusive);
        else
            for (size_t at = 0; at < a->rcount && !run->is_stopped; at += r.n)
                scan_round(&r, at, is_inclusive);
    }
    dm_coll_shm_close(run, shm);
}

void dm_coll_scan_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    if ((size_t)a->rtype->size > dm_coll_shm_of(run)->space)
        dm_coll_scan_doubling(run, a);
    else
        scan_run(run, a, true);
}

void dm_coll_exscan_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    if ((size_t)a->rtype->size > dm_coll_shm_of(run)->space)
        dm_coll_exscan_doubling(run, a);
    else
        scan_run(run, a, false);
}
