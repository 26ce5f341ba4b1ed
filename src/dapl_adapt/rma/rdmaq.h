/*
 * RDMA queues: transfers that wait, and parts that are posted.
 */
#ifndef DM_DAPL_ADAPT_RMA_RDMAQ_H
#define DM_DAPL_ADAPT_RMA_RDMAQ_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/public/rdma.h"

struct dm_adapt;

/* A transfer is over: dm_adapt_poll will tell. */
void dm_rdma_finish(struct dm_adapt *adapt, struct dm_rdma *rdma);
/* Queue a transfer on an RDMA queue and see to it that it is connected. */
void dm_rdma_start(struct dm_conn *conn, struct dm_rdmaq *rdmaq, struct dm_rdma *rdma);
/* Is the memory of both ends of a transfer registered with the rail of an RDMA queue that is up? */
bool dm_rdma_has_keys(const struct dm_rdmaq *rdmaq, const struct dm_rdma *rdma);
/* Post what is queued on an RDMA link. */
void dm_rdma_push(struct dm_conn *conn, struct dm_rdmaq *rdmaq);
/* A part of a transfer completed. */
void dm_rdma_completed(struct dm_conn *conn, struct dm_rdmaq *rdmaq, uint32_t place, bool is_ok);
/* The endpoint is gone: what was posted and not done is queued again, on RDMA queue `to`. */
void dm_rdma_requeue(struct dm_conn *conn, struct dm_rdmaq *rdmaq, struct dm_rdmaq *to);
/* Is anything queued on any RDMA queue? */
bool dm_rdma_is_wanted(const struct dm_conn *conn);
/* The connection's rail has joined. Does what is queued on the first link wait for one whose keys it has? */
bool dm_rdma_is_starved(const struct dm_conn *conn);
/* An extra RDMA link broke, or could not be made: others take its work. */
void dm_rdmaq_break(struct dm_link *link);
/* The connection is lost: give up what is queued. */
void dm_rdmaq_fail(struct dm_conn *conn);

#endif
