/*
 * Sleeping and waking.
 *
 * A rank sleeps only where processes outnumber cores: elsewhere it sleeps in the provider for a
 * millisecond at most, when it has waited long. The sleeper writes into its part of the segment
 * what it waits for, counts itself in n_asleep, and looks once more; the waker writes what is
 * waited for, then looks at n_asleep, and at all parts when it is not 0. Each has a full fence
 * between its write and its look, so at least one of them sees the other: no wake-up is lost.
 * Whoever finds a sleeper takes the word out of its part and sends it one empty packet; a rank
 * that is not asleep gets none.
 *
 * What all ranks wait for (a public post, the end of a barrier) is passed on: every rank that
 * sees it wakes its neighbours in a binomial tree over the local ranks, the tree whose
 * connections the set-up of the segment has used. So nobody wakes everybody, and no more
 * connections are needed. It holds by induction that nobody sleeps on: a neighbour that saw the
 * event looked at my word after it, and its fence and mine are ordered like those of a writer.
 */
#include "mpi/coll/shm/wait.h"

#include "mpi/coll/coll_state.h"
#include "mpi/coll/shm/rounds.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/futex.h"
#include "util/glock.h"

/*
 * In the word of a sleeper, besides what it waits for: it waits on the futex and wants no packet.
 */
#define ON_FUTEX ((uint64_t)1 << 33)

/* What a futex looks at: never 0 while the word is not. */
static inline _Atomic uint32_t *sleeper_futex(_Atomic uint64_t *word)
{
    return (_Atomic uint32_t *)(void *)word;
}

/* ---- waking ---- */

static void sleeper_wake(const struct dm_comm *comm, const struct dm_coll_shm *shm, int lrank,
                         uint64_t what)
{
    static const struct dm_pkt pkt = {
        .type = DM_PKT_COLL_WAKE, .version = DM_PKT_VERSION, .hdr_len = sizeof(pkt)};
    _Atomic uint64_t *asleep = &shm->shared->ranks[lrank].asleep.value;
    uint64_t found = atomic_load_explicit(asleep, memory_order_relaxed);

    if ((found & ~ON_FUTEX) != what || !atomic_compare_exchange_strong(asleep, &found, 0))
        return;
    if ((found & ON_FUTEX) != 0) {
        dm_futex_wake(sleeper_futex(asleep), 1);
        return;
    }
    /* A lost peer needs no waking, and is told elsewhere. */
    (void)dm_chan_send_ctl(dm_world.chan, dm_comm_proc(comm, shm->ranks[lrank]), &pkt);
}

static void sleepers_wake_all(const struct dm_comm *comm, const struct dm_coll_shm *shm,
                              uint64_t what)
{
    for (int i = 0; i < shm->n; i++)
        sleeper_wake(comm, shm, i, what);
}

static void sleepers_wake_tree(const struct dm_comm *comm, const struct dm_coll_shm *shm,
                               uint64_t what)
{
    int64_t step = 1;

    for (; step < shm->n && (shm->me & step) == 0; step *= 2)
        if (shm->me + step < shm->n)
            sleeper_wake(comm, shm, (int)(shm->me + step), what);
    if (shm->me != 0)
        sleeper_wake(comm, shm, (int)(shm->me - step), what);
}

void dm_coll_shm_wake(const struct dm_comm *comm, const struct dm_coll_shm *shm, uint64_t what)
{
    if ((what & DM_COLL_SHM_IS_PUBLIC) != 0)
        sleepers_wake_tree(comm, shm, what);
    else
        sleepers_wake_all(comm, shm, what);
}

/* ---- waiting ---- */

void dm_coll_shm_give_up(struct dm_run *run, struct dm_coll_shm *shm, int err)
{
    if (shm->shared != NULL) /* it has one rank on this node otherwise */
        atomic_store(&shm->shared->is_broken.value, (uint64_t)run->tag + 1);
    shm->fits = 0;
    shm->state = DM_COLL_SHM_NEVER;
    run->err = DM_OK; /* this is the reason for everything else */
    dm_coll_fail(run, err);
    run->is_stopped = true;
}

/*
 * A local rank that has come to this round and will leave the collective after another number of them
 * than I: its vector has another length. What I wait for may never come. -1: none.
 */
static int wait_find_uneven(const struct dm_coll_shm *shm)
{
    for (int i = 0; i < shm->n && shm->n_rounds != 0; i++) {
        struct dm_coll_shm_head *head = dm_coll_shm_head(shm, i);

        if (i != shm->me &&
            atomic_load_explicit(&head->round, memory_order_acquire) == shm->round &&
            head->n_rounds != shm->n_rounds)
            return i;
    }
    return -1;
}

/* One that has left in order may have done its part before. */
static bool wait_is_gone(struct dm_run *run, struct dm_coll_shm *shm, int lrank)
{
    int proc = dm_comm_proc(run->comm, shm->ranks[lrank]);

    return dm_chan_is_lost(dm_world.chan, proc) ||
           (dm_world_is_gone(proc) && atomic_load_explicit(&dm_coll_shm_head(shm, lrank)->round,
                                                           memory_order_acquire) < shm->round);
}

/* Is there nobody any more who could write it? */
static bool wait_is_hopeless(struct dm_run *run, struct dm_coll_shm *shm, _Atomic uint64_t *word,
                             uint64_t round)
{
    int lost = -1, uneven = wait_find_uneven(shm);

    for (int i = 0; i < shm->n && lost < 0; i++)
        if (wait_is_gone(run, shm, i))
            lost = i;
    if (lost < 0 && uneven < 0 && atomic_load(&shm->shared->is_broken.value) == 0)
        return false;
    if (dm_coll_shm_has_come(word, round)) /* before it left */
        return false;
    if (lost >= 0)
        dm_coll_shm_give_up(run, shm,
                            DM_FAIL(DM_EPEER,
                                    "rank %d of the communicator was lost during a collective",
                                    shm->ranks[lost]));
    else if (uneven >= 0)
        dm_coll_shm_give_up(run, shm,
                            DM_FAIL(DM_ERR_TRUNCATE, "rank %d reduces a vector of another length",
                                    shm->ranks[uneven]));
    else
        dm_coll_shm_give_up(
            run, shm, DM_FAIL(DM_EPEER, "a rank of the communicator has given up a collective"));
    return true;
}

/* Packets do not end it, so it is short; the writer does at once. */
static void wait_on_futex(_Atomic uint32_t *asleep, uint32_t what)
{
    int levels = dm_glock_release_all();

    (void)dm_futex_wait(asleep, what, dm_futex_deadline(DM_WAIT_FUTEX_US));
    dm_glock_reacquire(levels);
}

static void wait_sleep(struct dm_coll_shm *shm, struct dm_waiter *w, _Atomic uint64_t *word,
                       uint64_t round, uint64_t what)
{
    _Atomic uint64_t *asleep = &shm->shared->ranks[shm->me].asleep.value;
    bool is_first = w->n_sleeps == 0;

    if (!shm->is_oversubscribed) {
        dm_wait_sleep(dm_world.chan, w, UINT64_MAX);
        return;
    }
    what |= is_first ? ON_FUTEX : 0;
    atomic_store_explicit(asleep, what, memory_order_relaxed);
    atomic_fetch_add(&shm->shared->n_asleep.value, 1);
    atomic_thread_fence(memory_order_seq_cst);
    if (dm_coll_shm_has_come(word, round) || atomic_load(&shm->shared->is_broken.value) != 0)
        ;
    else if (is_first)
        wait_on_futex(sleeper_futex(asleep), (uint32_t)what);
    else
        dm_wait_sleep(dm_world.chan, w, UINT64_MAX);
    w->n_sleeps++;
    atomic_exchange(asleep, 0);
    atomic_fetch_sub(&shm->shared->n_asleep.value, 1);
}

static inline bool wait_looks(_Atomic uint64_t *word, uint64_t round, int n)
{
    for (int i = 0; i < n; i++)
        if (dm_coll_shm_has_come(word, round))
            return true;
    return false;
}

/* A wait for a word, for its account. */
struct word_note {
    struct dm_wait_note note;
    const struct dm_run *run;
    const struct dm_coll_shm *shm;
    _Atomic uint64_t *word;
    uint64_t round;
    uint64_t what;
};

/* Does the wait need this local rank? */
static bool word_is_of(const struct word_note *w, int lrank)
{
    if (w->what == DM_COLL_SHM_BARRIER)
        return atomic_load_explicit(&dm_coll_shm_head(w->shm, lrank)->round, memory_order_acquire) <
               w->shm->round;
    return (w->what & ~DM_COLL_SHM_IS_PUBLIC) == (uint64_t)lrank + 1;
}

static void word_report(const struct dm_wait_note *note, struct dm_wait_account *account)
{
    const struct word_note *w = dm_container_of(note, const struct word_note, note);
    const struct dm_comm *comm = w->run->comm;
    int n = 0;

    for (int i = 0; i < w->shm->n; i++) {
        if (i == w->shm->me || !word_is_of(w, i))
            continue;
        dm_strbuf_addf(&account->text, n++ == 0 ? "rank %d" : ", %d", w->shm->ranks[i]);
        dm_p2p_account_proc(account, dm_comm_proc(comm, w->shm->ranks[i]));
    }
    dm_strbuf_add(&account->text, n == 0 ? "ranks of " : " of ");
    dm_p2p_account_comm(account, comm);
    account->is_open |= n == 0;
    account->is_over = dm_coll_shm_has_come(w->word, w->round) ||
                       atomic_load(&w->shm->shared->is_broken.value) != 0;
}

static bool wait_for_word(struct dm_run *run, struct dm_coll_shm *shm, _Atomic uint64_t *word,
                          uint64_t round, uint64_t what)
{
    int looks_per_pass = (int)dm_wait_policies[DM_WAIT_ROUND].looks[shm->is_oversubscribed];
    uint64_t since = 0; /* of a wait with a sleep */
    struct dm_waiter w;

    dm_wait_begin(dm_world.chan, &w, DM_WAIT_ROUND, shm->is_oversubscribed,
                  shm->is_oversubscribed ? dm_wait_round_ns(shm->n, shm->n_moved, shm->n_overlong)
                                         : 0);
    for (uint32_t n = 0; !wait_looks(word, round, looks_per_pass); n++) {
        bool may_sleep = dm_wait_pass(dm_world.chan, &w);

        if (dm_coll_shm_has_come(word, round))
            break;
        if ((may_sleep || n % DM_WAIT_LOST_PASSES == DM_WAIT_LOST_PASSES - 1) &&
            wait_is_hopeless(run, shm, word, round))
            return false;
        if (may_sleep) {
            since = since == 0 ? w.since : since;
            wait_sleep(shm, &w, word, round, what);
        }
    }
    if (since != 0 && shm->is_oversubscribed)
        dm_wait_round_learn(&shm->n_overlong, shm->n, shm->n_moved, since);
    return true;
}

bool dm_coll_shm_wait_long(struct dm_run *run, struct dm_coll_shm *shm, _Atomic uint64_t *word,
                           uint64_t round, uint64_t what)
{
    struct word_note note = {{word_report}, run, shm, word, round, what};
    bool has_come;

    if (run->is_stopped)
        return false;
    dm_wait_note_set(dm_world.chan, &note.note);
    has_come = wait_for_word(run, shm, word, round, what);
    dm_wait_note_end(dm_world.chan);
    return has_come;
}

void dm_coll_shm_spread(struct dm_coll_shm *shm)
{
    struct dm_coll_shm_rank *ranks;

    if (shm->n == 1) /* no segment: the others are on other hosts */
        return;
    ranks = shm->shared->ranks;
    dm_chan_spread(dm_world.chan, &ranks[0].id.core, sizeof(ranks[0]), shm->n, shm->me);
}
