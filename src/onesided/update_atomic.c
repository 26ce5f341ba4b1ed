/*
 * Updates of 8-byte integers by a provider's atomic operations: nothing of the target, wherever it is,
 * and whatever it does.
 *
 * A provider's atomic operations need not be atomic with the processor's. So in such a window all updates
 * of these elements are made in this way, by all ranks, the owner and its host's processes included;
 * elements of other types never are. A sum is a fetch-and-add, MPI_NO_OP one of nothing, MPI_Compare_and_swap
 * what it says. Everything else is combined here, and put there by compare-and-swap, until nobody has come
 * between. Each call waits, so that updates of an origin keep their order. Many elements take long: such
 * windows are for programs that say that theirs are single ones.
 */
#include <string.h>

#include "mpi/node/node.h"
#include "onesided/shared.h"
#include "onesided/state.h"
#include "onesided/update_atomic.h"
#include "onesided/win.h"
#include "util/cfg.h"
#include "util/log.h"

enum { BATCH = 16, WORD = sizeof(uint64_t) };

/* Some elements of one call; was[] gets what was there. */
struct words {
    const struct dm_rma_call *call;
    const struct dm_op *op;
    int basic;
    const char *data;
    uint64_t was[BATCH];
    int n_left;                      /* that are not done: */
    struct dm_chan_word left[BATCH]; /* what was seen last of each, or is to be done */
    int place[BATCH];                /* which element it is */
};

static int words_do(struct words *w)
{
    const struct dm_win *win = w->call->win;
    int rank = w->call->target, proc = dm_rma_proc(win, rank);
    int err = dm_chan_do_words(dm_world.chan, proc, win->words, &win->parts[rank].words, w->left,
                               w->n_left);

    if (err == DM_OK)
        return DM_OK;
    return DM_FAIL(err,
                   "an update of rank %d of the window (process %d on %s): the provider's atomic "
                   "operation failed, or may have been done when the connection broke, after which "
                   "it is not repeated",
                   rank, proc, dm_world.host_of(dm_world.host_arg, proc));
}

/* One is done; the last one takes its place. */
static void words_done_one(struct words *w, int i)
{
    w->was[w->place[i]] = w->left[i].old;
    w->n_left--;
    w->left[i] = w->left[w->n_left];
    w->place[i] = w->place[w->n_left];
}

/* What each is to become by what was seen last; those that stay as they are are done. */
static int words_plan(struct words *w)
{
    for (int i = w->n_left - 1; i >= 0; i--) {
        struct dm_word_op *op = &w->left[i].op;
        int err;

        op->is_swap = true;
        op->compare = op->value = w->left[i].old;
        err = dm_op_apply_basic(w->op, w->data + (size_t)w->place[i] * WORD, &op->value, 1,
                                w->basic, false);
        if (err != DM_OK)
            return err;
        if (op->value == op->compare)
            words_done_one(w, i);
    }
    return DM_OK;
}

/* All have been looked at. */
static int words_combine(struct words *w)
{
    int err = words_plan(w);

    while (w->n_left > 0 && err == DM_OK) {
        err = words_do(w);
        for (int i = w->n_left - 1; i >= 0 && err == DM_OK; i--) {
            if (w->left[i].old == w->left[i].op.compare)
                words_done_one(w, i);
        }
        if (err == DM_OK)
            err = words_plan(w);
    }
    return err;
}

static void words_begin(struct words *w, uint64_t offset, size_t n, bool is_swap)
{
    bool is_sum = w->op->obj.handle == MPI_SUM;

    w->n_left = (int)n;
    for (int i = 0; i < w->n_left; i++) {
        w->left[i] =
            (struct dm_chan_word){.op = {.which = offset / WORD + (uint64_t)i, .is_swap = is_swap}};
        w->place[i] = i;
        if (is_sum || is_swap)
            memcpy(&w->left[i].op.value, w->data + (size_t)i * WORD, WORD);
    }
    if (is_swap)
        memcpy(&w->left[0].op.compare, w->data + WORD, WORD);
}

int dm_rma_update_words(const struct dm_rma_call *call, const struct dm_op *op, bool is_swap,
                        uint64_t offset, size_t n, int basic, const char *data, char *old)
{
    bool is_one_step = is_swap || op->obj.handle == MPI_SUM || op->obj.handle == MPI_NO_OP;
    int err = DM_OK;

    dm_rma_state.counts.n_path[DM_PATH_ATOMIC] += n;
    for (size_t done = 0, part; done < n && err == DM_OK; done += part) {
        struct words w = {.call = call, .op = op, .basic = basic};

        part = n - done < BATCH ? n - done : BATCH;
        w.data = data != NULL ? data + done * WORD : NULL;
        words_begin(&w, offset + done * WORD, part, is_swap);
        err = words_do(&w);
        if (err == DM_OK && !is_one_step)
            err = words_combine(&w);
        while (err == DM_OK && w.n_left > 0)
            words_done_one(&w, w.n_left - 1);
        if (err == DM_OK && old != NULL)
            memcpy(old + done * WORD, w.was, part * WORD);
    }
    return err;
}

/* ---- which windows ---- */

void dm_rma_words_offer(struct dm_win *win, struct dm_win_part *own)
{
    bool is_any = dm_cfg()->rma_update == DM_RMA_UPDATE_YES;
    bool is_alone = win->node == NULL || win->node->n == 1;
    bool spans_hosts;

    if (dm_cfg()->rma == DM_RMA_EMULATED || dm_cfg()->rma_update == DM_RMA_UPDATE_NO ||
        (!is_any && !(is_alone && win->is_fine)) || win->comm->size == 1 || own->handle == 0 ||
        own->base % WORD != 0 ||
        (win->flavor != MPI_WIN_FLAVOR_CREATE && win->flavor != MPI_WIN_FLAVOR_ALLOCATE))
        return;
    spans_hosts = dm_node_first_remote(win->comm->group, dm_world.rank) >= 0;
    win->words = dm_adapt_words_at(dm_chan_adapt(dm_world.chan), win->base, (size_t)win->size,
                                   spans_hosts, is_any, &own->words);
}

void dm_rma_words_start(struct dm_win *win, const struct dm_win_least *least)
{
    if (!dm_win_is_one_rail(least->words, least->words_inverted))
        dm_rma_words_free(win);
    else
        DM_TRACE(RMA, "8-byte integers by the provider's atomic operations");
}

void dm_rma_words_free(struct dm_win *win)
{
    if (win->words != NULL)
        dm_adapt_words_free(dm_chan_adapt(dm_world.chan), win->words);
    win->words = NULL;
}
