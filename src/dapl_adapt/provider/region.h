/*
 * Regions: memory for rings, in a memory file, registered with one rail.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_REGION_H
#define DM_DAPL_ADAPT_PROVIDER_REGION_H

#include <stddef.h>

#include "dapl_adapt/provider/lmr.h"

struct dm_ia;

/*
 * Page-aligned memory in a memory file, registered with one IA; for rings. DM_EAGAIN: the provider
 * has no registrations or lockable memory left.
 */
struct dm_region {
    char *ptr;
    size_t len;
    int fd;
    struct dm_lmr lmr;
};

int dm_region_alloc(struct dm_ia *ia, size_t len, struct dm_region *region_p);
void dm_region_free(struct dm_region *region);
/* Register it with another IA instead; the memory stays. DM_EPROVIDER. */
int dm_region_move(struct dm_ia *ia, struct dm_region *region);

#endif
