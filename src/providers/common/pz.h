/*
 * Protection zones (uDAPL 2.0, dat_pz_*).
 */
#ifndef DM_PROVIDERS_COMMON_PZ_H
#define DM_PROVIDERS_COMMON_PZ_H

#include "providers/common/ia.h"

struct dm_pz {
    struct dm_obj obj;
    uint32_t id;
    int n_refs; /* endpoints, LMRs, RMRs, SRQs */
};

/* DAT calls. */
DAT_RETURN dm_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz_p);
DAT_RETURN dm_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN dm_pz_free(DAT_PZ_HANDLE pz);

#endif
