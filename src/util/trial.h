/*
 * Two ways of doing the same: which one is faster is measured now and then, with the way in use and then with
 * the other. Trials that change nothing become rare. No locks. Units: whatever the caller measures.
 */
#ifndef DM_UTIL_TRIAL_H
#define DM_UTIL_TRIAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Some samples, of which the best but one counts: a lost time slice says nothing. */
struct dm_trial_least {
    int n;
    double best, next;
};

static inline void dm_trial_least_add(struct dm_trial_least *least, double cost)
{
    if (least->n++ == 0)
        least->best = least->next = INFINITY;
    if (cost < least->best) {
        least->next = least->best;
        least->best = cost;
    } else if (cost < least->next) {
        least->next = cost;
    }
}

/* All zero at first: way 0 is in use. */
struct dm_trial {
    uint8_t way; /* 0 or 1: in use, or on trial */
    bool is_trial;
    uint32_t left;  /* uses before the next samples */
    uint32_t pause; /* the same for the next time */
    double cost[2]; /* lately; by way */
    struct dm_trial_least least;
};

/* The next use is to be measured; it is one less until then otherwise. */
static inline bool dm_trial_is_due(struct dm_trial *t)
{
    if (t->left == 0)
        return true;
    t->left--;
    return false;
}

/* What a use that was due took, by the way that was in use. True: both ways have been measured now. */
bool dm_trial_sample(struct dm_trial *t, double cost);
/* The way on trial cannot be measured: stay with the other for a while. */
void dm_trial_give_up(struct dm_trial *t);

#endif
