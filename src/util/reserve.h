/*
 * Tables that grow in place: address space without memory, so that what is in the table never moves
 * and may be read without a lock. Pages come with their first use.
 */
#ifndef DM_UTIL_RESERVE_H
#define DM_UTIL_RESERVE_H

#include <stddef.h>

/*
 * Room for up to `most` pointers, all NULL; fewer where address space is limited (ulimit -v), down
 * to `least`. *n_p: how many. NULL: not even that (DM_ENOMEM is noted).
 */
void *dm_reserve(size_t least, size_t most, size_t *n_p);
void dm_reserve_free(void *table, size_t n);

#endif
