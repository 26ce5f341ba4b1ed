/*
 * RMRs of this provider: executing binds.
 */
#ifndef DM_PROVIDERS_SHM_RMR_H
#define DM_PROVIDERS_SHM_RMR_H

#include "providers/shm/rdma.h"

/* Execute a bind; only with is_locked. */
enum dm_shm_exec dm_shm_rmr_exec(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                                 struct dm_shm_result *res);

#endif
