/*
 * Target-assisted RMA at the origin: short puts, gets and updates of private memory of a process of
 * the same host.
 *
 * Nobody can address such memory: RDMA to it is a system call. Its owner, when it waits inside the
 * library, is several times faster (assist_target.c). So the origin gathers items in a request
 * slot, posts it when it is full or a synchronization follows, and rings the target's doorbell.
 * Then it waits for about as long as a waiting target takes. A target that computes or sleeps finds
 * nothing later: the origin has cancelled the slots and goes by RDMA or packets. Back-off follows,
 * so that such targets cost next to nothing.
 *
 * What is gathered has not left: another path flushes it first. All waits that somebody could make
 * long let other threads run, who find the row as it is.
 */
#include <string.h>

#include "onesided/assist.h"
#include "onesided/flush.h"
#include "onesided/move.h"
#include "onesided/shared.h"
#include "onesided/state.h"
#include "onesided/update.h"
#include "onesided/xfer.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/glock.h"

#define SKIPS_WAKE 7    /* tries left out after which a sleeping target is woken */
#define FULL_BYTES 8192 /* of items that are worth waking the target for */

bool dm_rma_assist_may(const struct dm_win *win, int target)
{
    const struct dm_win_peer *peer = &win->peers[target];

    return dm_rma_lrank(win, target) >= 0 && peer->map == NULL && target != win->comm->rank &&
           dm_cfg()->rma == DM_RMA_AUTO;
}

void dm_rma_assist_executed(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    dm_backoff_worked(&peer->assist_backoff);
    dm_backoff_worked(&peer->split_backoff);
    peer->assist.is_woken = false;
}

/*
 * The target did not execute: back off. If it only sleeps, inside the library, one packet wakes it
 * for some time.
 */
static void assist_not_executed(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    dm_backoff_failed(&peer->assist_backoff, DM_WAIT_BACKOFF_MAX);
    if (peer->assist.is_woken || peer->assist_backoff.last < SKIPS_WAKE)
        return;
    peer->assist.is_woken = true;
    dm_rma_state.counts.n_wakes++;
    dm_rma_note(win, target, DM_PKT_RMA_WAKE, 0);
}

/* ---- the row to one target: n_done to n_posted - 1 are posted, n_posted is being filled ---- */

static struct dm_rma_assist_slot *slot_at(const struct dm_win *win, int target, uint32_t n)
{
    const struct dm_rma_node *node = win->node;

    return dm_rma_assist_slot_at(node, node->me, dm_rma_lrank(win, target), n);
}

/* Note if nothing is under way any more. */
static void assist_check_idle(struct dm_win *win, struct dm_win_peer *peer)
{
    if (!peer->assist.is_active || peer->assist.is_cancelled ||
        peer->assist.n_done != peer->assist.n_posted || peer->assist.n_bytes > 0)
        return;
    peer->assist.is_active = false;
    win->pending.n_assists--;
}

static void slot_post(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    struct dm_rma_assist_slot *e = slot_at(win, target, peer->assist.n_posted);

    e->len = peer->assist.n_bytes;
    peer->assist.n_bytes = 0;
    peer->assist.n_posted++;
    dm_atomic_store(&e->state, DM_ASSIST_POSTED);
    dm_rma_doorbell_ring(win, dm_rma_lrank(win, target));
}

static void assist_add(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                       const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                       size_t result_len)
{
    struct dm_win *win = call->win;
    struct dm_win_peer *peer = &win->peers[call->target];
    struct dm_rma_assist_slot *e = slot_at(win, call->target, peer->assist.n_posted);
    struct dm_rma_assist_item *item =
        (struct dm_rma_assist_item *)(void *)(e->items + peer->assist.n_bytes);
    size_t data_len = acc->pkt.data_len;

    *item = (struct dm_rma_assist_item){
        .offset = acc->offset,
        .local = kind == DM_ASSIST_PUT ? (void *)(uintptr_t)data : result,
        .req = call->req,
        .data_len = (uint32_t)data_len,
        .result_len = (uint32_t)result_len,
        .op = acc->op,
        .basic = acc->basic,
        .kind = (uint8_t)kind,
        .flags = acc->pkt.flags,
    };
    if (data_len == 8)
        memcpy(item + 1, data, 8);
    else if (data_len > 0)
        dm_copy_by(&dm_rma_state.assist_copies, item + 1, data, data_len);
    peer->assist.n_bytes += (uint32_t)dm_rma_assist_item_len(data_len, result_len);
    if (!peer->assist.is_active) {
        peer->assist.is_active = true;
        win->pending.n_assists++;
        win->node->ctl->has_assists = 1;
    }
}

/* ---- posted slots ---- */

/* Call fn for each item of a slot. */
static void slot_each(struct dm_win *win, int target, const struct dm_rma_assist_slot *e,
                      void (*fn)(const struct dm_rma_call *call,
                                 const struct dm_rma_assist_item *item))
{
    for (uint32_t at = 0; at < e->len;) {
        const struct dm_rma_assist_item *item =
            (const struct dm_rma_assist_item *)(const void *)(e->items + at);
        const struct dm_rma_call call = {.win = win, .target = target, .req = item->req};

        /* before fn, which may end the call that the item belongs to */
        at += (uint32_t)dm_rma_assist_item_len(item->data_len, item->result_len);
        fn(&call, item);
    }
}

static void item_finish(const struct dm_rma_call *call, const struct dm_rma_assist_item *item)
{
    dm_rma_state.counts.n_path[DM_PATH_ASSIST]++;
    if (dm_unlikely(item->err != DM_OK))
        dm_rma_xfer_fail(call, item->err);
    else if (item->result_len == 8)
        memcpy(item->local, item + 1, 8);
    else if (item->result_len > 0)
        dm_copy(item->local, item + 1, item->result_len);
}

static void item_fail(const struct dm_rma_call *call, const struct dm_rma_assist_item *item)
{
    (void)item;
    dm_rma_xfer_fail(call, DM_EPEER);
}

/* By a path without the target, or by packets. */
static void item_redo(const struct dm_rma_call *call, const struct dm_rma_assist_item *item)
{
    const struct dm_win_peer *peer = &call->win->peers[call->target];
    const struct dm_pkt_rma_acc acc = {.pkt = {.flags = item->flags, .data_len = item->data_len},
                                       .offset = item->offset,
                                       .op = item->op,
                                       .basic = item->basic};
    int err = DM_OK;

    if (item->kind != DM_ASSIST_UPDATE) {
        err = dm_rma_move_redo(call, item->local, item->offset,
                               item->kind == DM_ASSIST_PUT ? item->data_len : item->result_len,
                               item->kind == DM_ASSIST_PUT);
    } else {
        /* RDMA of those before: it would not be overtaken, but by packets, which need the target */
        if (!peer->is_unacked && peer->n_answers == 0)
            err = dm_rma_wait(call->win, call->target, &peer->n_transfers);
        if (err == DM_OK)
            err = dm_rma_update_redo(call, &acc, (const char *)(item + 1), item->local,
                                     item->result_len);
    }
    if (err != DM_OK)
        dm_rma_xfer_fail(call, err);
}

/* Has the target executed this slot, before another path would have done it? */
static bool slot_poll(const struct dm_win *win, const struct dm_rma_assist_slot *e)
{
    uint64_t until = dm_clock_ns() + DM_WAIT_ASSIST_NS + e->len / DM_WAIT_ASSIST_BYTES;

    do {
        for (int i = 0; i < DM_WAIT_ASSIST_LOOKS; i++) {
            if (dm_atomic_load(&e->state) == DM_ASSIST_DONE)
                return true;
        }
        dm_cpu_relax();
        dm_rma_assist_execute(win->node);
    } while (dm_clock_ns() < until);
    return dm_atomic_load(&e->state) == DM_ASSIST_DONE;
}

/* Cancel the last slots, those that the target has not begun: how many. */
static uint32_t slots_cancel(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    uint32_t n = 0;

    while (peer->assist.n_posted != peer->assist.n_done) {
        uint32_t posted = DM_ASSIST_POSTED;

        if (!dm_atomic_cas(&slot_at(win, target, peer->assist.n_posted - 1)->state, &posted,
                           DM_ASSIST_NONE))
            break;
        peer->assist.n_posted--;
        n++;
    }
    return n;
}

/* The target is lost. */
static void slots_fail(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    while (peer->assist.n_done != peer->assist.n_posted)
        slot_each(win, target, slot_at(win, target, peer->assist.n_done++), item_fail);
}

/* The first slot that was posted is executed. */
static void slot_finish(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    struct dm_rma_assist_slot *e = slot_at(win, target, peer->assist.n_done);

    slot_each(win, target, e, item_finish);
    dm_atomic_store(&e->state, DM_ASSIST_NONE);
    peer->assist.n_done++;
    dm_rma_assist_executed(win, target);
}

/*
 * The target has begun with the first slot, which is over soon, unless the target is stopped: then
 * packets and other threads get their turn, and may finish the slot.
 */
static void slot_await(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    uint32_t first = peer->assist.n_done, n = 0;
    const struct dm_rma_assist_slot *e = slot_at(win, target, first);

    while (peer->assist.n_done == first && dm_atomic_load(&e->state) != DM_ASSIST_DONE) {
        dm_wait_short(&n);
        if (n % DM_WAIT_ASSIST_LOOKS != 0)
            continue;
        dm_chan_progress_test(dm_world.chan);
        dm_glock_yield();
        if (peer->assist.n_done == first && dm_atomic_load(&e->state) != DM_ASSIST_DONE &&
            dm_rma_check_lost(win, target) != DM_OK)
            slots_fail(win, target);
    }
    if (peer->assist.n_done == first)
        slot_finish(win, target);
}

/*
 * Until the first posted slot is executed, or failed. If the target does not begin, cancel those
 * that it has not begun: the number of them, which are behind n_posted.
 */
static uint32_t slot_finish_or_cancel(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    uint32_t n;

    if (slot_poll(win, slot_at(win, target, peer->assist.n_done))) {
        slot_finish(win, target);
        return 0;
    }
    if (dm_atomic_load(&slot_at(win, target, peer->assist.n_done)->state) != DM_ASSIST_POSTED) {
        slot_await(win, target);
        return 0;
    }
    n = slots_cancel(win, target);
    peer->assist.is_cancelled = n > 0;
    while (peer->assist.n_done != peer->assist.n_posted)
        slot_await(win, target);
    return n;
}

/* What was cancelled goes another way, in order; nobody fills these slots meanwhile. */
static void slots_redo(struct dm_win *win, int target, uint32_t n)
{
    struct dm_win_peer *peer = &win->peers[target];

    for (uint32_t i = 0; i < n; i++)
        slot_each(win, target, slot_at(win, target, peer->assist.n_posted + i), item_redo);
    peer->assist.is_cancelled = false;
    dm_rma_state.select.is_void = true;
    assist_not_executed(win, target);
}

void dm_rma_assist_flush(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    while (peer->assist.is_active) {
        if (*(volatile bool *)&peer->assist.is_cancelled) {
            dm_chan_progress_wait(dm_world.chan);
            continue;
        }
        if (peer->assist.n_bytes > 0)
            slot_post(win, target);
        if (peer->assist.n_done != peer->assist.n_posted) {
            uint32_t n = slot_finish_or_cancel(win, target);

            if (n > 0)
                slots_redo(win, target, n);
        }
        assist_check_idle(win, peer);
    }
}

void dm_rma_assist_flush_all(struct dm_win *win)
{
    const struct dm_rma_node *node = win->node;

    if (dm_likely(win->pending.n_assists == 0))
        return;
    /* all targets may begin */
    for (int i = 0; i < node->n; i++) {
        const struct dm_win_peer *peer = &win->peers[node->ranks[i]];

        if (peer->assist.n_bytes > 0 && !peer->assist.is_cancelled)
            slot_post(win, node->ranks[i]);
    }
    for (int i = 0; i < node->n && win->pending.n_assists > 0; i++)
        dm_rma_assist_flush(win, node->ranks[i]);
}

/* ---- transfers ---- */

/* Space for so many bytes in the slot that is being filled; false: not now. */
static bool slot_reserve(struct dm_win *win, int target, size_t len)
{
    struct dm_win_peer *peer = &win->peers[target];

    while (!peer->assist.is_cancelled) {
        uint32_t n;

        if (peer->assist.n_bytes > 0 &&
            peer->assist.n_bytes + len > win->node->assist_len - sizeof(struct dm_rma_assist_slot))
            slot_post(win, target);
        if (peer->assist.n_bytes > 0 ||
            peer->assist.n_posted - peer->assist.n_done < DM_RMA_ASSIST_SLOTS)
            return true;
        n = slot_finish_or_cancel(win, target);
        if (n > 0) {
            slots_redo(win, target, n);
            return false;
        }
    }
    return false;
}

/* Updates do not overtake packets. */
static bool assist_would_overtake(const struct dm_win *win, int target,
                                  enum dm_rma_assist_kind kind)
{
    return kind == DM_ASSIST_UPDATE && dm_rma_is_busy(win, target);
}

/* Shall the next transfer to it be an assist? */
static bool assist_may_try(struct dm_win *win, int target, enum dm_rma_assist_kind kind, size_t len)
{
    struct dm_win_peer *peer = &win->peers[target];

    if (!dm_rma_assist_may(win, target) || peer->assist.is_cancelled ||
        assist_would_overtake(win, target, kind) ||
        len > win->node->assist_len - sizeof(struct dm_rma_assist_slot))
        return false;
    return !dm_backoff_skips(&peer->assist_backoff);
}

bool dm_rma_assist_now(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                       const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                       size_t result_len)
{
    struct dm_win *win = call->win;
    int target = call->target;
    struct dm_win_peer *peer = &win->peers[target];
    bool is_done = true;

    dm_rma_assist_flush(win, target);
    if (!assist_may_try(win, target, kind, dm_rma_assist_item_len(acc->pkt.data_len, result_len)))
        return false;
    assist_add(call, kind, acc, data, result, result_len);
    slot_post(win, target);
    if (slot_finish_or_cancel(win, target) > 0) {
        peer->assist.is_cancelled = false;
        assist_not_executed(win, target);
        is_done = false;
    }
    assist_check_idle(win, peer);
    return is_done;
}

bool dm_rma_assist(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                   const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                   size_t result_len)
{
    struct dm_win *win = call->win;
    int target = call->target;
    const struct dm_win_peer *peer = &win->peers[target];
    size_t len = dm_rma_assist_item_len(acc->pkt.data_len, result_len);

    if (call->req != NULL)
        return dm_rma_assist_now(call, kind, acc, data, result, result_len);
    /* waiting for space may have made packets of what was in the row */
    if (!assist_may_try(win, target, kind, len) || !slot_reserve(win, target, len) ||
        assist_would_overtake(win, target, kind))
        return false;
    assist_add(call, kind, acc, data, result, result_len);
    /* the first one at once: while it is on its way to the target the call behind it begins */
    if (peer->assist.n_bytes >= FULL_BYTES || peer->assist.n_posted == peer->assist.n_done)
        slot_post(win, target);
    return true;
}
