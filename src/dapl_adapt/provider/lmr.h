/*
 * Registration of a range of memory with one rail.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_LMR_H
#define DM_DAPL_ADAPT_PROVIDER_LMR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

struct dm_ia;

/* Keys of one range on one rail. */
struct dm_lmr {
    DAT_LMR_HANDLE handle;
    DAT_LMR_CONTEXT lctx;
    DAT_RMR_CONTEXT rctx;
    bool is_serial; /* as its rail */
};

/*
 * The bare call: plain memory, or with fd >= 0 the start of that file as shared memory, which
 * the cookie "fd:N+0" names. *lmr_p is empty after a refusal.
 */
DAT_RETURN dm_lmr_try(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, void *addr, size_t len, int fd,
                      struct dm_lmr *lmr_p);
/* Register with one IA: plain memory, or with fd >= 0 as shared memory first. */
int dm_lmr_create(struct dm_ia *ia, void *addr, size_t len, int fd, struct dm_lmr *lmr_p);
/* The same for memory from that offset of the file on. */
int dm_lmr_create_part(struct dm_ia *ia, void *addr, size_t len, int fd, uint64_t offset,
                       struct dm_lmr *lmr_p);
/* The same for memory that a provider's atomic operations change. */
int dm_lmr_create_atomic(struct dm_ia *ia, void *addr, size_t len, int fd, struct dm_lmr *lmr_p);
void dm_lmr_free(struct dm_lmr *lmr);

#endif
