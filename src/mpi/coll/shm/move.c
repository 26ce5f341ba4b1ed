/*
 * Moving the same data to all over a segment: barrier, bcast, allgather.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/cma.h"
#include "mpi/coll/shm/data.h"
#include "mpi/coll/shm/rounds.h"
#include "mpi/coll/shm/split_copy.h"

void dm_coll_barrier_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    (void)a;
    dm_coll_shm_await_barrier(run, shm);
    dm_coll_shm_close(run, shm);
}

/* ---- one to all ---- */

#define BCAST_LONG ((size_t)256 << 10) /* bytes */

static void bcast_out(struct dm_run *run, struct dm_coll_shm *shm, const void *buf, size_t count,
                      const struct dm_type *type)
{
    size_t total = dm_coll_bytes(count, type), piece = dm_coll_shm_piece(shm, total);

    for (size_t at = 0; at < total; at += piece) {
        size_t len = total - at < piece ? total - at : piece;

        dm_coll_shm_next(shm);
        if (!dm_coll_shm_claim(run, shm, len))
            return;
        dm_coll_shm_pack(buf, count, type, at, dm_coll_shm_slot_data(shm, shm->me, len), len);
        dm_coll_shm_post(run, shm, len, total, true);
        dm_coll_shm_finish(run, shm);
    }
}

/* What has come from another node is not what is expected: all here are to see that, too. */
static void bcast_nothing(struct dm_run *run, struct dm_coll_shm *shm)
{
    dm_coll_shm_next(shm);
    if (!dm_coll_shm_claim(run, shm, 0))
        return;
    dm_coll_shm_post(run, shm, 0, 0, true);
    dm_coll_shm_finish(run, shm);
}

/* As many rounds as the root has, whatever is expected here. */
static void bcast_in(struct dm_run *run, struct dm_coll_shm *shm, void *buf, size_t count,
                     struct dm_type *type, int root)
{
    size_t at = 0, total;

    do {
        const struct dm_coll_shm_head *head;

        dm_coll_shm_next(shm);
        head = dm_coll_shm_await(run, shm, root, true);
        if (head == NULL)
            return;
        if (head->total == DM_COLL_SHM_BY_CMA) {
            dm_coll_shm_cma_bcast(run, shm, buf, count, type, root);
            return;
        }
        dm_coll_shm_unpack(run, buf, count, type, at, dm_coll_shm_slot_data(shm, root, head->len),
                           head->len);
        at += head->len;
        total = head->total; /* the head is the root's again when the round is finished */
        dm_coll_shm_finish(run, shm);
    } while (at < total);
    dm_coll_check_whole(run, at, dm_coll_bytes(count, type));
}

/*
 * Very long data are written and read at the same time, which is faster than one copy by one
 * rank.
 */
void dm_coll_shm_bcast(struct dm_run *run, struct dm_coll_shm *shm, void *buf, size_t count,
                       struct dm_type *type, int root)
{
    size_t bytes = dm_coll_bytes(count, type);

    dm_coll_shm_expect(shm, bytes * (size_t)(shm->n + 1));
    if (shm->me != root)
        bcast_in(run, shm, buf, count, type, root);
    else if (run->is_broken)
        bcast_nothing(run, shm);
    else if (shm->is_flat && (bytes < BCAST_LONG || dm_coll_shm_can_split(shm)) &&
             dm_coll_shm_uses_cma(shm, bytes))
        dm_coll_shm_cma_bcast(run, shm, buf, count, type, root);
    else
        bcast_out(run, shm, buf, count, type);
}

void dm_coll_bcast_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    dm_coll_shm_bcast(run, shm, a->rbuf, a->rcount, a->rtype, a->root);
    dm_coll_shm_close(run, shm);
}

/* ---- all to all ---- */

struct allgather {
    const struct dm_coll_args *a;
    size_t total;    /* bytes of mine */
    bool is_exposed; /* mine are read where they are */
    /* after the first round, in all ranks the same: */
    size_t most;        /* bytes that somebody has in slots */
    bool needs_barrier; /* somebody's are read where they are */
};

/* My part of a round: what it is posted with. */
static bool allgather_put(struct dm_run *run, struct dm_coll_shm *shm, const struct allgather *x,
                          size_t at, size_t *len_p, uint64_t *total_p)
{
    const struct dm_coll_args *a = x->a;
    struct dm_coll_shm_buf mine = {(void *)(uintptr_t)a->sbuf, a->scount, a->stype};
    size_t left = at < x->total ? x->total - at : 0;

    *total_p = x->total;
    if (x->is_exposed) {
        *total_p = DM_COLL_SHM_BY_CMA;
        *len_p = at == 0 ? sizeof(struct dm_coll_shm_span) : 0;
        return dm_coll_shm_claim(run, shm, *len_p) &&
               (at > 0 || dm_coll_shm_expose(run, mine, dm_coll_shm_span(shm, shm->me)));
    }
    *len_p = left < shm->space ? left : shm->space;
    if (!dm_coll_shm_claim(run, shm, *len_p))
        return false;
    if (*len_p > 0)
        dm_coll_shm_pack(mine.buf, mine.count, mine.type, at,
                         dm_coll_shm_slot_data(shm, shm->me, *len_p), *len_p);
    return true;
}

static void allgather_get(struct dm_run *run, struct dm_coll_shm *shm, struct allgather *x,
                          size_t at, int lrank)
{
    const struct dm_coll_shm_head *head = dm_coll_shm_head(shm, lrank);
    void *buf = dm_coll_rplace(x->a, lrank);
    size_t count = dm_coll_rcount(x->a, lrank), has = head->len;

    if (head->total == DM_COLL_SHM_BY_CMA) {
        x->needs_barrier = true;
        if (has > 0 && lrank != shm->me)
            dm_coll_shm_cma_read(run, shm, lrank, dm_coll_shm_span(shm, lrank), buf, count,
                                 x->a->rtype, false);
        return;
    }
    x->most = head->total > x->most ? head->total : x->most;
    if (has > 0 && lrank != shm->me)
        dm_coll_shm_unpack(run, buf, count, x->a->rtype, at, dm_coll_shm_slot_data(shm, lrank, has),
                           has);
}

static void allgather_round(struct dm_run *run, struct dm_coll_shm *shm, struct allgather *x,
                            size_t at)
{
    uint64_t total;
    size_t len;

    dm_coll_shm_next(shm);
    if (!allgather_put(run, shm, x, at, &len, &total) || !dm_coll_shm_barrier(run, shm, len, total))
        return;
    for (int i = 0; i < shm->n; i++)
        allgather_get(run, shm, x, at, (shm->me + i) % shm->n);
    dm_coll_shm_finish(run, shm);
}

void dm_coll_allgather_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);
    struct allgather x = {.a = a, .total = dm_coll_bytes(a->scount, a->stype)};

    x.is_exposed =
        dm_coll_shm_uses_cma(shm, x.total) && !(shm->is_oversubscribed && x.total <= shm->space);
    dm_coll_shm_expect(shm, x.total * (size_t)shm->n * (size_t)(shm->n + 1));
    for (size_t at = 0; (at == 0 || at < x.most) && !run->is_stopped; at += shm->space)
        allgather_round(run, shm, &x, at);
    if (!a->is_in_place)
        dm_coll_copy(run, a->sbuf, a->scount, a->stype, dm_coll_rplace(a, shm->me),
                     dm_coll_rcount(a, shm->me), a->rtype);
    if (x.needs_barrier && !run->is_stopped)
        dm_coll_shm_await_barrier(run, shm);
    dm_coll_shm_close(run, shm);
}
