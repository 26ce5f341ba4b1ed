/*
 * The objects that the adaptation layer shows, and the keys of registered memory.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_TYPES_H
#define DM_DAPL_ADAPT_PUBLIC_TYPES_H

#include <stdint.h>

struct dm_adapt; /* one per process */
struct dm_conn;  /* one per peer process */
struct dm_mr;    /* a registered range of local memory, reference counted */

#define DM_RAILS_MAX 4

/* What a peer needs to reach registered memory: one key per rail. Plain bytes, sent in packets. */
struct dm_rkey {
    uint32_t ctx[DM_RAILS_MAX];
};

#endif
