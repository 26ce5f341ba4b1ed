/*
 * The faster of two sides to move a window's data, by what was measured lately.
 */
#include <math.h>

#include "onesided/path_select.h"
#include "util/log.h"

#define SAMPLES   5 /* of which the best but one counts: a lost time slice says nothing */
#define VOIDS     4 /* the target did not help, or lengths differ: not now */
#define PAUSE_MIN 32
#define PAUSE_MAX 4096
#define BETTER    0.85 /* of the other's time: worth a change */

int dm_rma_select_class_of(size_t len)
{
    static const size_t most[] = {2048, 8192, 16384, 65536, 262144};
    int i = 0;

    while (i < DM_RMA_SELECT_CLASSES - 1 && len > most[i])
        i++;
    return i;
}

/* No more samples for a while, a longer one if nothing has changed. */
static void select_pause(struct dm_rma_select_class *c, bool has_changed)
{
    c->pause = has_changed || c->pause == 0 ? PAUSE_MIN
               : c->pause < PAUSE_MAX       ? c->pause * 2
                                            : PAUSE_MAX;
    c->is_trial = false;
    c->n = 0;
    c->n_void = 0;
    c->left = c->pause;
}

static void select_decide(struct dm_rma_select_class *c)
{
    enum dm_rma_side other = c->side == DM_RMA_HELPED ? DM_RMA_ALONE : DM_RMA_HELPED;
    bool has_changed;

    if (!c->is_trial) {
        c->is_trial = true;
        c->side = other;
        c->n = 0;
        return;
    }
    DM_TRACE(RMA, "%.0f ns with the target's help, %.0f without", c->ns[DM_RMA_HELPED],
             c->ns[DM_RMA_ALONE]);
    has_changed = c->ns[c->side] < c->ns[other] * BETTER;
    if (!has_changed)
        c->side = other;
    select_pause(c, has_changed);
}

static void path_sample(struct dm_rma_select_class *c, double ns)
{
    if (c->n == 0)
        c->least[0] = c->least[1] = INFINITY;
    if (ns < c->least[0]) {
        c->least[1] = c->least[0];
        c->least[0] = ns;
    } else if (ns < c->least[1]) {
        c->least[1] = ns;
    }
    if (++c->n < SAMPLES)
        return;
    c->ns[c->side] = c->least[1];
    select_decide(c);
}

/* Whatever was on trial cannot be measured: stay with the other. */
static void select_give_up(struct dm_rma_select_class *c)
{
    if (c->is_trial)
        c->side = c->side == DM_RMA_HELPED ? DM_RMA_ALONE : DM_RMA_HELPED;
    select_pause(c, false);
}

void dm_rma_select_sampled(struct dm_rma_select *select, uint64_t now)
{
    struct dm_rma_select_class *c = select->open;
    bool are_many = select->n > 1;

    select->open = NULL;
    if (are_many != select->are_many[select->is_put]) {
        select->are_many[select->is_put] = are_many;
        select->is_void = true;
    }
    if (c->left > 0) {
        c->left--;
        return;
    }
    if (!select->is_void)
        path_sample(c, (double)(now - select->since) / select->n);
    else if (++c->n_void == VOIDS)
        select_give_up(c);
}
