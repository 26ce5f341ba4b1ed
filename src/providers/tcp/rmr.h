/*
 * RMRs: contexts for windows onto regions. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_RMR_H
#define DM_PROVIDERS_TCP_RMR_H

#include "providers/tcp/ep.h"

/* How a bind went. */
enum dm_tcp_bound { DM_TCP_BOUND, DM_TCP_BIND_LATER, DM_TCP_BIND_FAILED };

/* Carry out a bind; LATER: a peer is in the old window. */
enum dm_tcp_bound dm_tcp_rmr_exec(struct dm_tcp_ep *ep, struct dm_bind *bind,
                                  const DAT_LMR_TRIPLET *triplet);
/* The bind has completed, in whatever way. */
void dm_tcp_rmr_bound(struct dm_bind *bind);

#endif
