/*
 * The two phases: in rounds, each aggregator has one window of its domain at a time.
 */
#ifndef DM_IO_TWO_PHASE_H
#define DM_IO_TWO_PHASE_H

#include "io/ship.h"

/* What all processes know and decided alike. */
struct dm_plan {
    struct dm_plan_part *parts; /* of each rank */
    int *aggs;                  /* ranks */
    int n_agg;
    int64_t low, high; /* of the file: what all access, from a multiple of the unit on */
    int64_t domain;    /* bytes of the file for each aggregator */
    int64_t window;    /* that it takes at a time */
};

/*
 * Collective, on failure too: an aggregator that fails still takes and sends what the others wait for,
 * and returns its error. m->done is set. *good_p: what this process has to write of the file is there
 * below that offset.
 */
int dm_two_phase_write(struct dm_file *f, struct dm_move *m, const struct dm_plan *plan,
                       int64_t *good_p);
int dm_two_phase_read(struct dm_file *f, struct dm_move *m, const struct dm_plan *plan);

#endif
