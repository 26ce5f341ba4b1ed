/*
 * From and to a root over a segment: scatter and gather, with equal or different counts. Who
 * gives data says how they travel, so the ranks need not know each other's counts: in slots, or
 * from where they are.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/blocks.h"
#include "mpi/coll/shm/data.h"
#include "mpi/coll/shm/rounds.h"
#include "mpi/coll/shm/split_copy.h"

/* ---- one to all ---- */

/* In pieces; the root waits for nobody but for space. */
static void scatter_out(struct dm_run *run, struct dm_coll_shm *shm, struct dm_coll_shm_blocks *x)
{
    size_t at = 0, piece = dm_coll_shm_piece(shm, x->total), space = dm_coll_shm_blocks_space(shm);

    piece = piece < space ? piece : space;
    do {
        size_t n = x->total - at < piece ? x->total - at : piece;
        size_t len = dm_coll_shm_blocks_len(shm, n);

        dm_coll_shm_next(shm);
        if (!dm_coll_shm_claim(run, shm, len))
            return;
        dm_coll_shm_blocks_put(x, shm, n);
        at += n;
        dm_coll_shm_post(run, shm, len, x->total - at, true);
        dm_coll_shm_finish(run, shm);
    } while (at < x->total);
}

static void scatter_expose(struct dm_run *run, struct dm_coll_shm *shm,
                           const struct dm_coll_shm_blocks *x)
{
    dm_coll_shm_next(shm);
    if (!dm_coll_shm_claim(run, shm, dm_coll_shm_spans_len(shm)) ||
        !dm_coll_shm_blocks_expose(run, x, shm))
        return;
    dm_coll_shm_post(run, shm, dm_coll_shm_spans_len(shm), DM_COLL_SHM_BY_CMA, true);
}

static void scatter_root(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a)
{
    struct dm_coll_shm_blocks x;
    bool is_exposed;

    dm_coll_shm_blocks_open(&x, shm, a, false);
    dm_coll_shm_expect(shm, 2 * x.total);
    is_exposed = dm_coll_shm_uses_cma(shm, x.most) && !dm_coll_shm_runs_ahead(shm, x.total);
    if (is_exposed)
        scatter_expose(run, shm, &x);
    else
        scatter_out(run, shm, &x);
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, shm->me), dm_coll_scount(a, shm->me), a->stype, a->rbuf,
                     a->rcount, a->rtype);
    if (!is_exposed || run->is_stopped)
        return;
    dm_coll_shm_finish(run, shm);
    dm_coll_shm_await_all_finished(run, shm);
}

static void scatter_in(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a)
{
    size_t at = 0, left;

    do {
        const struct dm_coll_shm_head *head;

        dm_coll_shm_next(shm);
        head = dm_coll_shm_await(run, shm, a->root, true);
        if (head == NULL)
            return;
        left = head->total;
        if (left == DM_COLL_SHM_BY_CMA) {
            dm_coll_shm_cma_read(run, shm, a->root, dm_coll_shm_spans(shm, a->root) + shm->me,
                                 a->rbuf, a->rcount, a->rtype, true);
            left = 0;
        } else {
            size_t len;
            const char *src = dm_coll_shm_blocks_get(shm, a->root, head->len, &len);

            if (len > 0)
                dm_coll_shm_unpack(run, a->rbuf, a->rcount, a->rtype, at, src, len);
            at += len;
        }
        dm_coll_shm_finish(run, shm);
    } while (left > 0);
}

void dm_coll_scatter_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    if (shm->me == a->root)
        scatter_root(run, shm, a);
    else
        scatter_in(run, shm, a);
    dm_coll_shm_close(run, shm);
}

/* ---- all to one ---- */

/*
 * What does not fit into a slot and cannot be read goes by messages: the root alone knows how
 * long it is.
 */
static void gather_out(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a)
{
    struct dm_coll_shm_buf mine = {(void *)(uintptr_t)a->sbuf, a->scount, a->stype};
    size_t len = dm_coll_bytes(a->scount, a->stype), slot = len;
    uint64_t how = 0;

    if (dm_coll_shm_uses_cma(shm, len) && !(shm->is_oversubscribed && len <= shm->space)) {
        how = DM_COLL_SHM_BY_CMA;
        slot = sizeof(struct dm_coll_shm_span);
    } else if (len > shm->space) {
        how = DM_COLL_SHM_MESSAGE;
        slot = 0;
    }
    dm_coll_shm_expect(shm, 2 * len * (size_t)shm->n);
    dm_coll_shm_next(shm);
    if (!dm_coll_shm_claim(run, shm, slot))
        return;
    if (how == 0 && len > 0)
        dm_coll_shm_pack(mine.buf, mine.count, mine.type, 0,
                         dm_coll_shm_slot_data(shm, shm->me, len), len);
    if (how == DM_COLL_SHM_BY_CMA && !dm_coll_shm_expose(run, mine, dm_coll_shm_span(shm, shm->me)))
        return;
    dm_coll_shm_post(run, shm, slot, how, false);
    dm_coll_shm_finish(run, shm);
    if (how == DM_COLL_SHM_BY_CMA && dm_coll_shm_can_split(shm))
        dm_coll_shm_split_serve(run, shm);
    else if (how == DM_COLL_SHM_BY_CMA)
        dm_coll_shm_await_finished(run, shm, a->root);
    else if (how == DM_COLL_SHM_MESSAGE)
        dm_coll_send(run, a->sbuf, a->scount, a->stype, a->root);
}

static bool gather_from(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a,
                        int lrank)
{
    const struct dm_coll_shm_head *head = dm_coll_shm_await(run, shm, lrank, false);
    size_t count = dm_coll_rcount(a, lrank);
    void *buf = dm_coll_rplace(a, lrank);

    if (head == NULL)
        return false;
    if (head->total == DM_COLL_SHM_BY_CMA)
        dm_coll_shm_cma_read(run, shm, lrank, dm_coll_shm_span(shm, lrank), buf, count, a->rtype,
                             true);
    else if (head->total == DM_COLL_SHM_MESSAGE)
        dm_coll_irecv(run, buf, count, a->rtype, lrank);
    else if (head->len > 0)
        dm_coll_shm_unpack(run, buf, count, a->rtype, 0,
                           dm_coll_shm_slot_data(shm, lrank, head->len), head->len);
    return true;
}

static void gather_in(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a)
{
    size_t total = 0;

    for (int i = 0; i < shm->n; i++)
        total += dm_coll_rcount(a, i);
    dm_coll_shm_expect(shm, 2 * dm_coll_bytes(total, a->rtype));
    dm_coll_shm_next(shm);
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, shm->me),
                     dm_coll_rcount(a, shm->me), a->rtype);
    for (int i = 0; i < shm->n; i++)
        if (i != shm->me && dm_coll_rcount(a, i) > 0 && !gather_from(run, shm, a, i))
            return;
    dm_coll_shm_finish(run, shm);
    dm_coll_wait(run);
}

void dm_coll_shm_gather(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a)
{
    if (shm->me == a->root)
        gather_in(run, shm, a);
    else
        gather_out(run, shm, a);
}

void dm_coll_gather_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    dm_coll_shm_gather(run, shm, a);
    dm_coll_shm_close(run, shm);
}
