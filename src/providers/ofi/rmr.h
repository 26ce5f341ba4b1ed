/*
 * RMRs of this provider: executing binds. All want ia->lock held.
 */
#ifndef DM_PROVIDERS_OFI_RMR_H
#define DM_PROVIDERS_OFI_RMR_H

#include "providers/ofi/dto.h"

/* Execute a bind. 0; -FI_EBUSY: peers may still use what was bound before, try
 * again when they have acknowledged; else it may not be. */
int dm_ofi_rmr_exec(struct dm_ofi_ep *ep, struct dm_bind *bind, const DAT_LMR_TRIPLET *triplet);
/* A bind has completed, in whatever way; frees it. */
void dm_ofi_rmr_bound(struct dm_bind *bind);

#endif
