/*
 * Collective transfers in two phases: data go between processes first, so that few of them, the
 * aggregators, access the file in long ranges.
 */
#ifndef DM_IO_EXCHANGE_H
#define DM_IO_EXCHANGE_H

#include "io/file.h"

/* May a collective call on this file want that? The same at all its processes. */
bool dm_exchange_is_for(const struct dm_file *f, bool is_write);
/*
 * The collective transfer m of this process, which has nothing to move and err when it could not
 * take part. *is_done_p false with DM_OK: all have decided to move their data by themselves.
 */
int dm_exchange_run(struct dm_file *f, struct dm_move *m, int err, bool *is_done_p);

#endif
