/*
 * All to all over a segment, with equal or different counts and types. In the first round
 * everybody posts the first part of what it has for others and how many rounds there are to come,
 * or where all of it is; so after its barrier all know alike what follows, and need not know each
 * other's counts.
 */
#include "mpi/coll/alg/alg.h"
#include "mpi/coll/shm/blocks.h"
#include "mpi/coll/shm/data.h"
#include "mpi/coll/shm/rounds.h"

struct exchange {
    struct dm_run *run;
    struct dm_coll_shm *shm;
    const struct dm_coll_args *a;
    struct dm_coll_shm_blocks out;
    size_t n_put;       /* bytes that are out */
    bool is_exposed;    /* mine are read where they are */
    uint64_t n_left;    /* rounds that somebody needs after this one */
    bool needs_barrier; /* somebody's are read where they are */
    size_t *n_got;      /* bytes from each lrank */
};

/* My next part and the rounds that I need after it; 0 when all is out. */
static uint64_t alltoall_put(struct exchange *x, size_t *slot_p)
{
    struct dm_coll_shm *shm = x->shm;
    size_t space = dm_coll_shm_blocks_space(shm), left = x->out.total - x->n_put;
    size_t n = left < space ? left : space;

    if (x->is_exposed) {
        *slot_p = dm_coll_shm_spans_len(shm);
        if (!dm_coll_shm_claim(x->run, shm, *slot_p) ||
            !dm_coll_shm_blocks_expose(x->run, &x->out, shm))
            return 0;
        return DM_COLL_SHM_BY_CMA;
    }
    *slot_p = dm_coll_shm_blocks_len(shm, n);
    if (!dm_coll_shm_claim(x->run, shm, *slot_p))
        return 0;
    dm_coll_shm_blocks_put(&x->out, shm, n);
    x->n_put += n;
    return (left - n + space - 1) / space;
}

/* What a local rank has for me in this round. */
static void alltoall_get(struct exchange *x, int lrank)
{
    const struct dm_coll_shm_head *head = dm_coll_shm_head(x->shm, lrank);
    void *buf = dm_coll_rplace(x->a, lrank);
    size_t count = dm_coll_rcount(x->a, lrank), len;
    struct dm_type *type = dm_coll_rtype(x->a, lrank);
    const char *src;

    if (head->total == DM_COLL_SHM_BY_CMA) {
        x->needs_barrier = true;
        dm_coll_shm_cma_read(x->run, x->shm, lrank, dm_coll_shm_spans(x->shm, lrank) + x->shm->me,
                             buf, count, type, false);
        return;
    }
    x->n_left = head->total > x->n_left ? head->total : x->n_left;
    if (head->len == 0)
        return;
    src = dm_coll_shm_blocks_get(x->shm, lrank, head->len, &len);
    if (len > 0)
        dm_coll_shm_unpack(x->run, buf, count, type, x->n_got[lrank], src, len);
    x->n_got[lrank] += len;
}

/* One round; those whose data are out, or shown, post nothing. */
static void exchange_round(struct exchange *x, bool is_first)
{
    struct dm_coll_shm *shm = x->shm;
    uint64_t left = 0;
    size_t slot = 0;

    dm_coll_shm_next(shm);
    if (is_first || (!x->is_exposed && x->n_put < x->out.total))
        left = alltoall_put(x, &slot);
    else if (!dm_coll_shm_claim(x->run, shm, 0))
        return;
    x->n_left = left == DM_COLL_SHM_BY_CMA ? 0 : left;
    x->needs_barrier = x->needs_barrier || left == DM_COLL_SHM_BY_CMA;
    if (x->run->is_stopped || !dm_coll_shm_barrier(x->run, shm, slot, left))
        return;
    for (int i = 1; i < shm->n; i++)
        alltoall_get(x, (shm->me + i) % shm->n);
    dm_coll_shm_finish(x->run, shm);
}

static void alltoall_exchange(struct dm_run *run, struct dm_coll_shm *shm,
                              const struct dm_coll_args *a)
{
    struct exchange x = {.run = run, .shm = shm, .a = a};

    x.n_got = dm_coll_alloc_n(run, (size_t)shm->n, sizeof(*x.n_got));
    if (x.n_got == NULL)
        return;
    memset(x.n_got, 0, (size_t)shm->n * sizeof(*x.n_got));
    dm_coll_shm_blocks_open(&x.out, shm, a, a->is_in_place);
    x.is_exposed = dm_coll_shm_uses_cma(shm, x.out.most);
    /* what comes in would overwrite what goes out */
    if (a->is_in_place && (x.is_exposed || x.out.total > dm_coll_shm_blocks_space(shm)) &&
        !dm_coll_shm_blocks_copy(run, &x.out, shm))
        return;
    dm_coll_shm_expect(shm, 2 * x.out.total * (size_t)shm->n);
    exchange_round(&x, true);
    while (x.n_left > 0 && !run->is_stopped)
        exchange_round(&x, false);
    if (!a->is_in_place)
        dm_coll_copy(run, dm_coll_splace(a, shm->me), dm_coll_scount(a, shm->me),
                     dm_coll_stype(a, shm->me), dm_coll_rplace(a, shm->me),
                     dm_coll_rcount(a, shm->me), dm_coll_rtype(a, shm->me));
    if (x.needs_barrier && !run->is_stopped)
        dm_coll_shm_await_barrier(run, shm);
}

void dm_coll_alltoall_shm(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    alltoall_exchange(run, shm, a);
    dm_coll_shm_close(run, shm);
}
