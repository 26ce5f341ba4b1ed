/*
 * Rounds on a segment: posting, waiting, sleeping and waking.
 *
 * A rank sleeps only where processes outnumber cores: elsewhere it sleeps in the provider for a
 * millisecond at most, when it has waited long. The sleeper writes into its lrank what it waits for, counts
 * itself in n_asleep, and looks once more; the waker writes what is waited for, then looks at n_asleep,
 * and at the lranks when it is not 0. Each has a full fence between its write and its look, so at
 * least one of them sees the other: no wake-up is lost. Whoever finds a sleeper takes the word
 * out of its lrank and sends it one empty packet; a rank that is not asleep gets none.
 *
 * What all ranks wait for (a public post, the end of a barrier) is passed on: every rank that sees it
 * wakes its neighbours in a binomial tree over the lranks, the tree whose connections the set-up
 * of the segment has used. So nobody wakes everybody, and no more connections are needed. It holds by
 * induction that nobody sleeps on: a neighbour that saw the event looked at my word after it, and
 * its fence and mine are ordered like those of a writer.
 */
#include "mpi/coll/coll_state.h"
#include "mpi/coll/select.h"
#include "mpi/coll/shm/coll_shm.h"
#include "util/clock.h"
#include "util/futex.h"
#include "util/glock.h"
#include "util/log.h"

#define CLOSES  16 /* collectives until there is progress in any case */
#define SPREADS 64 /* and a look at the cores */

/* What a rank sleeps for, in its lrank: a lrank's private posts and finished rounds are lrank + 1. */
#define PUBLIC   ((uint64_t)1 << 32)
#define BARRIER  (PUBLIC | UINT32_MAX)
#define ON_FUTEX ((uint64_t)1 << 33) /* besides: it waits on the futex and wants no packet */

static inline uint64_t private_of(int lrank)
{
    return (uint64_t)lrank + 1;
}

static inline uint64_t public_of(int lrank)
{
    return PUBLIC | ((uint64_t)lrank + 1);
}

/* What a futex looks at: never 0 while the word is not. */
static inline _Atomic uint32_t *low_half(_Atomic uint64_t *word)
{
    return (_Atomic uint32_t *)(void *)word;
}

static inline bool wait_has_come(_Atomic uint64_t *word, uint64_t round)
{
    return atomic_load_explicit(word, memory_order_acquire) >= round;
}

/* ---- waking ---- */

static void wait_wake(const struct dm_comm *comm, const struct dm_coll_shm *b, int lrank,
                      uint64_t what)
{
    static const struct dm_pkt pkt = {
        .type = DM_PKT_COLL_WAKE, .version = DM_PKT_VERSION, .hdr_len = sizeof(pkt)};
    _Atomic uint64_t *asleep = &b->shared->lranks[lrank].asleep.value;
    uint64_t found = atomic_load_explicit(asleep, memory_order_relaxed);

    if ((found & ~ON_FUTEX) != what || !atomic_compare_exchange_strong(asleep, &found, 0))
        return;
    if ((found & ON_FUTEX) != 0) {
        dm_futex_wake(low_half(asleep), 1);
        return;
    }
    /* A lost peer needs no waking, and is told elsewhere. */
    (void)dm_chan_send_ctl(dm_world.chan, dm_comm_proc(comm, b->ranks[lrank]), &pkt);
}

static DM_NOINLINE void wait_wake_all(const struct dm_comm *comm, const struct dm_coll_shm *b,
                                      uint64_t what)
{
    for (int i = 0; i < b->n; i++)
        wait_wake(comm, b, i, what);
}

static DM_NOINLINE void wake_neighbours(const struct dm_comm *comm, const struct dm_coll_shm *b,
                                        uint64_t what)
{
    int64_t step = 1;

    for (; step < b->n && (b->me & step) == 0; step *= 2)
        if (b->me + step < b->n)
            wait_wake(comm, b, (int)(b->me + step), what);
    if (b->me != 0)
        wait_wake(comm, b, (int)(b->me - step), what);
}

/* Something that is waited for was written, or seen, just now. */
static inline void wait_notify(const struct dm_comm *comm, const struct dm_coll_shm *b,
                               uint64_t what)
{
    if (!b->is_oversubscribed)
        return;
    atomic_thread_fence(memory_order_seq_cst);
    if (dm_likely(atomic_load_explicit(&b->shared->n_asleep.value, memory_order_acquire) == 0))
        return;
    if ((what & PUBLIC) != 0)
        wake_neighbours(comm, b, what);
    else
        wait_wake_all(comm, b, what);
}

/* ---- waiting ---- */

static void coll_shm_give_up(struct dm_run *run, struct dm_coll_shm *b, int err)
{
    if (b->shared != NULL) /* it has one rank on this node otherwise */
        atomic_store(&b->shared->is_broken.value, (uint64_t)run->tag + 1);
    b->fits = 0;
    b->state = DM_COLL_SHM_NEVER;
    run->err = DM_OK; /* this is the reason for everything else */
    dm_coll_fail(run, err);
    run->is_stopped = true;
}

/*
 * A lrank that has come to this round and will leave the collective after another number of them than I: its
 * vector has another length. What I wait for may never come. -1: none.
 */
static int find_uneven(const struct dm_coll_shm *b)
{
    for (int i = 0; i < b->n && b->n_rounds != 0; i++) {
        struct dm_coll_shm_head *head = dm_coll_shm_head(b, i);

        if (i != b->me && atomic_load_explicit(&head->round, memory_order_acquire) == b->round &&
            head->n_rounds != b->n_rounds)
            return i;
    }
    return -1;
}

/* Is there nobody any more who could write it? */
static bool wait_is_hopeless(struct dm_run *run, struct dm_coll_shm *b, _Atomic uint64_t *word,
                             uint64_t round)
{
    int lost = -1, uneven = find_uneven(b);

    for (int i = 0; i < b->n && lost < 0; i++)
        if (dm_chan_is_lost(dm_world.chan, dm_comm_proc(run->comm, b->ranks[i])))
            lost = i;
    if (lost < 0 && uneven < 0 && atomic_load(&b->shared->is_broken.value) == 0)
        return false;
    if (wait_has_come(word, round)) /* before it left */
        return false;
    if (lost >= 0)
        coll_shm_give_up(run, b,
                         DM_FAIL(DM_EPEER,
                                 "rank %d of the communicator was lost during a collective",
                                 b->ranks[lost]));
    else if (uneven >= 0)
        coll_shm_give_up(run, b,
                         DM_FAIL(DM_ERR_TRUNCATE, "rank %d reduces a vector of another length",
                                 b->ranks[uneven]));
    else
        coll_shm_give_up(run, b,
                         DM_FAIL(DM_EPEER, "a rank of the communicator has given up a collective"));
    return true;
}

/* Packets do not end it, so it is short; the writer does at once. */
static void wait_on_futex(_Atomic uint32_t *asleep, uint32_t what)
{
    int levels = dm_glock_release_all();

    (void)dm_futex_wait(asleep, what, dm_futex_deadline(DM_WAIT_FUTEX_US));
    dm_glock_reacquire(levels);
}

static void wait_sleep(struct dm_coll_shm *b, struct dm_waiter *w, _Atomic uint64_t *word,
                       uint64_t round, uint64_t what)
{
    _Atomic uint64_t *asleep = &b->shared->lranks[b->me].asleep.value;
    bool is_first = w->n_sleeps == 0;

    if (!b->is_oversubscribed) {
        dm_wait_sleep(dm_world.chan, w, UINT64_MAX);
        return;
    }
    what |= is_first ? ON_FUTEX : 0;
    atomic_store_explicit(asleep, what, memory_order_relaxed);
    atomic_fetch_add(&b->shared->n_asleep.value, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (wait_has_come(word, round) || atomic_load(&b->shared->is_broken.value) != 0)
        ;
    else if (is_first)
        wait_on_futex(low_half(asleep), (uint32_t)what);
    else
        dm_wait_sleep(dm_world.chan, w, UINT64_MAX);
    w->n_sleeps++;
    atomic_exchange(asleep, 0);
    atomic_fetch_sub(&b->shared->n_asleep.value, 1);
}

static inline bool looks(_Atomic uint64_t *word, uint64_t round, int n)
{
    for (int i = 0; i < n; i++)
        if (wait_has_come(word, round))
            return true;
    return false;
}

static DM_NOINLINE bool wait_long(struct dm_run *run, struct dm_coll_shm *b, _Atomic uint64_t *word,
                                  uint64_t round, uint64_t what)
{
    int looks_per_pass = (int)dm_wait_policies[DM_WAIT_ROUND].looks[b->is_oversubscribed];
    uint64_t since = 0; /* of a wait with a sleep */
    struct dm_waiter w;

    if (run->is_stopped)
        return false;
    dm_wait_begin(dm_world.chan, &w, DM_WAIT_ROUND, b->is_oversubscribed,
                  b->is_oversubscribed ? dm_wait_round_ns(b->n, b->n_moved, b->n_vain) : 0);
    for (uint32_t n = 0; !looks(word, round, looks_per_pass); n++) {
        bool may_sleep = dm_wait_pass(dm_world.chan, &w);

        if (wait_has_come(word, round))
            break;
        if ((may_sleep || n % 1024 == 1023) && wait_is_hopeless(run, b, word, round))
            return false;
        if (may_sleep) {
            since = since == 0 ? w.since : since;
            wait_sleep(b, &w, word, round, what);
        }
    }
    if (since != 0 && b->is_oversubscribed)
        dm_wait_round_learn(&b->n_vain, b->n, b->n_moved, since);
    return true;
}

static inline bool wait_for(struct dm_run *run, struct dm_coll_shm *b, _Atomic uint64_t *word,
                            uint64_t round, uint64_t what)
{
    return dm_likely(wait_has_come(word, round)) || wait_long(run, b, word, round, what);
}

/* ---- rounds ---- */

/* Have all finished this round? It is the one that my slot was written in before. */
static DM_NOINLINE bool claim_asking(struct dm_run *run, struct dm_coll_shm *b, uint64_t need)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < b->n; i++) {
        _Atomic uint64_t *finished = &b->shared->lranks[i].finished.value;
        uint64_t has;

        if (i == b->me)
            continue;
        if (!wait_for(run, b, finished, 2 * need, private_of(i)))
            return false;
        has = atomic_load_explicit(finished, memory_order_relaxed) / 2;
        least = has < least ? has : least;
    }
    /* What has become known by a barrier may be more. */
    b->n_finished = least > b->n_finished ? least : b->n_finished;
    return true;
}

bool dm_coll_shm_claim(struct dm_run *run, struct dm_coll_shm *b, size_t len)
{
    uint64_t *wrote = &b->wrote[b->round % DM_COLL_SHM_SLOTS], need = *wrote;

    *wrote = b->round;
    if (len > DM_COLL_SHM_MID) {
        wrote = &b->wrote_big[b->round % DM_COLL_SHM_BIG];
        need = *wrote > need ? *wrote : need;
        *wrote = b->round;
    }
    if (dm_likely(b->n_finished >= need))
        return !run->is_stopped;
    return claim_asking(run, b, need);
}

static inline struct dm_coll_shm_head *slot_fill(struct dm_coll_shm *b, size_t len, size_t total)
{
    struct dm_coll_shm_head *head = dm_coll_shm_head(b, b->me);

    head->total = total;
    head->len = (uint32_t)len;
    head->n_rounds = b->n_rounds;
    return head;
}

static inline void slot_publish(const struct dm_coll_shm *b, struct dm_coll_shm_head *head)
{
    atomic_store_explicit(&head->round, b->round, memory_order_release);
}

void dm_coll_shm_post(struct dm_run *run, struct dm_coll_shm *b, size_t len, size_t total,
                      bool is_public)
{
    slot_publish(b, slot_fill(b, len, total));
    wait_notify(run->comm, b, is_public ? public_of(b->me) : private_of(b->me));
}

const struct dm_coll_shm_head *dm_coll_shm_await(struct dm_run *run, struct dm_coll_shm *b,
                                                 int lrank, bool is_public)
{
    struct dm_coll_shm_head *head = dm_coll_shm_head(b, lrank);
    uint64_t what = is_public ? public_of(lrank) : private_of(lrank);

    if (!wait_for(run, b, &head->round, b->round, what))
        return NULL;
    if (is_public)
        wait_notify(run->comm, b, what);
    return head;
}

/* Everybody looks at everybody: the shortest way between a few ranks that are all running. */
static bool barrier_flat(struct dm_run *run, struct dm_coll_shm *b)
{
    slot_publish(b, dm_coll_shm_head(b, b->me));
    for (int i = 0; i < b->n; i++) {
        if (!wait_for(run, b, &dm_coll_shm_head(b, i)->round, b->round, private_of(i)))
            return false;
    }
    return true;
}

/* Everybody is counted, and the last one lets all go on: each rank runs once in a barrier. */
static bool barrier_counted(struct dm_run *run, struct dm_coll_shm *b, void (*work)(void *arg),
                            void *arg)
{
    struct dm_coll_shm_head *met = &b->shared->met[b->round % DM_COLL_SHM_SLOTS];
    uint64_t all = b->n_barriers + (uint64_t)b->n;

    b->n_barriers = all;
    slot_publish(b, dm_coll_shm_head(b, b->me)); /* for find_uneven */
    if (atomic_fetch_add(&b->shared->n_arrived.value, 1) + 1 == all) {
        if (work != NULL)
            work(arg);
        slot_publish(b, met);
    } else if (!wait_for(run, b, &met->round, b->round, BARRIER)) {
        return false;
    }
    wait_notify(run->comm, b, BARRIER);
    return true;
}

bool dm_coll_shm_barrier_work(struct dm_run *run, struct dm_coll_shm *b, size_t len, size_t total,
                              void (*work)(void *arg), void *arg)
{
    bool is_done;

    slot_fill(b, len, total);
    if (b->is_flat)
        is_done = barrier_flat(run, b);
    else
        is_done = barrier_counted(run, b, work, arg);
    /* Who has come to this round has finished the one before. */
    if (is_done)
        b->n_finished = b->round - 1;
    return is_done;
}

bool dm_coll_shm_barrier(struct dm_run *run, struct dm_coll_shm *b, size_t len, size_t total)
{
    return dm_coll_shm_barrier_work(run, b, len, total, NULL, NULL);
}

bool dm_coll_shm_await_finished(struct dm_run *run, struct dm_coll_shm *b, int lrank)
{
    return wait_for(run, b, &b->shared->lranks[lrank].finished.value, 2 * b->round,
                    private_of(lrank));
}

bool dm_coll_shm_await_published(struct dm_run *run, struct dm_coll_shm *b, int lrank)
{
    return wait_for(run, b, &b->shared->lranks[lrank].finished.value, 2 * b->round - 1,
                    private_of(lrank));
}

bool dm_coll_shm_await_word(struct dm_run *run, struct dm_coll_shm *b, _Atomic uint64_t *word,
                            uint64_t value, int lrank)
{
    return wait_for(run, b, word, value, private_of(lrank));
}

static void set_finished(struct dm_run *run, struct dm_coll_shm *b, uint64_t value)
{
    atomic_store_explicit(&b->shared->lranks[b->me].finished.value, value, memory_order_release);
    wait_notify(run->comm, b, private_of(b->me));
}

void dm_coll_shm_announce(struct dm_run *run, struct dm_coll_shm *b)
{
    set_finished(run, b, 2 * b->round - 1);
}

void dm_coll_shm_finish(struct dm_run *run, struct dm_coll_shm *b)
{
    set_finished(run, b, 2 * b->round);
}

void dm_coll_shm_spread(struct dm_coll_shm *b)
{
    struct dm_coll_shm_rank *lranks;

    if (b->n == 1) /* its communicator's others are on other hosts: no lranks */
        return;
    lranks = b->shared->lranks;
    dm_chan_spread(dm_world.chan, &lranks[0].id.core, sizeof(lranks[0]), b->n, b->me);
}

void dm_coll_shm_close(struct dm_run *run, struct dm_coll_shm *b)
{
    if (dm_unlikely(run->is_stopped) && b->state == DM_COLL_SHM_READY)
        coll_shm_give_up(run, b, run->err);
    b->n_moved = 0;
    b->n_rounds = 0;
    /* A rank that is always the last never waits: others may need it to get on all the same. */
    if (dm_unlikely(++b->n_closed % CLOSES == 0))
        dm_chan_progress(dm_world.chan);
    if (dm_unlikely(b->n_closed % SPREADS == 0) && b->is_oversubscribed)
        dm_coll_shm_spread(b);
}
