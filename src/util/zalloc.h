/*
 * Zeroed memory for short-lived objects.
 */
#ifndef DM_UTIL_ZALLOC_H
#define DM_UTIL_ZALLOC_H

#include <stdlib.h>
#include <string.h>

#include "util/port.h"

/* As calloc(1, len), but from malloc's cache of the thread, which glibc's calloc passes by. */
static inline void *dm_zalloc(size_t len)
{
    void *ptr = malloc(len);

    dm_in_register(ptr); /* or the compiler makes it calloc again */
    return ptr != NULL ? memset(ptr, 0, len) : NULL;
}

#endif
