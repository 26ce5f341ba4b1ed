/*
 * Split copies of two ranks that each have a core: a copy by the kernel goes at the pace of one
 * core, and the other rank would only wait.
 */
#include "mpi/coll/shm/split_copy.h"

#include "channel/wait.h"
#include "mpi/coll/shm/cma.h"
#include "mpi/coll/shm/rounds.h"
#include "mpi/coll/shm/wait.h"
#include "util/clock.h"
#include "util/host.h"

#define PIECE_MAX ((size_t)512 << 10)
#define PAGE      ((size_t)4096)

void dm_coll_shm_split_open(const struct dm_coll_shm *shm, uint64_t from, uint64_t to, size_t len,
                            size_t piece)
{
    struct dm_coll_shm_split *copy = &shm->shared->ranks[shm->me].split;

    copy->from = from;
    copy->to = to;
    copy->len = len;
    copy->piece = piece;
    atomic_store_explicit(&copy->failed, 0, memory_order_relaxed);
    dm_split_open(&copy->split, shm->round, dm_split_n_pieces(len, piece));
}

/*
 * An end that took longer than the copy was because the other had lost its core, which alone
 * would have cost nobody anything: the next 1, 3, 7 ... copies are not split, until one goes
 * well.
 */
static void split_learn(struct dm_coll_shm *shm, uint64_t ns_copy, uint64_t ns_end)
{
    if (ns_end <= ns_copy + DM_WAIT_SPLIT_NS)
        dm_backoff_worked(&shm->split.backoff);
    else
        dm_backoff_failed(&shm->split.backoff, DM_WAIT_BACKOFF_MAX);
}

static int split_read(const struct dm_coll_shm *shm, const struct dm_coll_shm_split *copy, size_t i)
{
    size_t at = i * copy->piece;

    return dm_host_vm_read((int)shm->shared->ranks[1 - shm->me].id.pid, copy->from + at,
                           (char *)(uintptr_t)copy->to + at,
                           dm_split_piece_len(copy->len, copy->piece, at));
}

static int split_copy(struct dm_run *run, struct dm_coll_shm *shm, uint64_t from, void *to,
                      size_t len)
{
    struct dm_coll_shm_split *copy = &shm->shared->ranks[shm->me].split;
    uint64_t n_by_peer = atomic_load_explicit(&copy->n_by_peer, memory_order_relaxed);
    size_t piece = dm_split_piece(len, PIECE_MAX, PAGE), n_mine = 0;
    uint64_t begun, ended, failed;
    int err = DM_OK;

    begun = dm_clock_ns();
    dm_coll_shm_split_open(shm, from, (uint64_t)(uintptr_t)to, len, piece);
    dm_coll_shm_post_split(run, shm);
    for (int64_t i; (i = dm_split_claim_front(&copy->split, shm->round)) >= 0; n_mine++)
        if (err == DM_OK)
            err = split_read(shm, copy, (size_t)i);
    ended = dm_clock_ns();
    n_by_peer += dm_split_n_pieces(len, piece) - n_mine;
    if (!dm_coll_shm_wait(run, shm, &copy->n_by_peer, n_by_peer,
                          dm_coll_shm_private_of(1 - shm->me)))
        return DM_OK; /* the run has failed */
    split_learn(shm, ended - begun, dm_clock_ns() - ended);
    failed = atomic_load_explicit(&copy->failed, memory_order_relaxed);
    if (err == DM_OK && failed > 0)
        err = split_read(shm, copy, (size_t)(failed - 1));
    return err;
}

/*
 * Pieces cost system calls on both sides, which the faster copy must gain: where that is depends on the machine, on
 * where the two run, and on what the other one has to do meanwhile. So both ways are timed now and then.
 */
static struct dm_trial *split_trial(struct dm_coll_shm *shm, size_t len)
{
    int i = 0;

    while (i < DM_COLL_SHM_TRIALS - 1 && len >= DM_COLL_SHM_CMA_MIN << (i + 1))
        i++;
    return &shm->split.trials[i];
}

int dm_coll_shm_split_copy(struct dm_run *run, struct dm_coll_shm *shm, uint64_t from, void *to,
                           size_t len)
{
    struct dm_trial *trial = split_trial(shm, len);
    bool is_split = trial->way == DM_COLL_SHM_SPLIT && !dm_backoff_skips(&shm->split.backoff);
    bool is_due = dm_trial_is_due(trial);
    uint64_t begun = is_due ? dm_clock_ns() : 0;
    int err;

    if (is_split)
        err = split_copy(run, shm, from, to, len);
    else
        err = dm_host_vm_read((int)shm->shared->ranks[1 - shm->me].id.pid, from, to, len);
    if (is_due && is_split == (trial->way == DM_COLL_SHM_SPLIT))
        (void)dm_trial_sample(trial, (double)(dm_clock_ns() - begun) / (double)len);
    else if (is_due)
        dm_trial_give_up(trial);
    return err;
}

/* A piece that cannot be written is left to the reader, and so are all others. */
bool dm_coll_shm_split_serve(struct dm_run *run, struct dm_coll_shm *shm)
{
    int lrank = 1 - shm->me;
    struct dm_coll_shm_split *copy = &shm->shared->ranks[lrank].split;
    bool can = true;

    if (!dm_coll_shm_await_split(run, shm, lrank))
        return false;
    for (int64_t i; can && (i = dm_split_claim_back(&copy->split, shm->round)) >= 0;) {
        size_t at = (size_t)i * copy->piece;

        can = dm_host_vm_write((int)shm->shared->ranks[lrank].id.pid, copy->to + at,
                               (const char *)(uintptr_t)(copy->from + at),
                               dm_split_piece_len(copy->len, copy->piece, at)) == DM_OK;
        if (!can)
            atomic_store_explicit(&copy->failed, (uint64_t)i + 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&copy->n_by_peer, 1, memory_order_release);
    }
    return dm_coll_shm_await_finished(run, shm, lrank);
}
