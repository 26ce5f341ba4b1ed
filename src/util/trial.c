/*
 * The faster of two ways, by what was measured lately.
 */
#include "util/trial.h"

#define SAMPLES   5
#define PAUSE_MIN 32
#define PAUSE_MAX 4096
#define BETTER    0.85 /* of the other's cost: worth a change */

/* No more samples for a while, a longer one if nothing has changed. */
static void trial_pause(struct dm_trial *t, bool has_changed)
{
    t->pause = has_changed || t->pause == 0 ? PAUSE_MIN
               : t->pause < PAUSE_MAX       ? t->pause * 2
                                            : PAUSE_MAX;
    t->is_trial = false;
    t->least.n = 0;
    t->left = t->pause;
}

bool dm_trial_sample(struct dm_trial *t, double cost)
{
    bool has_changed;

    dm_trial_least_add(&t->least, cost);
    if (t->least.n < SAMPLES)
        return false;
    /* the first ones may have touched new memory: all but one, say */
    t->cost[t->way] = t->pause == 0 ? t->least.best : t->least.next;
    if (!t->is_trial) {
        t->is_trial = true;
        t->way = !t->way;
        t->least.n = 0;
        return false;
    }
    has_changed = t->cost[t->way] < t->cost[!t->way] * BETTER;
    if (!has_changed)
        t->way = !t->way;
    trial_pause(t, has_changed);
    return true;
}

void dm_trial_give_up(struct dm_trial *t)
{
    if (t->is_trial)
        t->way = !t->way;
    trial_pause(t, false);
}
