/*
 * Regions: memory for rings, in memory files, registered with one rail. Where nothing is pinned and
 * peers can map the files, a file has several of them, and one registration: a peer then costs no
 * descriptor, and no system calls for it.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_REGION_H
#define DM_DAPL_ADAPT_PROVIDER_REGION_H

#include <stdbool.h>
#include <stddef.h>

#include "dapl_adapt/provider/lmr.h"

struct dm_arena;
struct dm_ia;

struct dm_region_chunk;

struct dm_region {
    char *ptr;
    size_t len;
    int fd;
    struct dm_lmr lmr;
    struct dm_region_chunk
        *chunk; /* that it is a part of, or NULL: file and registration are its own */
};

/*
 * Page-aligned zeroed memory, registered with one IA. n_more: so many regions may follow, none of which is
 * ever moved to another IA; those (arena NULL: none) are parts of the arena, if that is open and has so much.
 * DM_EAGAIN: the provider has no registrations or lockable memory left.
 */
int dm_region_alloc(struct dm_ia *ia, const struct dm_arena *arena, size_t len, int n_more,
                    struct dm_region *region_p);
/* is_end: nobody will ask for another one, so its memory need not be cleared. */
void dm_region_free(struct dm_region *region, bool is_end);
/* Register it with another IA instead; the memory stays. DM_EPROVIDER. */
int dm_region_move(struct dm_ia *ia, struct dm_region *region);

#endif
