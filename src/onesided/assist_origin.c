/*
 * Target-assisted RMA: short transfers to private memory of a process of the same host.
 *
 * Nobody else can address such memory: RDMA to it is a system call. Its owner, when it waits inside
 * the library, is several times faster (assist_target.c). So the origin gathers what it wants in
 * the control block, in a row of assists for each target, rings the target's doorbell when one is
 * full or a synchronization follows, and waits then for about as long as the answer of a target
 * that looks takes. A target that does not, because it computes or sleeps, finds nothing later: the
 * origin has taken the assists back and goes by RDMA or packets. After that it does not try for a
 * growing number of transfers, so that such targets cost next to nothing.
 *
 * What is gathered has not left: whoever wants to be behind it, by another way, settles it first.
 * All waits that somebody could make long let other threads in, who find the row as it is.
 */
#include <string.h>

#include "onesided/assist.h"
#include "onesided/call.h"
#include "onesided/flush.h"
#include "onesided/map.h"
#include "onesided/shared.h"
#include "onesided/state.h"
#include "onesided/xfer.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/glock.h"

#define SKIPS_WAKE 7    /* tries left out after which a sleeping target is sent a packet */
#define FULL_BYTES 1024 /* of items that are worth waking the target for */

bool dm_rma_assist_may(const struct dm_win *win, int target)
{
    const struct dm_win_peer *peer = &win->peers[target];

    return peer->lrank >= 0 && peer->map == NULL && target != win->comm->rank &&
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
 * The target did not look: do not try for a while. If it only sleeps, inside the library, one
 * packet makes it look again for some time.
 */
static void assist_put_off(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    dm_backoff_failed(&peer->assist_backoff, DM_WAIT_BACKOFF_MAX);
    if (peer->assist.is_woken || peer->assist_backoff.last < SKIPS_WAKE)
        return;
    peer->assist.is_woken = true;
    dm_rma_state.counts.n_wakes++;
    dm_rma_note(win, target, DM_PKT_RMA_WAKE, 0);
}

/*
 * ---- the row to one target: n_over .. n_asked are handed over, the next one is being filled ----
 */

static struct dm_rma_assist_slot *assist(const struct dm_win *win, int target, uint32_t n)
{
    const struct dm_rma_node *node = win->node;

    return dm_rma_assist_slot_at(node, node->me, win->peers[target].lrank, n);
}

/* Nothing is on its way any more, if that is so. */
static void note_end(struct dm_win *win, struct dm_win_peer *peer)
{
    if (!peer->assist.is_active || peer->assist.is_cancelled ||
        peer->assist.n_done != peer->assist.n_posted || peer->assist.n_bytes > 0)
        return;
    peer->assist.is_active = false;
    win->pending.n_assists--;
}

static void hand_over(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    struct dm_rma_assist_slot *e = assist(win, target, peer->assist.n_posted);

    e->len = peer->assist.n_bytes;
    peer->assist.n_bytes = 0;
    peer->assist.n_posted++;
    dm_atomic_store(&e->state, DM_ASSIST_ASKED);
    dm_rma_doorbell_ring(win, peer->lrank);
}

static void assist_add(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                       const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                       size_t result_len)
{
    struct dm_win *win = call->win;
    struct dm_win_peer *peer = &win->peers[call->target];
    struct dm_rma_assist_slot *e = assist(win, call->target, peer->assist.n_posted);
    struct dm_rma_assist_item *item =
        (struct dm_rma_assist_item *)(void *)(e->items + peer->assist.n_bytes);
    size_t data_len = acc->pkt.data_len;

    *item = (struct dm_rma_assist_item){
        .offset = acc->offset,
        .mine = kind == DM_ASSIST_PUT ? (void *)(uintptr_t)data : result,
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
        dm_copy(item + 1, data, data_len);
    peer->assist.n_bytes += (uint32_t)dm_rma_assist_item_len(data_len, result_len);
    if (!peer->assist.is_active) {
        peer->assist.is_active = true;
        win->pending.n_assists++;
    }
}

/* ---- what becomes of assists ---- */

/* Call fn for each item. */
static void each(struct dm_win *win, int target, const struct dm_rma_assist_slot *e,
                 void (*fn)(const struct dm_rma_call *call, const struct dm_rma_assist_item *item))
{
    for (uint32_t at = 0; at < e->len;) {
        const struct dm_rma_assist_item *item =
            (const struct dm_rma_assist_item *)(const void *)(e->items + at);
        const struct dm_rma_call call = {.win = win, .target = target, .req = item->req};

        /* whoever is told may use its place again: not before the end of its assist */
        at += (uint32_t)dm_rma_assist_item_len(item->data_len, item->result_len);
        fn(&call, item);
    }
}

static void carried_out(const struct dm_rma_call *call, const struct dm_rma_assist_item *item)
{
    dm_rma_state.counts.n_assists++;
    if (dm_unlikely(item->err != DM_OK))
        dm_rma_refused(call, item->err);
    else if (item->result_len == 8)
        memcpy(item->mine, item + 1, 8);
    else if (item->result_len > 0)
        dm_copy(item->mine, item + 1, item->result_len);
}

static void assist_lost(const struct dm_rma_call *call, const struct dm_rma_assist_item *item)
{
    (void)item;
    dm_rma_refused(call, DM_EPEER);
}

/* The way there is without the target, or by packets. */
static void redo(const struct dm_rma_call *call, const struct dm_rma_assist_item *item)
{
    const struct dm_win_peer *peer = &call->win->peers[call->target];
    const struct dm_pkt_rma_acc acc = {.pkt = {.flags = item->flags, .data_len = item->data_len},
                                       .offset = item->offset,
                                       .op = item->op,
                                       .basic = item->basic};
    int err = DM_OK;

    if (item->kind != DM_ASSIST_UPDATE) {
        err = dm_rma_move_remote(call, item->mine, item->offset,
                                 item->kind == DM_ASSIST_PUT ? item->data_len : item->result_len,
                                 item->kind == DM_ASSIST_PUT);
    } else {
        /* RDMA of those before: it would not be overtaken, but by packets, which need the target */
        if (!peer->is_unacked && peer->n_answers == 0)
            err = dm_rma_wait(call->win, call->target, &peer->n_transfers);
        if (err == DM_OK)
            err = dm_rma_update_remote(call, &acc, (const char *)(item + 1), item->mine,
                                       item->result_len);
    }
    if (err != DM_OK)
        dm_rma_refused(call, err);
}

/* Did the target come to this assist, within DM_WAIT_ASSIST_NS? */
static bool comes(const struct dm_win *win, const struct dm_rma_assist_slot *e)
{
    uint64_t until = dm_clock_ns() + DM_WAIT_ASSIST_NS;

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

/* How many of the last assists the target has not begun: it finds them no more. */
static uint32_t take_back(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    uint32_t n = 0;

    while (peer->assist.n_posted != peer->assist.n_done) {
        uint32_t asked = DM_ASSIST_ASKED;

        if (!dm_atomic_cas(&assist(win, target, peer->assist.n_posted - 1)->state, &asked,
                           DM_ASSIST_NONE))
            break;
        peer->assist.n_posted--;
        n++;
    }
    return n;
}

/* The target is lost: nothing of it will be heard any more. */
static void assist_give_up(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];

    while (peer->assist.n_done != peer->assist.n_posted)
        each(win, target, assist(win, target, peer->assist.n_done++), assist_lost);
}

/* The first assist that was handed over is done. */
static void finish_first(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    struct dm_rma_assist_slot *e = assist(win, target, peer->assist.n_done);

    each(win, target, e, carried_out);
    dm_atomic_store(&e->state, DM_ASSIST_NONE);
    peer->assist.n_done++;
    dm_rma_assist_executed(win, target);
}

/*
 * The target has begun with the first assist, which is over soon, unless somebody stops it dead:
 * then packets and other threads are let in, who may finish it.
 */
static void await_first(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    uint32_t first = peer->assist.n_done, n = 0;
    const struct dm_rma_assist_slot *e = assist(win, target, first);

    while (peer->assist.n_done == first && dm_atomic_load(&e->state) != DM_ASSIST_DONE) {
        dm_wait_short(&n);
        if (n % DM_WAIT_ASSIST_LOOKS != 0)
            continue;
        dm_chan_progress_test(dm_world.chan);
        dm_glock_yield();
        if (peer->assist.n_done == first && dm_atomic_load(&e->state) != DM_ASSIST_DONE &&
            dm_rma_check_lost(win, target) != DM_OK)
            assist_give_up(win, target);
    }
    if (peer->assist.n_done == first)
        finish_first(win, target);
}

/*
 * Until the first assist that was handed over is done, or given up. If the target does not come,
 * take back those that it has not begun: the number of them, which are behind n_asked.
 */
static uint32_t finish_or_take_back(struct dm_win *win, int target)
{
    struct dm_win_peer *peer = &win->peers[target];
    uint32_t n;

    if (comes(win, assist(win, target, peer->assist.n_done))) {
        finish_first(win, target);
        return 0;
    }
    if (dm_atomic_load(&assist(win, target, peer->assist.n_done)->state) != DM_ASSIST_ASKED) {
        await_first(win, target);
        return 0;
    }
    n = take_back(win, target);
    peer->assist.is_cancelled = n > 0;
    while (peer->assist.n_done != peer->assist.n_posted)
        await_first(win, target);
    return n;
}

/* What was taken back is done in other ways, in order; nobody fills these assists meanwhile. */
static void redo_all(struct dm_win *win, int target, uint32_t n)
{
    struct dm_win_peer *peer = &win->peers[target];

    for (uint32_t i = 0; i < n; i++)
        each(win, target, assist(win, target, peer->assist.n_posted + i), redo);
    peer->assist.is_cancelled = false;
    assist_put_off(win, target);
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
            hand_over(win, target);
        if (peer->assist.n_done != peer->assist.n_posted) {
            uint32_t n = finish_or_take_back(win, target);

            if (n > 0)
                redo_all(win, target, n);
        }
        note_end(win, peer);
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
            hand_over(win, node->ranks[i]);
    }
    for (int i = 0; i < node->n && win->pending.n_assists > 0; i++)
        dm_rma_assist_flush(win, node->ranks[i]);
}

/* ---- transfers ---- */

/* A place for so many bytes in the assist that is being filled; false: not now. */
static bool make_place(struct dm_win *win, int target, size_t len)
{
    struct dm_win_peer *peer = &win->peers[target];

    while (!peer->assist.is_cancelled) {
        uint32_t n;

        if (peer->assist.n_bytes > 0 &&
            peer->assist.n_bytes + len > win->node->assist_len - sizeof(struct dm_rma_assist_slot))
            hand_over(win, target);
        if (peer->assist.n_bytes > 0 ||
            peer->assist.n_posted - peer->assist.n_done < DM_RMA_ASSIST_SLOTS)
            return true;
        n = finish_or_take_back(win, target);
        if (n > 0) {
            redo_all(win, target, n);
            return false;
        }
    }
    return false;
}

/* Updates do not overtake packets. */
static bool would_overtake(const struct dm_win *win, int target, enum dm_rma_assist_kind kind)
{
    return kind == DM_ASSIST_UPDATE && dm_rma_is_busy(win, target);
}

/* Shall the next transfer to it be an assist? */
static bool shall_try(struct dm_win *win, int target, enum dm_rma_assist_kind kind, size_t len)
{
    struct dm_win_peer *peer = &win->peers[target];

    if (!dm_rma_assist_may(win, target) || peer->assist.is_cancelled ||
        would_overtake(win, target, kind) ||
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
    if (!shall_try(win, target, kind, dm_rma_assist_item_len(acc->pkt.data_len, result_len)))
        return false;
    assist_add(call, kind, acc, data, result, result_len);
    hand_over(win, target);
    if (finish_or_take_back(win, target) > 0) {
        peer->assist.is_cancelled = false;
        assist_put_off(win, target);
        is_done = false;
    }
    note_end(win, peer);
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
    /* waiting for a place may have made packets of what was in the row */
    if (!shall_try(win, target, kind, len) || !make_place(win, target, len) ||
        would_overtake(win, target, kind))
        return false;
    assist_add(call, kind, acc, data, result, result_len);
    /* the first one at once: while it is on its way to the target the call behind it begins */
    if (peer->assist.n_bytes >= FULL_BYTES || peer->assist.n_posted == peer->assist.n_done)
        hand_over(win, target);
    return true;
}
