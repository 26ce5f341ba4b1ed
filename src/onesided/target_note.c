/*
 * Notices at their receiver: acknowledgements, posts, completes, fences; and the queue of those
 * that lock this rank's part by packets.
 */
#include <stdlib.h>

#include "onesided/flush.h"
#include "onesided/lock.h"
#include "onesided/target.h"

/* A lock request that had to wait. */
struct lock_waiter {
    struct dm_list link;
    int rank;
    int32_t handle; /* of the window there */
    int mode;
    uint32_t ticket; /* of the lock's word, when that is the lock */
};

static void on_sync(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    dm_rma_acknowledge(win, note->source, note->from);
}

/* An acknowledgement, or a lock that was granted. */
static void on_answer(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    if (note->mode != DM_OK && win->pending.err == DM_OK)
        win->pending.err = note->mode;
    win->peers[note->source].n_answers--;
    win->pending.n_answers--;
}

static void on_post(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    win->peers[note->source].n_posts++;
}

static void on_complete(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    (void)note;
    win->epoch.n_completes--;
}

static bool lock_can_grant(struct dm_win *win, const struct lock_waiter *w)
{
    int mode = w->mode & ~(DM_RMA_BY_WORD | DM_RMA_VISIT);

    if (w->mode & DM_RMA_BY_WORD)
        return w->mode & DM_RMA_VISIT ? dm_rma_word_is_open(win)
                                      : dm_rma_word_try(win, w->ticket, mode);
    return win->target.n_lock_holders == 0 ||
           (win->target.lock_mode == MPI_LOCK_SHARED && mode == MPI_LOCK_SHARED);
}

/*
 * Nobody but visitors, who stand in front, overtakes a waiter, so that an exclusive lock is not starved by
 * shared ones.
 */
static void lock_grant_next(struct dm_win *win)
{
    while (!dm_list_is_empty(&win->target.lock_queue)) {
        struct lock_waiter *w =
            dm_container_of(win->target.lock_queue.next, struct lock_waiter, link);

        if (!lock_can_grant(win, w))
            break;
        dm_list_del(&w->link);
        win->target.lock_mode = w->mode & ~(DM_RMA_BY_WORD | DM_RMA_VISIT);
        win->target.n_lock_holders++;
        dm_rma_answer(win, w->rank, w->handle, DM_PKT_RMA_LOCK_GRANT, 0);
        free(w);
    }
}

static void on_lock(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    struct lock_waiter *w = malloc(sizeof(*w));

    if (w == NULL) {
        dm_world.abort(dm_world.abort_arg, 1, "out of memory for a lock request");
        return;
    }
    w->rank = note->source;
    w->handle = note->from;
    w->mode = note->mode;
    w->ticket = 0;
    if (note->mode & DM_RMA_VISIT) {
        if (note->mode & DM_RMA_BY_WORD)
            dm_rma_word_visit(win);
        dm_list_add_head(&win->target.lock_queue, &w->link);
    } else {
        if (note->mode & DM_RMA_BY_WORD)
            w->ticket = dm_rma_word_ticket(win);
        dm_list_add_tail(&win->target.lock_queue, &w->link);
    }
    lock_grant_next(win);
}

static void on_unlock(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    win->target.n_lock_holders--;
    if (note->mode & DM_RMA_BY_WORD)
        dm_rma_word_unlock(win, win->comm->rank, note->mode & ~DM_RMA_BY_WORD);
    lock_grant_next(win);
}

static void on_fence(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    win->epoch.n_notices[note->mode]++;
}

/* This process was asleep: a lock's turn may have come to a process of another host. */
void dm_rma_on_wake(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    /* it may come late: nobody waits for these packets */
    struct dm_win *win = dm_win_get(((const struct dm_pkt_rma_note *)pkt)->win);

    (void)arg, (void)proc, (void)data, (void)avail, (void)sink;
    if (win == NULL)
        return;
    win->target.n_wakes++;
    lock_grant_next(win);
}

void dm_rma_note_handle(struct dm_win *win, const struct dm_pkt_rma_note *note)
{
    static void (*const handlers[])(struct dm_win * win, const struct dm_pkt_rma_note *note) = {
        [DM_PKT_RMA_SYNC - DM_PKT_RMA_FIRST] = on_sync,
        [DM_PKT_RMA_SYNC_ACK - DM_PKT_RMA_FIRST] = on_answer,
        [DM_PKT_RMA_POST - DM_PKT_RMA_FIRST] = on_post,
        [DM_PKT_RMA_COMPLETE - DM_PKT_RMA_FIRST] = on_complete,
        [DM_PKT_RMA_LOCK - DM_PKT_RMA_FIRST] = on_lock,
        [DM_PKT_RMA_LOCK_GRANT - DM_PKT_RMA_FIRST] = on_answer,
        [DM_PKT_RMA_UNLOCK - DM_PKT_RMA_FIRST] = on_unlock,
        [DM_PKT_RMA_FENCE - DM_PKT_RMA_FIRST] = on_fence,
    };

    handlers[note->pkt.type - DM_PKT_RMA_FIRST](win, note);
}
