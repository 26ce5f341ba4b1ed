/*
 * Memory that all connections of a rail send records from, where the provider takes the data of a write when the
 * post returns.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_SOURCE_H
#define DM_DAPL_ADAPT_PROVIDER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "dapl_adapt/provider/lmr.h"

struct dm_ia;

struct dm_ia_source {
    char *ptr; /* NULL: there is none */
    size_t len;
    struct dm_lmr lmr;
};

/*
 * ia->memory.source, for records of up to len bytes: made when first asked for, then as long as it was. False: the
 * provider does not take so much, or there is no memory.
 */
bool dm_source_has(struct dm_ia *ia, size_t len);
void dm_source_free(struct dm_ia *ia);

#endif
