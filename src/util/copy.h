/*
 * Copies of runs of any length, on the data path.
 *
 * From 2 KiB on the C library may use the processor's string instruction, which on some processors
 * takes twice as long when another core has just read the target's lines, as it has in every ring
 * that is used again.
 */
#ifndef DM_UTIL_COPY_H
#define DM_UTIL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DM_COPY_LONG 2048

/* len >= DM_CACHE_LINE bytes, which must not overlap, by loads and stores. */
void dm_copy_long(char *to, const char *from, size_t len);

#define DM_COPY_FEW 16

/* len <= DM_COPY_FEW bytes, which may overlap: from both ends, since a call takes longer. */
static inline void dm_copy_few(void *to, const void *from, size_t len)
{
    const char *s = from;
    char *d = to;

    if (len >= 8) {
        uint64_t first, last;

        memcpy(&first, s, 8);
        memcpy(&last, s + len - 8, 8);
        memcpy(d, &first, 8);
        memcpy(d + len - 8, &last, 8);
    } else if (len >= 4) {
        uint32_t first, last;

        memcpy(&first, s, 4);
        memcpy(&last, s + len - 4, 4);
        memcpy(d, &first, 4);
        memcpy(d + len - 4, &last, 4);
    } else if (len > 0) {
        char first = s[0], middle = s[len / 2], last = s[len - 1];

        d[0] = first;
        d[len / 2] = middle;
        d[len - 1] = last;
    }
}

/* len bytes, which must not overlap. */
static inline void dm_copy(void *to, const void *from, size_t len)
{
    if (len <= DM_COPY_FEW)
        dm_copy_few(to, from, len);
    else if (len < DM_COPY_LONG)
        memcpy(to, from, len);
    else
        dm_copy_long(to, from, len);
}

static inline bool dm_overlaps(const void *a, const void *b, size_t len)
{
    return (uintptr_t)a - (uintptr_t)b < len || (uintptr_t)b - (uintptr_t)a < len;
}

#endif
