/*
 * Collective transfers in two phases: data go between processes first, so that few of them, the
 * aggregators, access the file in long ranges.
 */
#ifndef DM_IO_EXCHANGE_H
#define DM_IO_EXCHANGE_H

#include "io/file.h"

struct dm_exchanges; /* what a file has for them: the ones that are under way, in order */

/* DM_ENOMEM. */
int dm_exchanges_new(struct dm_file *f);
void dm_exchanges_free(struct dm_file *f);
/*
 * What nonblocking calls need with the hints that are in force now. All call it, and agree about errors;
 * they do in the second one, which is collective.
 */
int dm_exchanges_prepare(struct dm_file *f);
int dm_exchanges_prepare_all(struct dm_file *f);
/* Wait for all that are under way. */
void dm_exchanges_drain(struct dm_file *f);
/* The messages of their requests have no communicator any more. */
void dm_exchanges_stop(struct dm_file *f);

/*
 * The collective transfer m of this process, which has nothing to move when it could not take part.
 * *is_done_p false with DM_OK: all have decided to move their data by themselves.
 */
int dm_exchange_run(struct dm_file *f, struct dm_move *m, bool *is_done_p);
/* The same not waited for; it moves the data in any case. Err is returned; then there is no request. */
int dm_exchange_start(struct dm_file *f, const struct dm_move *m, int err, struct dm_req **req_p);

#endif
