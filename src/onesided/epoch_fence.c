/*
 * Active target synchronization with MPI_Win_fence (MPI-4.0 section 12.5.1).
 *
 * The barrier of a fence is counters in the control block: few processes of one host
 * look at each other's, others count into one word, whose last arrival lets all go. With several
 * hosts their first processes exchange notices in between.
 */
#include "mpi/coll/coll.h"
#include "onesided/ctl.h"

#define FLAGS_MAX 4 /* processes that look at each other's counters */

/* Wake all who sleep; they will find what they wait for. */
static void wake_all(struct dm_win *win)
{
    dm_atomic_fence();
    for (int i = 0; i < win->node->n; i++) {
        if (i != win->node->me)
            dm_rma_wake(win, win->node->ranks[i], false);
    }
}

static int barrier_flags(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;
    int err = DM_OK;

    dm_atomic_store(&dm_rma_my_seat(win)->n_fences, node->n_fences);
    wake_all(win);
    for (int i = 0; i < node->n && err == DM_OK; i++)
        err = dm_rma_wait_word(win, &dm_rma_seat(win, i)->n_fences, node->n_fences, true);
    return err;
}

/* The first processes of all hosts meet: in each round one hears of twice as many. */
static int meet_leaders(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;
    int err = DM_OK;

    for (int step = 1, round = 0; step < node->n_leaders && err == DM_OK; step *= 2, round++) {
        err = dm_rma_note(win, node->leaders[(node->leader + step) % node->n_leaders],
                          DM_PKT_RMA_FENCE, round);
        if (err == DM_OK)
            err = dm_rma_wait_word(win, &node->n_notices[round], node->n_fences, true);
    }
    return err;
}

static int barrier_count(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;
    struct dm_rma_ctl *ctl = node->ctl;
    uint32_t all = node->n_fences * (uint32_t)node->n;
    bool is_last = dm_atomic_add(&ctl->n_arrived, 1) + 1 == all;
    int err;

    if (is_last && node->n_leaders > 1 && node->me != 0) {
        dm_atomic_fence();
        dm_rma_wake(win, node->ranks[0], false);
    }
    if (node->n_leaders == 1 ? !is_last : node->me != 0)
        return dm_rma_wait_word(win, &ctl->n_fences, node->n_fences, true);
    err = dm_rma_wait_word(win, &ctl->n_arrived, all, true);
    if (err == DM_OK)
        err = meet_leaders(win);
    dm_atomic_store(&ctl->n_fences, node->n_fences);
    wake_all(win);
    return err;
}

static int barrier(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;

    if (node == NULL) {
        dm_rma_state.counts.n_syncs_packet++;
        return dm_barrier(win->comm);
    }
    dm_rma_state.counts.n_syncs_word++;
    node->n_fences++;
    return node->n_leaders == 1 && node->n <= FLAGS_MAX ? barrier_flags(win) : barrier_count(win);
}

int dm_win_fence(int assert_flags, struct dm_win *win)
{
    int err, barrier_err;

    if (win->access != DM_EPOCH_NONE && win->access != DM_EPOCH_FENCE)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_fence inside an epoch of %s",
                       win->access == DM_EPOCH_START ? "MPI_Win_start" : "MPI_Win_lock");
    if (win->exposure == DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_fence between MPI_Win_post and MPI_Win_wait");
    /* after the flush my transfers are at their targets; after the barrier everybody's are */
    err = dm_rma_flush_all(win);
    if (err == DM_EPEER)
        return err;
    /* whoever was refused something still comes: the others wait */
    barrier_err = barrier(win);
    if (barrier_err != DM_OK)
        return barrier_err;
    win->access = assert_flags & MPI_MODE_NOSUCCEED ? DM_EPOCH_NONE : DM_EPOCH_FENCE;
    win->exposure = win->access;
    win->is_open = win->access == DM_EPOCH_FENCE;
    return err;
}
