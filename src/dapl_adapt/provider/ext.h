/*
 * Posts of DAT's InfiniBand extension, which a provider may have.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_EXT_H
#define DM_DAPL_ADAPT_PROVIDER_EXT_H

#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

struct dm_ia;
/* One RDMA write with an immediate value. */
DAT_RETURN dm_ext_write_imm(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                            DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint32_t value);
/* One fetch-and-add; what was there comes to the memory of lmr. */
DAT_RETURN dm_ext_fetch_add(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                            DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint64_t add);

#endif
