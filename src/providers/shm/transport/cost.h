/*
 * What things cost in the modelled network: bookings of links, buses and memory, all at times of
 * virtual ns.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_COST_H
#define DM_PROVIDERS_SHM_TRANSPORT_COST_H

#include "providers/shm/transport/preset.h"
#include "providers/shm/transport/world.h"

/*
 * Book a transfer of len bytes from one host to another, posted at that time; when its last byte is
 * there. They may be the same: then the other end is one of its own.
 */
uint64_t dm_cost_write(const struct dm_shm_figures *figures, struct dm_world_host *from,
                       struct dm_world_host *to, uint64_t when, uint64_t len);
/* The same of a read by one host of another's memory. */
uint64_t dm_cost_read(const struct dm_shm_figures *figures, struct dm_world_host *by,
                      struct dm_world_host *of, uint64_t when, uint64_t len);
/* When the processor has copied len bytes, beside the transfers that are known. */
uint64_t dm_cost_copy(const struct dm_shm_figures *figures, const struct dm_world_host *host,
                      uint64_t when, uint64_t len);

#endif
