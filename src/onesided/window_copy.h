/*
 * Copies to and from memory of a window that this process can address. Long ones are done by loads and
 * stores (util/copy.h) or by the C library: on some processors its string instruction takes half the time
 * where the target stays in this core's cache, and twice the time where another core has read it.
 */
#ifndef DM_ONESIDED_WINDOW_COPY_H
#define DM_ONESIDED_WINDOW_COPY_H

#include <stddef.h>

#include "util/copy.h"

#define DM_RMA_COPY_LONG    8192 /* bytes; shorter ones take less than the clock */
#define DM_RMA_COPY_CLASSES 4    /* of lengths: up to 32, 128, 1024 KiB, more */

/* len >= DM_RMA_COPY_LONG bytes, which must not overlap; the way is timed now and then. */
void dm_rma_copy_long(void *to, const void *from, size_t len);

/* len bytes, which may overlap. */
static inline void dm_rma_copy(void *to, const void *from, size_t len)
{
    if (len < DM_RMA_COPY_LONG || dm_overlaps(to, from, len))
        dm_move(to, from, len);
    else
        dm_rma_copy_long(to, from, len);
}

#endif
