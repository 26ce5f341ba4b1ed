/*
 * A set of addresses, as ranges that neither overlap nor touch, sorted. Not for several threads.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_RANGES_H
#define DM_DAPL_ADAPT_PROVIDER_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dm_range {
    uintptr_t start;
    uintptr_t end;
};

struct dm_ranges { /* all zero: empty */
    struct dm_range *list;
    size_t n;
    size_t max;
};

void dm_ranges_free(struct dm_ranges *ranges);
/* Put [start, end) in. False, and nothing done: no memory. */
bool dm_ranges_add(struct dm_ranges *ranges, uintptr_t start, uintptr_t end);
/* Take [start, end) out. False: no memory for a range that falls in two, of which nothing is left. */
bool dm_ranges_cut(struct dm_ranges *ranges, uintptr_t start, uintptr_t end);
/* Is all of [start, end) in it? */
bool dm_ranges_cover(const struct dm_ranges *ranges, uintptr_t start, uintptr_t end);
/* Is any of [start, end) in it? */
bool dm_ranges_touch(const struct dm_ranges *ranges, uintptr_t start, uintptr_t end);

#endif
