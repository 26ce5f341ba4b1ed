/*
 * Copies of runs of any length, on the data path.
 *
 * From 2 KiB on the C library may use the processor's string instruction, which on some processors
 * takes twice as long when another core has just read the target's lines, as it has in every ring
 * that is used again.
 */
#ifndef DM_UTIL_COPY_H
#define DM_UTIL_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DM_COPY_LONG 2048

/* len >= DM_COPY_LONG bytes, which must not overlap, by loads and stores. */
void dm_copy_long(char *to, const char *from, size_t len);

/* len bytes, which must not overlap. */
static inline void dm_copy(void *to, const void *from, size_t len)
{
    if (len < DM_COPY_LONG)
        memcpy(to, from, len);
    else
        dm_copy_long(to, from, len);
}

/* len bytes, which may overlap. */
static inline void dm_move(void *to, const void *from, size_t len)
{
    if (len < DM_COPY_LONG || (uintptr_t)to - (uintptr_t)from < len ||
        (uintptr_t)from - (uintptr_t)to < len)
        memmove(to, from, len);
    else
        dm_copy_long(to, from, len);
}

#endif
