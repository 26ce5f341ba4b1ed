/*
 * The fabric's registrations of memory. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_KEY_H
#define DM_PROVIDERS_OFI_KEY_H

#include "providers/net/key.h"
#include "providers/ofi/ep.h"

/* Let the fabric have it, if peers may use it. False: it does not want it. */
bool dm_ofi_region_open(struct dm_net *net, struct dm_net_region *region);
void dm_ofi_region_close(struct dm_net_region *region);

/* The fabric's keys of sinks have index 0, which no memory context has, and a number. */
enum { DM_OFI_SINK_SHIFT = 16, DM_OFI_SINK_MASK = 0xffff };

#endif
