/*
 * RDMA transfers.
 */
#ifndef DM_DAPL_ADAPT_RMA_RMA_H
#define DM_DAPL_ADAPT_RMA_RMA_H

struct dm_conn;

/* The connection is lost: give up what is queued. */
void dm_rdma_fail(struct dm_conn *conn);

#endif
