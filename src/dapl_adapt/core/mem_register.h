/*
 * Registration on all rails.
 */
#ifndef DM_DAPL_ADAPT_CORE_MEM_REGISTER_H
#define DM_DAPL_ADAPT_CORE_MEM_REGISTER_H

#include <stdint.h>

struct dm_adapt;
struct dm_mr;

/*
 * Register the range of mr with every rail. When one has no more, idle registrations of the cache are given up.
 * DM_EAGAIN: it still has none. DM_EPROVIDER: it refuses this memory.
 */
int dm_mem_register_rails(struct dm_adapt *adapt, struct dm_mr *mr);
/*
 * A registration of [start, end) with a reference, not in the cache. DM_EAGAIN: a provider has no more, or refuses
 * this memory, a read-only page for example. DM_ENOMEM.
 */
int dm_mem_register(struct dm_adapt *adapt, uintptr_t start, uintptr_t end, struct dm_mr **mr_p);

#endif
