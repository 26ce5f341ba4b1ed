/*
 * Requests: posting, their order, their completion.
 */
#ifndef DM_PROVIDERS_SHM_DTO_H
#define DM_PROVIDERS_SHM_DTO_H

#include "providers/shm/rdma.h"

/* All want ia->lock held. */

/* Go on with what is queued. */
void dm_shm_dto_push(struct dm_shm_ep *ep);
/* Complete everything queued as flushed. */
void dm_shm_dto_flush(struct dm_shm_ep *ep);
/* The request at the queue's head is over; drops it and breaks the connection
 * if it has failed. True if the connection still stands. */
bool dm_shm_dto_finish_head(struct dm_shm_ep *ep, const struct dm_shm_result *res);
/* Allow the fast paths, or not, after a change of state or queue. */
void dm_shm_ep_set_sync(struct dm_shm_ep *ep);

#endif
