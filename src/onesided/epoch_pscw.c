/*
 * General active target synchronization: start and complete at the origins, post and
 * wait at the targets (MPI-4.0 section 12.5.2).
 *
 * On one host post and complete are counters that the processes store into the node-shared state;
 * otherwise, and where packets are on their way that the notice must not overtake, notices.
 */
#include "onesided/flush.h"
#include "onesided/shared.h"
#include "onesided/state.h"

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
    struct dm_rma_node *node = win->node;

    if (dm_rma_is_local(win, rank))
        return dm_rma_wait_word(win, &node->posts[node->me * node->n + dm_rma_lrank(win, rank)],
                                ++node->posts_seen[dm_rma_lrank(win, rank)], true);
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

    if (win->epoch.access != DM_EPOCH_NONE && win->epoch.access != DM_EPOCH_FENCE)
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
    win->epoch.start_group = group;
    win->epoch.access = DM_EPOCH_START;
    win->epoch.is_open = false;
    return DM_OK;
}

/* Notify rank that the transfers of this process are over. */
static int notify_complete(struct dm_win *win, int rank)
{
    bool is_behind = win->peers[rank].is_unacked;

    dm_rma_acked(win, rank);
    if (is_behind || !dm_rma_is_local(win, rank)) {
        dm_rma_state.counts.n_syncs_packet++;
        return dm_rma_note(win, rank, DM_PKT_RMA_COMPLETE, 0);
    }
    dm_rma_state.counts.n_syncs_word++;
    dm_atomic_add(&dm_rma_slot(win, dm_rma_lrank(win, rank))->n_completes, 1);
    dm_atomic_fence();
    dm_rma_wake(win, rank, false);
    return DM_OK;
}

int dm_win_complete(struct dm_win *win)
{
    int first_err = DM_OK;

    if (win->epoch.access != DM_EPOCH_START)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_complete without MPI_Win_start");
    for (int i = 0; i < win->epoch.start_group->size; i++) {
        int rank;
        int err = rank_in_window(win, win->epoch.start_group, i, &rank);

        /*
         * packets need no acknowledgement, the notice arrives behind them; but only a dynamic
         * window's target knows whether they were right
         */
        if (err == DM_OK)
            err = win->flavor == MPI_WIN_FLAVOR_DYNAMIC ? dm_rma_flush(win, rank)
                                                        : dm_rma_flush_local(win, rank);
        win->peers[rank].is_started = false;
        if (first_err == DM_OK)
            first_err = err;
        /* also after a failure: the target waits for it */
        err = notify_complete(win, rank);
        if (first_err == DM_OK)
            first_err = err;
    }
    dm_group_unref(win->epoch.start_group);
    win->epoch.start_group = NULL;
    win->epoch.access = DM_EPOCH_NONE;
    return first_err;
}

/* Let rank start. */
static int notify_post(struct dm_win *win, int rank)
{
    struct dm_rma_node *node = win->node;
    uint32_t *posts;

    if (!dm_rma_is_local(win, rank)) {
        dm_rma_state.counts.n_syncs_packet++;
        return dm_rma_note(win, rank, DM_PKT_RMA_POST, 0);
    }
    dm_rma_state.counts.n_syncs_word++;
    posts = &node->posts[dm_rma_lrank(win, rank) * node->n + node->me];
    dm_atomic_store(posts, *posts + 1);
    dm_atomic_fence();
    dm_rma_wake(win, rank, false);
    return DM_OK;
}

int dm_win_post(struct dm_group *group, int assert_flags, struct dm_win *win)
{
    int err = DM_OK;
    int rank;

    if (win->epoch.exposure != DM_EPOCH_NONE && win->epoch.exposure != DM_EPOCH_FENCE)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_post before MPI_Win_wait of the last one");
    for (int i = 0; i < group->size; i++) {
        err = rank_in_window(win, group, i, &rank);
        if (err != DM_OK)
            return err;
    }
    /* an origin that is faster than this loop may complete before it ends; so count first */
    win->epoch.n_completes += group->size;
    win->epoch.exposure = DM_EPOCH_POST;
    for (int i = 0; i < group->size && err == DM_OK; i++) {
        rank_in_window(win, group, i, &rank);
        if (!(assert_flags & MPI_MODE_NOCHECK))
            err = notify_post(win, rank);
    }
    return err;
}

/* Origins that are not done yet: some send packets, some count. */
static int completes_left(const struct dm_win *win)
{
    if (win->node == NULL)
        return win->epoch.n_completes;
    return win->epoch.n_completes -
           (int)(dm_atomic_load(&dm_rma_my_slot(win)->n_completes) - win->node->completes_seen);
}

struct complete_wait {
    struct dm_wait_word word;
    const struct dm_win *win;
    int err;
};

static bool pscw_is_over(struct dm_wait_word *word)
{
    struct complete_wait *w = dm_container_of(word, struct complete_wait, word);

    if (completes_left(w->win) == 0)
        return true;
    w->err = dm_rma_check_lost(w->win, -1);
    return w->err != DM_OK;
}

static int await_completes(struct dm_win *win)
{
    struct complete_wait w = {.word = {.is_over = pscw_is_over}, .win = win};

    if (win->node == NULL)
        return dm_rma_wait(win, -1, &win->epoch.n_completes);
    w.word.asleep = &dm_rma_my_slot(win)->asleep;
    dm_wait_for_word(dm_world.chan, &w.word);
    return w.err;
}

/* The exposure is over. */
static void end_exposure(struct dm_win *win)
{
    if (win->node != NULL)
        win->node->completes_seen = dm_atomic_load(&dm_rma_my_slot(win)->n_completes);
    win->epoch.n_completes = 0;
    win->epoch.exposure = DM_EPOCH_NONE;
}

int dm_win_wait(struct dm_win *win)
{
    int err;

    if (win->epoch.exposure != DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_wait without MPI_Win_post");
    err = await_completes(win);
    end_exposure(win);
    return err;
}

int dm_win_test(struct dm_win *win, int *flag)
{
    if (win->epoch.exposure != DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_test without MPI_Win_post");
    if (completes_left(win) != 0)
        dm_chan_progress_test(dm_world.chan);
    *flag = completes_left(win) == 0;
    if (!*flag)
        return dm_rma_check_lost(win, -1);
    end_exposure(win);
    return DM_OK;
}
