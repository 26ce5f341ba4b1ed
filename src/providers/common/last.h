/*
 * The last byte of an RDMA write is placed last: consumers poll memory for it.
 */
#ifndef DM_PROVIDERS_COMMON_LAST_H
#define DM_PROVIDERS_COMMON_LAST_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

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

/* Place those bytes; all before them are placed. */
static DM_ALWAYS_INLINE void dm_last_store(char *to, const void *from, uint64_t tail)
{
    uint64_t word;

    if (tail != DM_LAST_TAIL) {
        atomic_store_explicit((_Atomic char *)to, *(const char *)from, memory_order_release);
        return;
    }
    memcpy(&word, from, sizeof(word));
    if (((uintptr_t)to & (DM_LAST_TAIL - 1)) == 0) {
        atomic_store_explicit((_Atomic uint64_t *)(void *)to, word, memory_order_release);
    } else {
        atomic_thread_fence(memory_order_release);
        memcpy(to, &word, sizeof(word));
    }
}

#endif
