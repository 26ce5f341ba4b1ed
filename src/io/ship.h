/*
 * The views of other processes, for aggregators: each is shipped once as the loop program of its
 * filetype, and rebuilt. What a process accesses follows from a position and a length then; no list
 * of offsets is sent or kept.
 */
#ifndef DM_IO_SHIP_H
#define DM_IO_SHIP_H

#include "io/file.h"

/* What each process tells all before a collective transfer; sent as it is. */
struct dm_plan_part {
    uint64_t pos, len;   /* in its view */
    int64_t low, high;   /* of the file; equal: nothing */
    uint64_t view_bytes; /* of its view as dm_ship_views sends it */
    uint32_t is_refused; /* it cannot take part in an exchange */
    int32_t err;         /* enum dm_err */
};

/* Bytes of this process' view when it is shipped; DM_ENOMEM. */
int dm_ship_measure(struct dm_file *f, uint64_t *len_p);
/*
 * Collective: the view of each process at the n_agg processes aggs[], unless they have it. parts[]
 * are those of all.
 */
int dm_ship_views(struct dm_file *f, const struct dm_plan_part *parts, const int *aggs, int n_agg);
/* The view of a rank; at an aggregator. */
const struct dm_view *dm_ship_view(const struct dm_file *f, int rank);
/* Views or aggregators change. */
void dm_ship_forget(struct dm_file *f);

#endif
