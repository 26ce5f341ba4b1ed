/*
 * DATUM_STATS=calls: how often each MPI function was called, its bytes, its time, and how much of that was waiting.
 */
#ifndef DM_API_CALLS_H
#define DM_API_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct dm_fn; /* api.h */

/* Begin to count, if the setting says so: dm_api.is_profiled. */
void dm_calls_start(void);
/* A call begins, inside the lock, and ends. Calls of callbacks count in those that they are made in, too. */
void dm_calls_enter(const struct dm_fn *fn);
void dm_calls_leave(uint64_t n_bytes);
/* Rank 0 prints the sums over all processes. Collective. */
int dm_calls_print(void);

/* ---- made from api.tbl ---- */

/* One more than the highest index of a function. */
int dm_calls_n_functions(void);
/* Name of the function with an index; NULL: there is none. */
const char *dm_calls_function(int index);

#endif
