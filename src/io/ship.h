/*
 * The views of other processes, for aggregators: each is shipped once as the loop program of its
 * filetype, and rebuilt. What a process accesses follows from a position and a length then; no list
 * of offsets is sent or kept.
 */
#ifndef DM_IO_SHIP_H
#define DM_IO_SHIP_H

#include "io/plan.h"

/* Bytes of this process' view when it is shipped, which it is not yet; DM_ENOMEM. */
int dm_ship_measure(struct dm_file *f, uint64_t *len_p);
/* Have the aggregators the views? All processes know that alike. */
bool dm_ship_is_done(const struct dm_file *f);
/*
 * Memory for shipping the view of each process to the aggregators, and to the leader of its host;
 * nothing is sent. The plan must stay. DM_ENOMEM.
 */
int dm_ship_alloc(struct dm_file *f, const struct dm_plan *plan);
/*
 * Collective, also after an error: ship them, as far as it can. *req_p: what it waits for; NULL: it
 * is over. What goes wrong is returned, the rest goes on.
 */
int dm_ship_step(struct dm_file *f, struct dm_req **req_p);
/* All have said that it went well, or not. */
void dm_ship_end(struct dm_file *f, bool is_done);
/* The view of a rank; at an aggregator, or at the leader of its host when there are several. */
const struct dm_view *dm_ship_view(const struct dm_file *f, int rank);
/* Views or aggregators change. */
void dm_ship_forget(struct dm_file *f);

#endif
