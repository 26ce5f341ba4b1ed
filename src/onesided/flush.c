/*
 * Completion of transfers at the origin and at the target (MPI-4.0 section 12.5.4),
 * and what the synchronization calls share.
 *
 * A finished RDMA write is in the target's memory. Packets are applied in order of
 * arrival, so one acknowledged notice behind them says that all are applied.
 */
#include <stdatomic.h>

#include "onesided/assist.h"
#include "onesided/flush.h"
#include "onesided/msg.h"
#include "onesided/state.h"

static struct dm_pkt_rma_note flush_note(const struct dm_win *win, int32_t handle,
                                         enum dm_rma_pkt type, int mode)
{
    return (struct dm_pkt_rma_note){
        .pkt = {.type = (uint8_t)type,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(struct dm_pkt_rma_note)},
        .win = handle,
        .source = win->comm->rank,
        .mode = mode,
        .from = win->obj.handle,
    };
}

int dm_rma_answer(struct dm_win *win, int rank, int32_t handle, enum dm_rma_pkt type, int mode)
{
    struct dm_pkt_rma_note note = flush_note(win, handle, type, mode);

    return dm_chan_send_ctl(dm_world.chan, dm_rma_proc(win, rank), &note.pkt);
}

void dm_rma_wake_surely(struct dm_win *win, int rank)
{
    struct dm_pkt_rma_note note = flush_note(win, win->parts[rank].handle, DM_PKT_RMA_WAKE, 0);

    dm_rma_state.counts.n_wakes++;
    (void)dm_chan_send_out(dm_world.chan, dm_rma_proc(win, rank), &note.pkt);
}

int dm_rma_note(struct dm_win *win, int rank, enum dm_rma_pkt type, int mode)
{
    int err = dm_rma_send_deferred(win, rank, false);

    return err != DM_OK ? err : dm_rma_answer(win, rank, win->parts[rank].handle, type, mode);
}

/* The first lost process among rank, or all ranks when rank < 0; -1 when none. */
static int find_lost(const struct dm_win *win, int rank)
{
    if (rank >= 0)
        return dm_world_is_gone(dm_rma_proc(win, rank)) ? rank : -1;
    for (int i = 0; i < win->comm->size; i++) {
        if (dm_world_is_gone(dm_rma_proc(win, i)))
            return i;
    }
    return -1;
}

static int fail_lost(const struct dm_win *win, int rank)
{
    int proc = dm_rma_proc(win, rank);

    return DM_FAIL(DM_EPEER,
                   "rank %d of the window (process %d on %s) was lost while waiting for it", rank,
                   proc, dm_world.host_of(dm_world.host_arg, proc));
}

int dm_rma_check_lost(const struct dm_win *win, int rank)
{
    /* looking at every rank is not for every pass */
    int lost = dm_likely(dm_rma_state.n_lost == 0) ? -1 : find_lost(win, rank);

    return lost >= 0 ? fail_lost(win, lost) : DM_OK;
}

/* A wait for a count. */
struct count_wait {
    struct dm_wait_word word;
    const struct dm_win *win;
    int rank;
    const volatile int *count;
    int err;
};

static bool flush_is_over(struct dm_wait_word *word)
{
    struct count_wait *w = dm_container_of(word, struct count_wait, word);

    if (*w->count == 0)
        return true;
    w->err = dm_rma_check_lost(w->win, w->rank);
    return w->err != DM_OK;
}

int dm_rma_wait(struct dm_win *win, int rank, const int *count)
{
    struct count_wait w = {
        .word = {.is_over = flush_is_over}, .win = win, .rank = rank, .count = count};

    if (*w.count != 0)
        dm_wait_until(dm_world.chan, &w.word);
    return w.err;
}

void dm_rma_poll_others(struct dm_win *win)
{
    if (win->node != NULL)
        dm_rma_assist_execute(win->node);
    if ((++win->pending.n_polls & 63) == 0)
        dm_chan_progress_test(dm_world.chan);
}

/* Report the first failure since the last synchronization, once. */
static int take_error(struct dm_win *win)
{
    int err = win->pending.err;
    int lost = err == DM_EPEER ? find_lost(win, -1) : -1;

    dm_rma_select_end(&dm_rma_state.select, win);
    /* what was stored into mapped parts is there before any notice that follows */
    atomic_thread_fence(memory_order_release);
    win->pending.err = DM_OK;
    if (lost >= 0)
        return fail_lost(win, lost);
    if (err == DM_ERR_RMA_RANGE)
        return DM_FAIL(err, "a transfer addressed memory that its target has not attached");
    return err != DM_OK ? DM_FAIL(err, "a one-sided transfer failed") : DM_OK;
}

/* Ask rank to acknowledge the packets sent so far, if there are any. */
static int request_ack(struct dm_win *win, int rank)
{
    struct dm_win_peer *peer = &win->peers[rank];
    int err;

    if (!peer->is_unacked)
        return DM_OK;
    dm_rma_acked(win, rank);
    err = peer->deferred != NULL ? dm_rma_send_deferred(win, rank, true)
                                 : dm_rma_note(win, rank, DM_PKT_RMA_SYNC, 0);
    if (err != DM_OK)
        return err;
    peer->n_answers++;
    win->pending.n_answers++;
    return DM_OK;
}

int dm_rma_flush(struct dm_win *win, int rank)
{
    int err;

    dm_rma_assist_flush(win, rank);
    err = request_ack(win, rank);
    if (err == DM_OK)
        err = dm_rma_wait(win, rank, &win->peers[rank].n_transfers);
    if (err == DM_OK)
        err = dm_rma_wait(win, rank, &win->peers[rank].n_answers);
    return err != DM_OK ? err : take_error(win);
}

int dm_rma_flush_start(struct dm_win *win)
{
    int err = DM_OK;

    dm_rma_assist_flush_all(win);
    for (int i = 0; win->pending.n_unacked > 0 && i < win->comm->size && err == DM_OK; i++)
        err = request_ack(win, i);
    if (err == DM_OK)
        err = dm_rma_wait(win, -1, &win->pending.n_transfers);
    dm_rma_select_end(&dm_rma_state.select, win);
    return err;
}

int dm_rma_flush_all(struct dm_win *win)
{
    int err = dm_rma_flush_start(win);

    if (err == DM_OK)
        err = dm_rma_wait(win, -1, &win->pending.n_answers);
    return err != DM_OK ? err : take_error(win);
}

int dm_rma_flush_local(struct dm_win *win, int rank)
{
    int err;

    if (rank >= 0)
        dm_rma_assist_flush(win, rank);
    else
        dm_rma_assist_flush_all(win);
    err = dm_rma_wait(win, rank,
                      rank >= 0 ? &win->peers[rank].n_transfers : &win->pending.n_transfers);
    return err != DM_OK ? err : take_error(win);
}

bool dm_rma_is_passive(const struct dm_win *win, int rank)
{
    return win->epoch.access == DM_EPOCH_LOCK_ALL ||
           (win->epoch.access == DM_EPOCH_LOCK && (rank < 0 || win->peers[rank].is_locked));
}

/* Flushes are for passive target epochs only. */
static int check_passive(const struct dm_win *win, int rank)
{
    if (dm_rma_is_passive(win, rank))
        return DM_OK;
    return DM_FAIL(DM_ERR_RMA_SYNC,
                   "flush without a lock: call MPI_Win_lock or MPI_Win_lock_all first");
}

/* Nothing is on its way and nothing has failed: programs time these calls. */
static inline bool is_idle(const struct dm_win *win)
{
    return (win->pending.n_unacked | win->pending.n_transfers | win->pending.n_answers |
            win->pending.err) == 0;
}

int dm_win_flush(int rank, struct dm_win *win)
{
    int err;

    if (dm_likely(rank >= 0 && is_idle(win) &&
                  (win->peers[rank].is_locked || win->epoch.access == DM_EPOCH_LOCK_ALL))) {
        dm_rma_poll_others(win);
        dm_rma_assist_flush(win, rank);
        if (dm_unlikely(!is_idle(win)))
            return dm_rma_flush(win, rank);
        dm_rma_select_end(&dm_rma_state.select, win);
        atomic_thread_fence(memory_order_release);
        return DM_OK;
    }

    if (rank == MPI_PROC_NULL)
        return DM_OK;
    dm_rma_poll_others(win);
    err = check_passive(win, rank);
    return err != DM_OK ? err : dm_rma_flush(win, rank);
}

int dm_win_flush_all(struct dm_win *win)
{
    int err = check_passive(win, -1);

    dm_rma_poll_others(win);
    return err != DM_OK ? err : dm_rma_flush_all(win);
}

int dm_win_flush_local(int rank, struct dm_win *win)
{
    int err;

    if (rank == MPI_PROC_NULL)
        return DM_OK;
    dm_rma_poll_others(win);
    err = check_passive(win, rank);
    return err != DM_OK ? err : dm_rma_flush_local(win, rank);
}

int dm_win_flush_local_all(struct dm_win *win)
{
    int err = check_passive(win, -1);

    dm_rma_poll_others(win);
    return err != DM_OK ? err : dm_rma_flush_local(win, -1);
}

int dm_win_sync(struct dm_win *win)
{
    (void)win;
    /* one copy of the window (MPI_WIN_UNIFIED): a fence of the processor is all there is to do */
    atomic_thread_fence(memory_order_seq_cst);
    dm_chan_progress_test(dm_world.chan);
    return DM_OK;
}
