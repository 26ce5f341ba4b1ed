/*
 * Passive target synchronization: locks (MPI-4.0 section 12.5.3).
 *
 * A lock is granted by the target's progress engine in order of arrival (target.c);
 * a lock of one's own part takes the same way, through the channel to oneself.
 */
#include "onesided/rma.h"

static int check_can_lock(const struct dm_win *win, bool is_all)
{
    if (win->access == DM_EPOCH_NONE || win->access == DM_EPOCH_FENCE)
        return DM_OK;
    if (win->access == DM_EPOCH_LOCK && !is_all)
        return DM_OK;
    return DM_FAIL(DM_ERR_RMA_SYNC, "lock inside an epoch of %s",
                   win->access == DM_EPOCH_START  ? "MPI_Win_start"
                   : win->access == DM_EPOCH_LOCK ? "MPI_Win_lock"
                                                  : "MPI_Win_lock_all");
}

/* Ask for the lock of rank's part; the grant is awaited by the caller. */
static int request_lock(struct dm_win *win, int rank, int lock_type)
{
    int err = dm_rma_note(win, rank, DM_PKT_RMA_LOCK, lock_type);

    if (err != DM_OK)
        return err;
    win->peers[rank].n_awaited++;
    win->n_awaited++;
    return DM_OK;
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
    peer->is_nocheck = assert_flags & MPI_MODE_NOCHECK;
    if (!peer->is_nocheck) {
        err = request_lock(win, rank, lock_type);
        if (err == DM_OK)
            err = dm_rma_wait(win, rank, &peer->n_awaited);
        if (err != DM_OK)
            return err;
    }
    peer->is_locked = true;
    win->n_locked++;
    win->access = DM_EPOCH_LOCK;
    return DM_OK;
}

/* Everything done under the lock of rank is at the target; now give the lock back. */
static int release_lock(struct dm_win *win, int rank)
{
    struct dm_win_peer *peer = &win->peers[rank];

    peer->is_locked = false;
    win->n_locked--;
    return peer->is_nocheck ? DM_OK : dm_rma_note(win, rank, DM_PKT_RMA_UNLOCK, 0);
}

int dm_win_unlock(int rank, struct dm_win *win)
{
    int err, release_err;

    if (rank == MPI_PROC_NULL)
        return DM_OK;
    if (win->access != DM_EPOCH_LOCK || !win->peers[rank].is_locked)
        return DM_FAIL(DM_ERR_RMA_SYNC, "rank %d is not locked by this process", rank);
    err = dm_rma_flush(win, rank);
    release_err = release_lock(win, rank);
    if (win->n_locked == 0)
        win->access = DM_EPOCH_NONE;
    return err != DM_OK ? err : release_err;
}

int dm_win_lock_all(int assert_flags, struct dm_win *win)
{
    bool is_nocheck = assert_flags & MPI_MODE_NOCHECK;
    int err = check_can_lock(win, true);

    for (int i = 0; i < win->comm->size && err == DM_OK; i++) {
        win->peers[i].is_nocheck = is_nocheck;
        if (!is_nocheck)
            err = request_lock(win, i, MPI_LOCK_SHARED);
    }
    if (err == DM_OK)
        err = dm_rma_wait(win, -1, &win->n_awaited);
    if (err != DM_OK)
        return err;
    for (int i = 0; i < win->comm->size; i++)
        win->peers[i].is_locked = true;
    win->n_locked = win->comm->size;
    win->access = DM_EPOCH_LOCK_ALL;
    return DM_OK;
}

int dm_win_unlock_all(struct dm_win *win)
{
    int err;

    if (win->access != DM_EPOCH_LOCK_ALL)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_unlock_all without MPI_Win_lock_all");
    err = dm_rma_flush_all(win);
    for (int i = 0; i < win->comm->size; i++) {
        int release_err = release_lock(win, i);

        if (err == DM_OK)
            err = release_err;
    }
    win->access = DM_EPOCH_NONE;
    return err;
}
