/*
 * Sorted ranges of addresses.
 */
#include "dapl_adapt/provider/ranges.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16

void dm_ranges_free(struct dm_ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct dm_ranges){0};
}

/* The first range that ends behind addr. */
static size_t ranges_find(const struct dm_ranges *ranges, uintptr_t addr)
{
    size_t low = 0, high = ranges->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (ranges->list[middle].end <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Room for a range at this place, which holds nothing yet. */
static bool ranges_insert(struct dm_ranges *ranges, size_t at)
{
    if (ranges->n == ranges->max) {
        size_t max = ranges->max > 0 ? 2 * ranges->max : FIRST;
        struct dm_range *more = realloc(ranges->list, max * sizeof(*more));

        if (more == NULL)
            return false;
        ranges->list = more;
        ranges->max = max;
    }
    memmove(&ranges->list[at + 1], &ranges->list[at], (ranges->n - at) * sizeof(ranges->list[0]));
    ranges->n++;
    return true;
}

static void ranges_remove(struct dm_ranges *ranges, size_t from, size_t to)
{
    if (from == to)
        return;
    memmove(&ranges->list[from], &ranges->list[to], (ranges->n - to) * sizeof(ranges->list[0]));
    ranges->n -= to - from;
}

bool dm_ranges_add(struct dm_ranges *ranges, uintptr_t start, uintptr_t end)
{
    size_t at = ranges_find(ranges, start), to;

    if (at > 0 && ranges->list[at - 1].end == start)
        at--;
    for (to = at; to < ranges->n && ranges->list[to].start <= end; to++) {
        if (ranges->list[to].start < start)
            start = ranges->list[to].start;
        if (ranges->list[to].end > end)
            end = ranges->list[to].end;
    }
    if (to == at && !ranges_insert(ranges, at))
        return false;
    if (to > at)
        ranges_remove(ranges, at + 1, to);
    ranges->list[at] = (struct dm_range){start, end};
    return true;
}

bool dm_ranges_cut(struct dm_ranges *ranges, uintptr_t start, uintptr_t end)
{
    size_t at = ranges_find(ranges, start), to;
    struct dm_range *first = &ranges->list[at];

    if (at < ranges->n && first->start < start) {
        if (first->end > end) { /* falls in two */
            struct dm_range whole = *first;

            if (!ranges_insert(ranges, at)) {
                ranges_remove(ranges, at, at + 1);
                return false;
            }
            ranges->list[at] = (struct dm_range){whole.start, start};
            ranges->list[at + 1] = (struct dm_range){end, whole.end};
            return true;
        }
        first->end = start;
        at++;
    }
    for (to = at; to < ranges->n && ranges->list[to].end <= end; to++)
        ;
    if (to < ranges->n && ranges->list[to].start < end)
        ranges->list[to].start = end;
    ranges_remove(ranges, at, to);
    return true;
}

bool dm_ranges_cover(const struct dm_ranges *ranges, uintptr_t start, uintptr_t end)
{
    size_t at = ranges_find(ranges, start);

    return at < ranges->n && ranges->list[at].start <= start && ranges->list[at].end >= end;
}

bool dm_ranges_touch(const struct dm_ranges *ranges, uintptr_t start, uintptr_t end)
{
    size_t at = ranges_find(ranges, start);

    return at < ranges->n && ranges->list[at].start < end;
}
