/*
 * Memory that all connections of a rail send records from.
 */
#include "dapl_adapt/provider/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "util/err.h"

#define PAGE 4096

bool dm_source_has(struct dm_ia *ia, size_t len)
{
    struct dm_ia_source *source = &ia->memory.source;
    size_t whole = (len + PAGE - 1) / PAGE * PAGE;

    if (len > ia->limits.max_taken)
        return false;
    if (source->ptr != NULL)
        return len <= source->len;
    source->ptr = aligned_alloc(PAGE, whole);
    if (source->ptr == NULL)
        return false;
    source->len = whole;
    if (dm_lmr_create(ia, source->ptr, whole, -1, &source->lmr) == DM_OK)
        return true;
    free(source->ptr);
    source->ptr = NULL;
    return false;
}

void dm_source_free(struct dm_ia *ia)
{
    if (ia->memory.source.ptr == NULL)
        return;
    dm_lmr_free(&ia->memory.source.lmr);
    free(ia->memory.source.ptr);
    ia->memory.source.ptr = NULL;
}
