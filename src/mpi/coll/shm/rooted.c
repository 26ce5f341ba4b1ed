/*
 * From and to a root over a segment: scatter and gather, with equal or different counts. Who gives data says
 * how they travel, so the ranks need not know each other's counts: in slots, or from where they are.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/coll_shm.h"

/* ---- one to all ---- */

/* In pieces; the root waits for nobody but for space. */
static void scatter_out(struct dm_run *run, struct dm_coll_shm *b, struct dm_coll_shm_blocks *x)
{
    size_t at = 0, piece = dm_coll_shm_piece(b, x->total), space = dm_coll_shm_blocks_space(b);

    piece = piece < space ? piece : space;
    do {
        size_t n = x->total - at < piece ? x->total - at : piece;
        size_t len = dm_coll_shm_blocks_len(b, n);

        dm_coll_shm_next(b);
        if (!dm_coll_shm_claim(run, b, len))
            return;
        dm_coll_shm_blocks_put(x, b, n);
        at += n;
        dm_coll_shm_post(run, b, len, x->total - at, true);
        dm_coll_shm_finish(run, b);
    } while (at < x->total);
}

static void scatter_show(struct dm_run *run, struct dm_coll_shm *b,
                         const struct dm_coll_shm_blocks *x)
{
    dm_coll_shm_next(b);
    if (!dm_coll_shm_claim(run, b, dm_coll_shm_spans_len(b)) || !dm_coll_shm_blocks_show(run, x, b))
        return;
    dm_coll_shm_post(run, b, dm_coll_shm_spans_len(b), DM_COLL_SHM_BY_CMA, true);
}

static void scatter_root(struct dm_run *run, struct dm_coll_shm *b, const struct dm_coll_args *a)
{
    struct dm_coll_shm_blocks x;
    bool is_shown;

    dm_coll_shm_blocks_open(&x, b, a, false);
    dm_coll_shm_expect(b, 2 * x.total);
    is_shown = dm_coll_shm_uses_cma(b, x.most) && !dm_coll_shm_runs_ahead(b, x.total);
    if (is_shown)
        scatter_show(run, b, &x);
    else
        scatter_out(run, b, &x);
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, b->me), dm_coll_scount(a, b->me), a->stype, a->rbuf,
                     a->rcount, a->rtype);
    if (!is_shown || run->is_stopped)
        return;
    dm_coll_shm_finish(run, b);
    dm_coll_shm_await_all_finished(run, b);
}

static void scatter_in(struct dm_run *run, struct dm_coll_shm *b, const struct dm_coll_args *a)
{
    size_t at = 0, left;

    do {
        const struct dm_coll_shm_head *head;

        dm_coll_shm_next(b);
        head = dm_coll_shm_await(run, b, a->root, true);
        if (head == NULL)
            return;
        left = head->total;
        if (left == DM_COLL_SHM_BY_CMA) {
            dm_coll_shm_cma_read(run, b, a->root, dm_coll_shm_spans(b, a->root) + b->me, a->rbuf,
                                 a->rcount, a->rtype, true);
            left = 0;
        } else {
            size_t len;
            const char *src = dm_coll_shm_blocks_get(b, a->root, head->len, &len);

            if (len > 0)
                dm_coll_shm_unpack(run, a->rbuf, a->rcount, a->rtype, at, src, len);
            at += len;
        }
        dm_coll_shm_finish(run, b);
    } while (left > 0);
}

void dm_coll_scatter_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);

    if (b->me == a->root)
        scatter_root(run, b, a);
    else
        scatter_in(run, b, a);
    dm_coll_shm_close(run, b);
}

/* ---- all to one ---- */

/* What does not fit into a slot and cannot be read goes by messages: the root alone knows how long it is. */
static void gather_out(struct dm_run *run, struct dm_coll_shm *b, const struct dm_coll_args *a)
{
    struct dm_coll_shm_buf mine = {(void *)(uintptr_t)a->sbuf, a->scount, a->stype};
    size_t len = dm_coll_bytes(a->scount, a->stype), slot = len;
    uint64_t how = 0;

    if (dm_coll_shm_uses_cma(b, len) && !(b->is_oversubscribed && len <= b->space)) {
        how = DM_COLL_SHM_BY_CMA;
        slot = sizeof(struct dm_coll_shm_span);
    } else if (len > b->space) {
        how = DM_COLL_SHM_MESSAGE;
        slot = 0;
    }
    dm_coll_shm_expect(b, 2 * len * (size_t)b->n);
    dm_coll_shm_next(b);
    if (!dm_coll_shm_claim(run, b, slot))
        return;
    if (how == 0 && len > 0)
        dm_coll_shm_pack(mine.buf, mine.count, mine.type, 0, dm_coll_shm_slot_data(b, b->me, len),
                         len);
    if (how == DM_COLL_SHM_BY_CMA && !dm_coll_shm_show(run, mine, dm_coll_shm_span(b, b->me)))
        return;
    dm_coll_shm_post(run, b, slot, how, false);
    dm_coll_shm_finish(run, b);
    if (how == DM_COLL_SHM_BY_CMA && dm_coll_shm_can_split(b))
        dm_coll_shm_split_help(run, b);
    else if (how == DM_COLL_SHM_BY_CMA)
        dm_coll_shm_await_finished(run, b, a->root);
    else if (how == DM_COLL_SHM_MESSAGE)
        dm_coll_send(run, a->sbuf, a->scount, a->stype, a->root);
}

static bool gather_from(struct dm_run *run, struct dm_coll_shm *b, const struct dm_coll_args *a,
                        int lrank)
{
    const struct dm_coll_shm_head *head = dm_coll_shm_await(run, b, lrank, false);
    size_t count = dm_coll_rcount(a, lrank);
    void *buf = dm_coll_rplace(a, lrank);

    if (head == NULL)
        return false;
    if (head->total == DM_COLL_SHM_BY_CMA)
        dm_coll_shm_cma_read(run, b, lrank, dm_coll_shm_span(b, lrank), buf, count, a->rtype, true);
    else if (head->total == DM_COLL_SHM_MESSAGE)
        dm_coll_irecv(run, buf, count, a->rtype, lrank);
    else if (head->len > 0)
        dm_coll_shm_unpack(run, buf, count, a->rtype, 0, dm_coll_shm_slot_data(b, lrank, head->len),
                           head->len);
    return true;
}

static void gather_in(struct dm_run *run, struct dm_coll_shm *b, const struct dm_coll_args *a)
{
    size_t total = 0;

    for (int i = 0; i < b->n; i++)
        total += dm_coll_rcount(a, i);
    dm_coll_shm_expect(b, 2 * dm_coll_bytes(total, a->rtype));
    dm_coll_shm_next(b);
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, b->me),
                     dm_coll_rcount(a, b->me), a->rtype);
    for (int i = 0; i < b->n; i++)
        if (i != b->me && dm_coll_rcount(a, i) > 0 && !gather_from(run, b, a, i))
            return;
    dm_coll_shm_finish(run, b);
    dm_coll_wait(run);
}

void dm_coll_gather_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *b = dm_coll_shm_of(run);

    if (b->me == a->root)
        gather_in(run, b, a);
    else
        gather_out(run, b, a);
    dm_coll_shm_close(run, b);
}
