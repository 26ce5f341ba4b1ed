/*
 * Target-assisted RMA at the target: request slots of other processes of the host are executed in
 * every pass of progress, once one of them has rung the doorbell.
 */
#include <string.h>

#include "onesided/assist.h"
#include "onesided/combine.h"
#include "onesided/split_copy.h"
#include "onesided/state.h"
#include "onesided/target.h"
#include "util/cfg.h"
#include "util/copy.h"

/* Windows that are looked at in every pass, and in how many passes one of the others is. */
enum { IN_EVERY_PASS = 4, PASSES_OF_OTHERS = 32 };

static int item_update(const struct dm_win *win, const struct dm_rma_assist_item *item, char *data)
{
    const struct dm_pkt_rma_acc acc = {.pkt.flags = item->flags, .op = item->op};
    bool is_fetch = (item->flags & (DM_RMA_SWAP | DM_RMA_FETCH)) != 0;
    uint32_t size = (uint32_t)dm_type_get(item->basic)->size;
    struct dm_rma_run run = {.offset = item->offset, .n = 1, .basic = item->basic};
    char old[DM_RMA_ASSIST_BYTES];
    int err;

    if (!(item->flags & DM_RMA_SWAP))
        run.n = (is_fetch ? item->result_len : item->data_len) / size;
    err = dm_rma_apply(win, &acc, &run, data, is_fetch ? old : NULL);
    if (is_fetch)
        dm_copy_by(&dm_rma_state.assist_copies, data, old, item->result_len);
    return err;
}

static int item_execute(const struct dm_win *win, const struct dm_rma_assist_item *item, char *data)
{
    size_t len = item->kind == DM_ASSIST_GET ? item->result_len : item->data_len;
    char *at;

    if (item->kind == DM_ASSIST_UPDATE)
        return item_update(win, item, data);
    at = dm_rma_place(win, item->offset, len);
    if (at == NULL)
        return DM_ERR_RMA_RANGE;
    if (item->kind == DM_ASSIST_PUT)
        dm_copy(at, data, len);
    else
        dm_copy_by(&dm_rma_state.assist_copies, data, at, len);
    return DM_OK;
}

static void slot_execute(const struct dm_win *win, struct dm_rma_assist_slot *e)
{
    for (uint32_t at = 0; at < e->len;) {
        struct dm_rma_assist_item *item = (struct dm_rma_assist_item *)(void *)(e->items + at);

        item->err = (int16_t)item_execute(win, item, (char *)(item + 1));
        at += (uint32_t)dm_rma_assist_item_len(item->data_len, item->result_len);
    }
}

/* Not now: it is executed later, if it is not cancelled. */
static void doorbell_set(const struct dm_win *win, int lrank)
{
    dm_atomic_or(&dm_rma_my_slot(win)->doorbell, UINT64_C(1) << lrank % 64);
}

/* The slots of one origin that were posted when it rang, unless it has cancelled them. */
static int slots_execute(struct dm_win *win, int lrank)
{
    struct dm_rma_node *node = win->node;
    int n;

    for (n = 0; n < DM_RMA_ASSIST_SLOTS; n++) {
        struct dm_rma_assist_slot *e =
            dm_rma_assist_slot_at(node, lrank, node->me, node->n_executed[lrank]);
        uint32_t posted = DM_ASSIST_POSTED;

        if (dm_atomic_load(&e->state) != DM_ASSIST_POSTED)
            return n;
        if (!dm_rma_try_enter(win)) {
            doorbell_set(win, lrank);
            return n;
        }
        if (!dm_atomic_cas(&e->state, &posted, DM_ASSIST_EXECUTING)) {
            dm_rma_leave(win);
            return n;
        }
        node->n_executed[lrank]++;
        slot_execute(win, e);
        dm_rma_leave(win);
        dm_atomic_store(&e->state, DM_ASSIST_DONE);
    }
    return n;
}

int dm_rma_assist_execute(struct dm_rma_node *node)
{
    uint64_t *doorbell;
    uint64_t bits;
    int n = 0;

    if (!node->is_assisting)
        return 0;
    doorbell = &dm_rma_my_slot(node->win)->doorbell;
    if (dm_likely(dm_atomic_load(doorbell) == 0))
        return 0;
    bits = dm_atomic_swap(doorbell, 0);
    for (int i = 0; i < node->n; i++) {
        if (bits >> i % 64 & 1)
            n += slots_execute(node->win, i) + dm_rma_split_execute(node->win, i);
    }
    return n;
}

/*
 * A pass of progress costs the same with thousands of windows: the first ones are looked at in each; of the
 * others, whose memory is cold, one now and then, by turns. One that has been rung comes to the front.
 */
static int assist_progress(struct dm_chan_hook *hook)
{
    struct dm_list *all = &dm_rma_state.assisting;
    int n = 0, n_seen = 0;

    (void)hook;
    dm_list_for_each_safe (it, next, all) {
        struct dm_rma_node *node = dm_container_of(it, struct dm_rma_node, assisting);
        int n_now;

        if (n_seen < IN_EVERY_PASS) {
            n += dm_rma_assist_execute(node);
            n_seen++;
            continue;
        }
        if (++dm_rma_state.n_assist_passes % PASSES_OF_OTHERS != 0)
            break;
        n_now = dm_rma_assist_execute(node);
        dm_list_del(it);
        if (n_now > 0)
            dm_list_add_head(all, it);
        else
            dm_list_add_tail(all, it);
        return n + n_now;
    }
    return n;
}

void dm_rma_assist_first(struct dm_rma_node *node)
{
    struct dm_list *all = &dm_rma_state.assisting;

    if (!node->is_assisting || all->next == &node->assisting)
        return;
    dm_list_del(&node->assisting);
    dm_list_add_head(all, &node->assisting);
}

/* Is this part one that others on this host cannot address? */
static bool is_private(const struct dm_win *win)
{
    return win->flavor == MPI_WIN_FLAVOR_DYNAMIC ||
           (win->flavor == MPI_WIN_FLAVOR_CREATE && win->size > 0 &&
            win->parts[win->comm->rank].fd < 0);
}

void dm_rma_assist_start(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;

    if (dm_cfg()->rma != DM_RMA_AUTO || node->n < 2 || !is_private(win) ||
        dm_adapt_is_oversubscribed(dm_chan_adapt(dm_world.chan)))
        return;
    node->win = win;
    node->is_assisting = true;
    if (dm_list_is_empty(&dm_rma_state.assisting)) {
        dm_rma_state.assist_hook.fn = assist_progress;
        dm_chan_hook_add(dm_world.chan, &dm_rma_state.assist_hook);
    }
    dm_list_add_head(&dm_rma_state.assisting, &node->assisting);
}

void dm_rma_assist_stop(struct dm_win *win)
{
    if (!win->node->is_assisting)
        return;
    win->node->is_assisting = false;
    dm_list_del(&win->node->assisting);
    if (dm_list_is_empty(&dm_rma_state.assisting))
        dm_chan_hook_del(dm_world.chan, &dm_rma_state.assist_hook);
}
