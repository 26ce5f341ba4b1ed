/*
 * General active target synchronization: start and complete at the origins, post and
 * wait at the targets (MPI-4.0 section 12.5.2).
 */
#include "onesided/rma.h"

/* Rank in the window of member i of group; DM_ERR_GROUP when it is not in the window. */
static int rank_in_window(const struct dm_win *win, const struct dm_group *group, int i,
                          int *rank_p)
{
    *rank_p = dm_group_rank_of(win->group, dm_group_proc(group, i));
    if (*rank_p == MPI_UNDEFINED)
        return DM_FAIL(DM_ERR_GROUP, "member %d of the group (process %d) is not in the window", i,
                       dm_group_proc(group, i));
    return DM_OK;
}

/* Wait for one more post of rank. */
static int await_post(struct dm_win *win, int rank)
{
    struct dm_win_peer *peer = &win->peers[rank];

    while (*(volatile uint32_t *)&peer->n_posts == 0) {
        int err;

        dm_chan_progress_wait(dm_world.chan);
        err = peer->n_posts == 0 ? dm_rma_check_lost(win, rank) : DM_OK;
        if (err != DM_OK)
            return err;
    }
    peer->n_posts--;
    return DM_OK;
}

int dm_win_start(struct dm_group *group, int assert_flags, struct dm_win *win)
{
    int err = DM_OK;
    int rank;

    if (win->access != DM_EPOCH_NONE && win->access != DM_EPOCH_FENCE)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_start inside another access epoch");
    for (int i = 0; i < group->size; i++) {
        err = rank_in_window(win, group, i, &rank);
        if (err != DM_OK)
            return err;
    }
    for (int i = 0; i < group->size; i++) {
        rank_in_window(win, group, i, &rank);
        if (!(assert_flags & MPI_MODE_NOCHECK))
            err = await_post(win, rank);
        if (err != DM_OK)
            return err;
        win->peers[rank].is_started = true;
    }
    dm_group_ref(group);
    win->start_group = group;
    win->access = DM_EPOCH_START;
    return DM_OK;
}

int dm_win_complete(struct dm_win *win)
{
    int first_err = DM_OK;

    if (win->access != DM_EPOCH_START)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_complete without MPI_Win_start");
    for (int i = 0; i < win->start_group->size; i++) {
        int rank;
        int err = rank_in_window(win, win->start_group, i, &rank);

        /*
         * packets need no acknowledgement, the notice arrives behind them; but only a dynamic
         * window's target knows whether they were right
         */
        if (err == DM_OK)
            err = win->flavor == MPI_WIN_FLAVOR_DYNAMIC ? dm_rma_flush(win, rank)
                                                        : dm_rma_flush_local(win, rank);
        win->peers[rank].is_unacked = false;
        win->peers[rank].is_started = false;
        if (first_err == DM_OK)
            first_err = err;
        /* also after a failure: the target waits for it */
        err = dm_rma_note(win, rank, DM_PKT_RMA_COMPLETE, 0);
        if (first_err == DM_OK)
            first_err = err;
    }
    dm_group_unref(win->start_group);
    win->start_group = NULL;
    win->access = DM_EPOCH_NONE;
    return first_err;
}

int dm_win_post(struct dm_group *group, int assert_flags, struct dm_win *win)
{
    int err = DM_OK;
    int rank;

    if (win->exposure != DM_EPOCH_NONE && win->exposure != DM_EPOCH_FENCE)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_post before MPI_Win_wait of the last one");
    for (int i = 0; i < group->size; i++) {
        err = rank_in_window(win, group, i, &rank);
        if (err != DM_OK)
            return err;
    }
    /* an origin that is faster than this loop may complete before it ends; so count first */
    win->n_completes += group->size;
    win->exposure = DM_EPOCH_POST;
    for (int i = 0; i < group->size && err == DM_OK; i++) {
        rank_in_window(win, group, i, &rank);
        if (!(assert_flags & MPI_MODE_NOCHECK))
            err = dm_rma_note(win, rank, DM_PKT_RMA_POST, 0);
    }
    return err;
}

int dm_win_wait(struct dm_win *win)
{
    int err;

    if (win->exposure != DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_wait without MPI_Win_post");
    err = dm_rma_wait(win, -1, &win->n_completes);
    win->exposure = DM_EPOCH_NONE;
    return err;
}

int dm_win_test(struct dm_win *win, int *flag)
{
    if (win->exposure != DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_test without MPI_Win_post");
    if (win->n_completes != 0)
        dm_chan_progress_test(dm_world.chan);
    *flag = win->n_completes == 0;
    if (!*flag)
        return dm_rma_check_lost(win, -1);
    win->exposure = DM_EPOCH_NONE;
    return DM_OK;
}
