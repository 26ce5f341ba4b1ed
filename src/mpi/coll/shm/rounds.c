/*
 * Rounds on a segment: claiming and posting slots, barriers.
 */
#include "mpi/coll/shm/rounds.h"

#include <sys/mman.h>

#include "mpi/coll/shm/wait.h"

#define CLOSES  16 /* collectives until there is progress in any case */
#define SPREADS 64 /* and a look at the cores */
#define ALONE   64 /* ranks at most whose work is one rank's, */
#define GROUP   32 /* and so many of more */

/* Have all finished this round? It is the one that my slot was written in before. */
static DM_NOINLINE bool slot_claim_slow(struct dm_run *run, struct dm_coll_shm *shm, uint64_t need)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < shm->n; i++) {
        _Atomic uint64_t *finished = &shm->shared->ranks[i].finished.value;
        uint64_t has;

        if (i == shm->me)
            continue;
        if (!dm_coll_shm_wait(run, shm, finished, 2 * need, dm_coll_shm_private_of(i)))
            return false;
        has = atomic_load_explicit(finished, memory_order_relaxed) / 2;
        least = has < least ? has : least;
    }
    /* What has become known by a barrier may be more. */
    shm->n_finished = least > shm->n_finished ? least : shm->n_finished;
    return true;
}

/*
 * Many others will read my slots. Where all are there when one is read first, that fault maps all of them
 * (Linux: what is there within 64 KiB); else it takes one for each, in each process.
 */
static DM_NOINLINE void slot_populate(struct dm_coll_shm *shm, size_t len)
{
    if (shm->n_populated < DM_COLL_SHM_MID)
        (void)madvise(dm_coll_shm_mids(shm, shm->me), DM_COLL_SHM_MIDS, DM_MADV_POPULATE);
    for (int i = 0; i < DM_COLL_SHM_BIG && len > DM_COLL_SHM_MID; i++)
        (void)madvise(dm_coll_shm_bigs(shm, shm->me) + (size_t)i * shm->space, len,
                      DM_MADV_POPULATE);
    shm->n_populated = len > DM_COLL_SHM_MID ? len : DM_COLL_SHM_MID;
}

bool dm_coll_shm_claim(struct dm_run *run, struct dm_coll_shm *shm, size_t len)
{
    uint64_t *written = &shm->written[dm_coll_shm_slot(shm->round)], need = *written;

    *written = shm->round;
    if (dm_unlikely(len > shm->n_populated))
        slot_populate(shm, len);
    if (len > DM_COLL_SHM_INLINE) {
        written = len > DM_COLL_SHM_MID ? &shm->written_big[shm->round % DM_COLL_SHM_BIG]
                                        : &shm->written_mid[shm->round % DM_COLL_SHM_MIDDLES];
        need = *written > need ? *written : need;
        *written = shm->round;
    }
    if (dm_likely(shm->n_finished >= need))
        return !run->is_stopped;
    return slot_claim_slow(run, shm, need);
}

static inline struct dm_coll_shm_head *slot_fill(struct dm_coll_shm *shm, size_t len, size_t total)
{
    struct dm_coll_shm_head *head = dm_coll_shm_head(shm, shm->me);

    head->total = total;
    head->len = (uint32_t)len;
    head->n_rounds = shm->n_rounds;
    return head;
}

static inline void slot_publish(const struct dm_coll_shm *shm, struct dm_coll_shm_head *head)
{
    atomic_store_explicit(&head->round, shm->round, memory_order_release);
}

void dm_coll_shm_post(struct dm_run *run, struct dm_coll_shm *shm, size_t len, size_t total,
                      bool is_public)
{
    slot_publish(shm, slot_fill(shm, len, total));
    dm_coll_shm_notify(run->comm, shm,
                       is_public ? dm_coll_shm_public_of(shm->me)
                                 : dm_coll_shm_private_of(shm->me));
}

const struct dm_coll_shm_head *dm_coll_shm_await(struct dm_run *run, struct dm_coll_shm *shm,
                                                 int lrank, bool is_public)
{
    struct dm_coll_shm_head *head = dm_coll_shm_head(shm, lrank);
    uint64_t what = is_public ? dm_coll_shm_public_of(lrank) : dm_coll_shm_private_of(lrank);

    if (!dm_coll_shm_wait(run, shm, &head->round, shm->round, what))
        return NULL;
    if (is_public)
        dm_coll_shm_notify(run->comm, shm, what);
    return head;
}

/* Everybody looks at everybody: the shortest way between a few ranks that are all running. */
static bool barrier_flat(struct dm_run *run, struct dm_coll_shm *shm)
{
    slot_publish(shm, dm_coll_shm_head(shm, shm->me));
    for (int i = 0; i < shm->n; i++) {
        if (!dm_coll_shm_wait(run, shm, &dm_coll_shm_head(shm, i)->round, shm->round,
                              dm_coll_shm_private_of(i)))
            return false;
    }
    return true;
}

/* Count this rank, after it has worked for its group if it is the last there. Is it the last of all? */
static bool barrier_arrive(struct dm_coll_shm *shm, const struct dm_coll_shm_work *work, int n_each)
{
    int from = shm->me / n_each * n_each, n = 1;

    if (work != NULL) {
        n = n_each < shm->n - from ? n_each : shm->n - from;
        if (atomic_fetch_add(&shm->shared->ranks[from].n_group.value, 1) + 1 !=
            shm->n_works * (uint64_t)n)
            return false;
        work->on_group(work->arg, from, from + n);
    }
    return atomic_fetch_add(&shm->shared->n_arrived.value, (uint64_t)n) + (uint64_t)n ==
           shm->n_barriers;
}

/* Everybody is counted, and the last one lets all go on: each rank runs once in a barrier. */
static bool barrier_counted(struct dm_run *run, struct dm_coll_shm *shm,
                            const struct dm_coll_shm_work *work)
{
    struct dm_coll_shm_head *over = &shm->shared->overs[shm->round % DM_COLL_SHM_FEW];
    int n_each = shm->n <= ALONE ? shm->n : GROUP;

    shm->n_barriers += (uint64_t)shm->n;
    shm->n_works += work != NULL;
    slot_publish(shm, dm_coll_shm_head(shm, shm->me)); /* for wait_find_uneven */
    if (barrier_arrive(shm, work, n_each)) {
        if (work != NULL && n_each < shm->n)
            work->on_groups(work->arg, n_each);
        slot_publish(shm, over);
    } else if (!dm_coll_shm_wait(run, shm, &over->round, shm->round, DM_COLL_SHM_BARRIER)) {
        return false;
    }
    dm_coll_shm_notify(run->comm, shm, DM_COLL_SHM_BARRIER);
    return true;
}

bool dm_coll_shm_barrier_work(struct dm_run *run, struct dm_coll_shm *shm, size_t len, size_t total,
                              const struct dm_coll_shm_work *work)
{
    bool is_done;

    slot_fill(shm, len, total);
    if (shm->is_flat)
        is_done = barrier_flat(run, shm);
    else
        is_done = barrier_counted(run, shm, work);
    /* Who has come to this round has finished the one before. */
    if (is_done)
        shm->n_finished = shm->round - 1;
    return is_done;
}

bool dm_coll_shm_barrier(struct dm_run *run, struct dm_coll_shm *shm, size_t len, size_t total)
{
    return dm_coll_shm_barrier_work(run, shm, len, total, NULL);
}

void dm_coll_shm_await_barrier(struct dm_run *run, struct dm_coll_shm *shm)
{
    dm_coll_shm_next(shm);
    if (dm_coll_shm_claim(run, shm, 0) && dm_coll_shm_barrier(run, shm, 0, 0))
        dm_coll_shm_finish(run, shm);
}

bool dm_coll_shm_await_finished(struct dm_run *run, struct dm_coll_shm *shm, int lrank)
{
    return dm_coll_shm_wait(run, shm, &shm->shared->ranks[lrank].finished.value, 2 * shm->round,
                            dm_coll_shm_private_of(lrank));
}

bool dm_coll_shm_await_split(struct dm_run *run, struct dm_coll_shm *shm, int lrank)
{
    return dm_coll_shm_wait(run, shm, &shm->shared->ranks[lrank].finished.value, 2 * shm->round - 1,
                            dm_coll_shm_private_of(lrank));
}

static void round_set_finished(struct dm_run *run, struct dm_coll_shm *shm, uint64_t value)
{
    atomic_store_explicit(&shm->shared->ranks[shm->me].finished.value, value, memory_order_release);
    dm_coll_shm_notify(run->comm, shm, dm_coll_shm_private_of(shm->me));
}

void dm_coll_shm_post_split(struct dm_run *run, struct dm_coll_shm *shm)
{
    round_set_finished(run, shm, 2 * shm->round - 1);
}

void dm_coll_shm_finish(struct dm_run *run, struct dm_coll_shm *shm)
{
    round_set_finished(run, shm, 2 * shm->round);
}

void dm_coll_shm_close(struct dm_run *run, struct dm_coll_shm *shm)
{
    if (dm_unlikely(run->is_stopped) && shm->state == DM_COLL_SHM_READY)
        dm_coll_shm_give_up(run, shm, run->err);
    shm->n_moved = 0;
    shm->n_rounds = 0;
    /* A rank that is always the last never waits: others may need it to get on all the same. */
    if (dm_unlikely(++shm->n_closed % CLOSES == 0))
        dm_chan_progress(dm_world.chan);
    if (dm_unlikely(shm->n_closed % SPREADS == 0) && shm->is_oversubscribed)
        dm_coll_shm_spread(shm);
}
