/*
 * Extensions of DAT that a provider may have: InfiniBand's posts, and virtual time.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_EXT_H
#define DM_DAPL_ADAPT_PROVIDER_EXT_H

#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

struct dm_ia;
struct dm_clock_source;
struct dm_datagrams;

/* One RDMA write with an immediate value. */
DAT_RETURN dm_ext_write_imm(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                            DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint32_t value);
/* One fetch-and-add; what was there comes to the memory of lmr. */
DAT_RETURN dm_ext_fetch_add(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                            DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint64_t add);
/* One compare-and-swap, likewise. */
DAT_RETURN dm_ext_compare_swap(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                               DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint64_t compare,
                               uint64_t value);
/* The provider's virtual time; DAT_MODEL_NOT_SUPPORTED: it has none. */
DAT_RETURN dm_ext_clock(struct dm_ia *ia, struct dm_clock_source *source);
/* The provider's datagrams, to processes of this host; the same: it has none. */
DAT_RETURN dm_ext_datagrams(struct dm_ia *ia, struct dm_datagrams *datagrams);

#endif
