/*
 * The last byte of an RDMA write is placed last: consumers poll memory for it.
 */
#ifndef DM_PROVIDERS_COMMON_LAST_H
#define DM_PROVIDERS_COMMON_LAST_H

#include <stdint.h>

#include "util/port.h"

enum { DM_LAST_TAIL = 8 };

/* How many bytes at the end of len > 0 bytes for address to are to be placed after all
 * others: 8, which a consumer may poll as a whole, or 1 where these are not there or would
 * straddle a cache line and so not be placed at once. */
static inline uint64_t dm_last_tail(uint64_t to, uint64_t len)
{
    uint64_t end = (to + len) % DM_CACHE_LINE;

    return len >= DM_LAST_TAIL && (end == 0 || end >= DM_LAST_TAIL) ? DM_LAST_TAIL : 1;
}

#endif
