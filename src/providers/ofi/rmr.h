/*
 * RMRs: windows onto registered memory that come and go with the requests of
 * an endpoint (uDAPL 2.0, "Remote Memory Region"). What DAT leaves open is
 * decided as in the shared-memory provider, see shm/rmr.h.
 */
#ifndef DM_PROVIDERS_OFI_RMR_H
#define DM_PROVIDERS_OFI_RMR_H

#include "providers/ofi/dto.h"

/* A bind that has been posted. */
struct dm_ofi_bind {
    struct dm_rmr *rmr;
    struct dm_lmr *lmr;
    uint32_t lmr_gen; /* to notice that it has been freed since */
    uint32_t key;     /* reserved; 0: unbind, or the key is in use now */
    DAT_MEM_PRIV_FLAGS priv;
    DAT_VA_TYPE va_type;
};

/* All want ia->lock held. */

/* Execute a bind. 0; -FI_EBUSY: peers may still use what was bound before, try
 * again when they have confirmed; else it may not be. */
int dm_ofi_rmr_exec(struct dm_oep *ep, const struct dm_ofi_dto *dto);
/* A bind has completed, in whatever way; frees dto->bind. */
void dm_ofi_rmr_bound(const struct dm_ofi_dto *dto);
/* The connection of an endpoint ends: so do the windows that only it serves. */
void dm_ofi_rmr_ep_down(struct dm_oep *ep);
/* The peer of this endpoint wants a context to end; false if it has no right. */
bool dm_ofi_rmr_invalidate(struct dm_oep *ep, uint32_t key);

#endif
