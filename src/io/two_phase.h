/*
 * The two phases: in rounds, each aggregator has one window of its domain at a time.
 */
#ifndef DM_IO_TWO_PHASE_H
#define DM_IO_TWO_PHASE_H

#include "io/job.h"
#include "io/ship.h"

struct dm_rounds; /* the rounds of one process */

/*
 * Memory for all rounds; nothing is sent. The file, move and plan must stay. blocks: aggregators
 * access the file themselves, else by jobs. DM_ENOMEM.
 */
int dm_rounds_new(struct dm_file *f, struct dm_move *m, const struct dm_plan *plan, bool blocks,
                  struct dm_rounds **r_p);
/* The views are where they are needed: memory that depends on them. DM_ENOMEM. */
int dm_rounds_begin(struct dm_rounds *r);
/*
 * Collective, after an error, too: an aggregator that fails still takes and sends what the others
 * wait for. Goes on as far as it can: what it waits for; NULL: all rounds are over.
 */
struct dm_req *dm_rounds_step(struct dm_rounds *r);
/* What came of them; m->done is set. *good_p: all below that offset of the file is written. */
const struct dm_io_result *dm_rounds_result(const struct dm_rounds *r, int64_t *good_p);
void dm_rounds_free(struct dm_rounds *r);

#endif
