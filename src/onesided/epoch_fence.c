/*
 * Active target synchronization with MPI_Win_fence (MPI-4.0 section 12.5.1).
 *
 * The barrier of a fence is counters in the node-shared state: few processes of one host
 * read each other's, others count into one word, whose last arrival lets all go. With several
 * hosts their first processes exchange notices in between; without such state all processes do.
 */
#include "mpi/coll/coll.h"
#include "onesided/flush.h"
#include "onesided/shared.h"
#include "onesided/state.h"
#include "util/cfg.h"

#define FLAGS_MAX 4  /* processes that read each other's counters */
#define SPREADS   64 /* fences to a check of the cores */

/* Few processes: wake all who sleep; they will find what they wait for. */
static void fence_wake_all(struct dm_win *win)
{
    dm_atomic_fence();
    for (int i = 0; i < win->node->n; i++) {
        if (i != win->node->me)
            dm_rma_wake(win, win->node->ranks[i], false);
    }
}

/*
 * Everybody who sees the end of a fence wakes its neighbours in a binomial tree, if they sleep; as in the
 * collectives (mpi/coll/shm/wait.c), whose connections these are.
 */
static void fence_wake_tree(struct dm_win *win)
{
    const struct dm_rma_node *node = win->node;
    int step = 1;

    dm_atomic_fence();
    for (; step < node->n && (node->me & step) == 0; step *= 2) {
        if (node->me + step < node->n && dm_rma_is_asleep(win, node->me + step))
            dm_rma_wake(win, node->ranks[node->me + step], true);
    }
    if (node->me != 0 && dm_rma_is_asleep(win, node->me - step))
        dm_rma_wake(win, node->ranks[node->me - step], true);
}

static int barrier_flags(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;
    int err = DM_OK;

    dm_atomic_store(&dm_rma_my_slot(win)->n_fences, win->epoch.n_fences);
    fence_wake_all(win);
    for (int i = 0; i < node->n && err == DM_OK; i++)
        err = dm_rma_wait_word(win, &dm_rma_slot(win, i)->n_fences, win->epoch.n_fences, true);
    return err;
}

/*
 * Does this process exchange notices with others in a fence? Emulation has the collective barrier.
 */
static bool exchanges_notices(const struct dm_win *win)
{
    return win->node != NULL ? win->node->me == 0 && win->node->n_leaders > 1
                             : dm_cfg()->rma != DM_RMA_EMULATED;
}

/* A notice of another process, of this fence or a later one. */
static int await_notice(struct dm_win *win, int round)
{
    const volatile uint32_t *n = &win->epoch.n_notices[round];

    while ((int32_t)(*n - win->epoch.n_fences) < 0) {
        int err = DM_OK;

        dm_chan_progress_wait(dm_world.chan);
        if ((int32_t)(*n - win->epoch.n_fences) < 0)
            err = dm_rma_check_lost(win, -1);
        if (err != DM_OK)
            return err;
    }
    return DM_OK;
}

/* Those who exchange notices: the first processes of all hosts, or (no node-shared state) all. */
static int leaders_size(const struct dm_win *win)
{
    return win->node != NULL ? win->node->n_leaders : win->comm->size;
}

/* Whom this process notifies in the round that goes this far. */
static int leaders_rank(const struct dm_win *win, int step)
{
    const struct dm_rma_node *node = win->node;

    return node != NULL ? node->leaders[(node->leader + step) % node->n_leaders]
                        : (win->comm->rank + step) % win->comm->size;
}

/* A dissemination: each round covers twice as many. */
static int fence_barrier(struct dm_win *win)
{
    int err = DM_OK;

    for (int step = 1, round = 0; step < leaders_size(win) && err == DM_OK; step *= 2, round++) {
        err = dm_rma_note(win, leaders_rank(win, step), DM_PKT_RMA_FENCE, round);
        if (err == DM_OK)
            err = await_notice(win, round);
    }
    return err;
}

/*
 * Two processes whose notices follow their packets need not wait for acknowledgements before the
 * barrier: when it is over all packets for oneself have come, and those of one's own are waited for
 * then. With more, a third one could read what has not come yet.
 */
static bool is_pair(const struct dm_win *win)
{
    return win->comm->size == 2 && win->flavor != MPI_WIN_FLAVOR_DYNAMIC &&
           exchanges_notices(win) && !dm_rma_is_local(win, 1 - win->comm->rank);
}

static int barrier_count(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;
    struct dm_rma_shared *ctl = node->ctl;
    uint32_t all = win->epoch.n_fences * (uint32_t)node->n;
    bool is_last = dm_atomic_add(&ctl->n_arrived, 1) + 1 == all;
    int err;

    if (is_last && node->n_leaders > 1 && node->me != 0) {
        dm_atomic_fence();
        dm_rma_wake(win, node->ranks[0], false);
    }
    if (node->n_leaders == 1 ? !is_last : node->me != 0) {
        err = dm_rma_wait_word(win, &ctl->n_fences, win->epoch.n_fences, true);
        fence_wake_tree(win);
        return err;
    }
    err = dm_rma_wait_word(win, &ctl->n_arrived, all, true);
    if (err == DM_OK)
        err = fence_barrier(win);
    dm_atomic_store(&ctl->n_fences, win->epoch.n_fences);
    fence_wake_tree(win);
    return err;
}

static DM_ALWAYS_INLINE int barrier(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;

    win->epoch.n_fences++;
    if (node == NULL) {
        dm_rma_state.counts.n_syncs_packet++;
        return exchanges_notices(win) ? fence_barrier(win) : dm_barrier(win->comm);
    }
    dm_rma_state.counts.n_syncs_word++;
    if (win->epoch.n_fences % SPREADS == 1 && dm_chan_is_oversubscribed(dm_world.chan))
        dm_chan_spread(dm_world.chan, &node->ctl->lranks[0].core, sizeof(node->ctl->lranks[0]),
                       node->n, node->me);
    return node->n_leaders == 1 && node->n <= FLAGS_MAX ? barrier_flags(win) : barrier_count(win);
}

int dm_rma_barrier(struct dm_win *win)
{
    return barrier(win);
}

int dm_win_fence(int assert_flags, struct dm_win *win)
{
    int err, barrier_err;

    if (win->epoch.access != DM_EPOCH_NONE && win->epoch.access != DM_EPOCH_FENCE)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_fence inside an epoch of %s",
                       win->epoch.access == DM_EPOCH_START ? "MPI_Win_start" : "MPI_Win_lock");
    if (win->epoch.exposure == DM_EPOCH_POST)
        return DM_FAIL(DM_ERR_RMA_SYNC, "MPI_Win_fence between MPI_Win_post and MPI_Win_wait");
    /* after the flush the own transfers are at their targets; after the barrier everybody's are */
    err = is_pair(win) ? dm_rma_flush_start(win) : dm_rma_flush_all(win);
    if (err == DM_EPEER)
        return err;
    /* also after a failed transfer: the others wait for this process */
    barrier_err = barrier(win);
    if (barrier_err == DM_OK && is_pair(win))
        err = dm_rma_flush_all(win);
    if (barrier_err != DM_OK)
        return barrier_err;
    win->epoch.access = assert_flags & MPI_MODE_NOSUCCEED ? DM_EPOCH_NONE : DM_EPOCH_FENCE;
    win->epoch.exposure = win->epoch.access;
    win->epoch.is_open = win->epoch.access == DM_EPOCH_FENCE;
    return err;
}
