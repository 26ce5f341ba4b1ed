/*
 * Large transfers over several rails.
 */
#ifndef DM_DAPL_ADAPT_STRIPE_H
#define DM_DAPL_ADAPT_STRIPE_H

#include <stdbool.h>

#include "dapl_adapt/conn.h"

/*
 * Spread a transfer, which is set up and not queued, over the lanes that are up; false: there is
 * only one, or no memory (further lanes are being connected then).
 */
bool dm_stripe_start(struct dm_conn *conn, struct dm_rdma *rdma);

/* Queue a transfer on a lane and see to it that it is connected. (rma.c) */
void dm_rma_start(struct dm_conn *conn, struct dm_lane *lane, struct dm_rdma *rdma);

#endif
