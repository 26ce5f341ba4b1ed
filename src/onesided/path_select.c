/*
 * The faster of two sides to move a window's data, by what was measured lately.
 */
#include "onesided/path_select.h"

#include "util/log.h"

#define VOIDS 4 /* the target did not help, or lengths differ: not now */

int dm_rma_select_class_of(size_t len)
{
    static const size_t most[] = {2048, 8192, 16384, 65536, 262144};
    int i = 0;

    while (i < DM_RMA_SELECT_CLASSES - 1 && len > most[i])
        i++;
    return i;
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
    if (!dm_trial_is_due(&c->trial))
        return;
    if (select->is_void) {
        if (++c->n_void == VOIDS) {
            c->n_void = 0;
            dm_trial_give_up(&c->trial);
        }
    } else if (dm_trial_sample(&c->trial, (double)(now - select->since) / select->n)) {
        c->n_void = 0;
        DM_TRACE(RMA, "%.0f ns with the target's help, %.0f without", c->trial.cost[DM_RMA_HELPED],
                 c->trial.cost[DM_RMA_ALONE]);
    }
}
