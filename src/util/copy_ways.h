/*
 * Copies to memory that another core reads, by the faster of two ways: loads and stores (copy.h), or the processor's
 * string instruction. On some processors that takes half the time or less, also where another core has just read the
 * target's lines, on others twice as long there. Both are timed now and then, by length.
 */
#ifndef DM_UTIL_COPY_WAYS_H
#define DM_UTIL_COPY_WAYS_H

#include <stddef.h>

#include "util/copy.h"
#include "util/port.h"
#include "util/trial.h"

#define DM_COPY_WAYS_MIN 768 /* bytes; shorter ones take less than the choice */
#define DM_COPY_CLASSES  7   /* of lengths: up to 2, 6, 12, 32, 128, 1024 KiB, more */

/* What copies of one kind have cost, in ns a byte; way 0 is the instruction. All zero at first. No locks. */
struct dm_copy_ways {
    struct dm_trial trials[DM_COPY_CLASSES];
};

/* len >= DM_COPY_WAYS_MIN bytes, which must not overlap. */
void dm_copy_ways_long(struct dm_copy_ways *ways, char *to, const char *from, size_t len);

/* len bytes, which must not overlap. */
static inline void dm_copy_by(struct dm_copy_ways *ways, void *to, const void *from, size_t len)
{
    if (dm_likely(len < DM_COPY_WAYS_MIN))
        dm_copy(to, from, len);
    else
        dm_copy_ways_long(ways, to, from, len);
}

/* len bytes, which may overlap. */
static inline void dm_move_by(struct dm_copy_ways *ways, void *to, const void *from, size_t len)
{
    if (len < DM_COPY_WAYS_MIN || dm_overlaps(to, from, len))
        memmove(to, from, len);
    else
        dm_copy_ways_long(ways, to, from, len);
}

#endif
