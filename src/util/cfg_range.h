/*
 * What settings may be: the ranges of numbers, and all of it in words.
 */
#ifndef DM_UTIL_CFG_RANGE_H
#define DM_UTIL_CFG_RANGE_H

#include <stddef.h>
#include <stdint.h>

/* NAME, least, most: a number, bytes or microseconds. Those that are not listed take any number. */
#define DM_CFG_RANGES(X)                                                                           \
    X(RING_SLOTS, 4, 4096)                                                                         \
    X(RING_SLOT_SIZE, 64, UINT64_C(1) << 20)                                                       \
    X(SRQ_SIZE, 4096, UINT64_C(1) << 30)                                                           \
    X(CHUNK, 64, UINT64_C(1) << 20)                                                                \
    X(TIMEOUT, 1, UINT64_MAX)

/* Fits what dm_cfg_allowed says. */
#define DM_CFG_ALLOWED_LEN 160

/*
 * What row i of the table may be, in words: kind, range and unit, as in "bytes from 64 to 1m, also with k, m or g
 * behind, like 16k, or auto".
 */
void dm_cfg_allowed(size_t i, char text[DM_CFG_ALLOWED_LEN]);

#endif
