/*
 * Large transfers over several rails.
 */
#ifndef DM_DAPL_ADAPT_RMA_STRIPE_H
#define DM_DAPL_ADAPT_RMA_STRIPE_H

#include <stdbool.h>

struct dm_conn;
struct dm_rdma;
/*
 * Spread a transfer, which is set up and not queued, over the RDMA queues that are up; false: there
 * is only one, or no memory (further RDMA queues are being connected then).
 */
bool dm_stripe_start(struct dm_conn *conn, struct dm_rdma *rdma);

#endif
