/*
 * Passive target synchronization: locks (MPI-4.0 section 12.5.3).
 *
 * Processes of the target's host take its lock by atomics on a word (lock_word.c). Others ask by
 * a packet and the target's progress engine takes the word for them, in order of arrival; or, where
 * there are no such words, grants the lock itself (target_note.c), to itself, too. In some windows all
 * processes take all locks by a provider's fetch-and-add instead (lock_atomic.c).
 */
#include "mpi/node/node.h"
#include "onesided/flush.h"
#include "onesided/lock.h"
#include "onesided/shared.h"
#include "onesided/state.h"

static int check_can_lock(const struct dm_win *win, bool is_all)
{
    if (win->epoch.access == DM_EPOCH_NONE || win->epoch.access == DM_EPOCH_FENCE)
        return DM_OK;
    if (win->epoch.access == DM_EPOCH_LOCK && !is_all)
        return DM_OK;
    return DM_FAIL(DM_ERR_RMA_SYNC, "lock inside an epoch of %s",
                   win->epoch.access == DM_EPOCH_START  ? "MPI_Win_start"
                   : win->epoch.access == DM_EPOCH_LOCK ? "MPI_Win_lock"
                                                        : "MPI_Win_lock_all");
}

/* By a packet to the target, which answers when it is granted. */
static int request_lock(struct dm_win *win, int rank, int mode)
{
    struct dm_win_peer *peer = &win->peers[rank];
    int err = dm_rma_note(win, rank, DM_PKT_RMA_LOCK, mode);

    dm_rma_state.counts.n_locks_packet++;
    if (err != DM_OK)
        return err;
    peer->n_answers++;
    win->pending.n_answers++;
    return dm_rma_wait(win, rank, &peer->n_answers);
}

int dm_rma_lock(struct dm_win *win, int rank, int mode)
{
    struct dm_win_peer *peer = &win->peers[rank];
    int err;

    /* requests from other hosts that have arrived come first */
    if (rank == win->comm->rank && win->node != NULL && win->node->n_leaders > 1)
        dm_chan_progress_test(dm_world.chan);
    /* hosts have a block each, or none has: then the lock is not a word */
    if (dm_unlikely(win->fetch_locks != NULL))
        err = dm_rma_atomic_lock(win, rank, mode);
    else if (dm_likely(dm_rma_lrank(win, rank) >= 0))
        err = dm_rma_word_lock(win, rank, mode);
    else
        err = request_lock(win, rank, win->node != NULL ? mode | DM_RMA_BY_WORD : mode);
    if (err != DM_OK)
        return err;
    peer->lock.mode = mode;
    peer->lock.is_nocheck = false;
    peer->is_locked = true;
    peer->lock.next = win->epoch.last_locked;
    win->epoch.last_locked = rank;
    return DM_OK;
}

int dm_rma_lock_used(struct dm_win *win, int rank)
{
    struct dm_win_peer *peer = &win->peers[rank];
    int err;

    /* waiting lets other threads run */
    while (*(volatile bool *)&peer->lock.is_taking)
        dm_chan_progress_wait(dm_world.chan);
    if (peer->is_locked)
        return DM_OK;
    peer->lock.is_taking = true;
    err = dm_rma_lock(win, rank, MPI_LOCK_SHARED | DM_RMA_VISIT);
    peer->lock.is_taking = false;
    return err;
}

int dm_win_lock(int lock_type, int rank, int assert_flags, struct dm_win *win)
{
    struct dm_win_peer *peer;
    int err = check_can_lock(win, false);

    if (err != DM_OK)
        return err;
    if (rank == MPI_PROC_NULL)
        return DM_OK;
    peer = &win->peers[rank];
    if (peer->is_locked)
        return DM_FAIL(DM_ERR_RMA_SYNC, "rank %d is locked already: unlock it first", rank);
    peer->lock.is_nocheck = assert_flags & MPI_MODE_NOCHECK;
    if (peer->lock.is_nocheck)
        peer->is_locked = true;
    else if (lock_type == MPI_LOCK_SHARED && win->epoch.last_locked >= 0)
        err = dm_rma_lock(win, rank, lock_type | DM_RMA_VISIT);
    else
        err = dm_rma_lock(win, rank, lock_type);
    if (err != DM_OK)
        return err;
    win->epoch.n_locked++;
    win->epoch.access = DM_EPOCH_LOCK;
    win->epoch.is_open = false;
    return DM_OK;
}

/* Out of the list of what is locked. */
static void lock_forget(struct dm_win *win, int rank)
{
    int *at = &win->epoch.last_locked;

    while (*at >= 0 && *at != rank)
        at = &win->peers[*at].lock.next;
    if (*at == rank)
        *at = win->peers[rank].lock.next;
}

/* Everything done under the lock of rank is at the target; now give the lock back. */
static int release_lock(struct dm_win *win, int rank)
{
    struct dm_win_peer *peer = &win->peers[rank];

    peer->is_locked = false;
    if (peer->lock.is_nocheck)
        return DM_OK;
    lock_forget(win, rank);
    if (dm_unlikely(win->fetch_locks != NULL))
        return dm_rma_atomic_unlock(win, rank, peer->lock.mode);
    if (dm_rma_lrank(win, rank) < 0)
        return dm_rma_note(win, rank, DM_PKT_RMA_UNLOCK,
                           win->node != NULL ? peer->lock.mode | DM_RMA_BY_WORD : 0);
    dm_rma_word_unlock(win, rank, peer->lock.mode);
    return DM_OK;
}

int dm_win_unlock(int rank, struct dm_win *win)
{
    int err, release_err;

    if (rank == MPI_PROC_NULL)
        return DM_OK;
    if (win->epoch.access != DM_EPOCH_LOCK || !win->peers[rank].is_locked)
        return DM_FAIL(DM_ERR_RMA_SYNC, "rank %d is not locked by this process", rank);
    dm_rma_poll_others(win);
    err = dm_rma_flush(win, rank);
    release_err = release_lock(win, rank);
    if (--win->epoch.n_locked == 0)
        win->epoch.access = DM_EPOCH_NONE;
    return err != DM_OK ? err : release_err;
}

/*
 * On one host all parts are locked at once, in one order. With several hosts the own part is, the others
 * with the first call that goes there, so that this costs the same in large jobs: as a visitor, since
 * locks are held then.
 */
static int lock_parts(struct dm_win *win)
{
    int err = DM_OK;

    if (!dm_node_is_one(win->comm->group))
        return dm_rma_lock(win, win->comm->rank, MPI_LOCK_SHARED);
    for (int i = 0; i < win->comm->size && err == DM_OK; i++)
        err = dm_rma_lock(win, i, MPI_LOCK_SHARED);
    return err;
}

int dm_win_lock_all(int assert_flags, struct dm_win *win)
{
    int err = check_can_lock(win, true);

    if (err != DM_OK)
        return err;
    win->epoch.is_nocheck = assert_flags & MPI_MODE_NOCHECK;
    if (!win->epoch.is_nocheck)
        err = lock_parts(win);
    if (err != DM_OK)
        return err;
    win->epoch.access = DM_EPOCH_LOCK_ALL;
    win->epoch.is_open = win->epoch.is_nocheck;
    return DM_OK;
}

int dm_win_unlock_all(struct dm_win *win)
{
    int err;

    if (win->epoch.access != DM_EPOCH_LOCK_ALL)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_unlock_all without MPI_Win_lock_all");
    dm_rma_poll_others(win);
    err = dm_rma_flush_all(win);
    while (win->epoch.last_locked >= 0) {
        int release_err = release_lock(win, win->epoch.last_locked);

        if (err == DM_OK)
            err = release_err;
    }
    win->epoch.access = DM_EPOCH_NONE;
    win->epoch.is_open = false;
    return err;
}
