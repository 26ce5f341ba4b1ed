/*
 * Memory regions (uDAPL 2.0, dat_lmr_*).
 *
 * Memory that peers can map: dat_lmr_create with DAT_MEM_TYPE_SHARED_VIRTUAL,
 * region.for_shared_memory.virtual_address = where the caller has it mapped,
 * shared_memory_id = a 40-byte cookie with the NUL-terminated text
 * "fd:<N>+<offset>": descriptor N of the caller (a memfd or any file that can
 * be mapped shared) and the byte offset at which virtual_address is mapped. A
 * provider that uses N duplicates it. The file must not be truncated while
 * registered.
 *
 * A region made from another one (DAT_MEM_TYPE_LMR) stands for itself: either
 * may be freed first. Only the RMRs bound to a region need that very region,
 * which cannot be freed then.
 */
#ifndef DM_PROVIDERS_COMMON_LMR_H
#define DM_PROVIDERS_COMMON_LMR_H

#include "providers/common/ia.h"

struct dm_pz;

/* First member of a provider's own region. */
struct dm_lmr {
    struct dm_obj obj;
    struct dm_pz *pz;
    DAT_MEM_TYPE mem_type;
    DAT_REGION_DESCRIPTION region;
    DAT_VLEN len;
    DAT_VA_TYPE va_type;
    uint64_t va;   /* as the consumer addresses it: 0 if zero based */
    uint64_t addr; /* where it really is */
    DAT_MEM_PRIV_FLAGS priv;
    uint32_t key;   /* lmr context and rmr context */
    int n_binds;    /* RMRs bound to it */
    bool is_hidden; /* dat_lmr_free has been called, in vain so far */
};

/* Shared memory as a file of the caller's. */
struct dm_lmr_file {
    int fd;
    uint64_t offset;
    uint64_t dev;
    uint64_t ino;
};

/* All privileges that there are, and those of peers. */
#define DM_PRIV_ALL (DAT_MEM_PRIV_ALL_FLAG | (unsigned)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
#define DM_PRIV_REMOTE                                                                             \
    (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG |                              \
     (unsigned)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
/* A region's: as on InfiniBand, whoever can register memory may send from it; the stock tests
 * send from regions that have nothing but LOCAL_WRITE. */
#define DM_PRIV_LMR(priv) ((uint32_t)(priv) | DAT_MEM_PRIV_LOCAL_READ_FLAG)

/* Memory or contexts have run out. */
#define DM_DAT_NO_REGION DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)

void dm_lmr_destroy(struct dm_lmr *lmr); /* ia->lock is held */

/* DAT calls. */
DAT_RETURN dm_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                         DAT_VLEN len, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
                         DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_p, DAT_LMR_CONTEXT *lmr_context_p,
                         DAT_RMR_CONTEXT *rmr_context_p, DAT_VLEN *len_p, DAT_VADDR *va_p);
DAT_RETURN dm_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN dm_lmr_free(DAT_LMR_HANDLE lmr);
DAT_RETURN dm_lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n);

#endif
