/*
 * Staged transfers: the target's progress thread copies. ia->lock is held.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_STAGE_H
#define DM_PROVIDERS_SHM_TRANSPORT_STAGE_H

#include "providers/shm/conn.h"
#include "providers/shm/rdma.h"
#include "providers/shm/wire.h"

/* Start the next chunk of the staged transfer at the queue's head. False: it
 * has failed, with res filled in. */
bool dm_shm_stage_step(struct dm_shm_ep *ep, struct dm_shm_op *op, struct dm_shm_result *res);
/* The target: copy a chunk, DM_CTRL_STAGE. */
void dm_shm_stage_execute(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg);
/* The answer to a request of ours, DM_CTRL_STAGED. */
void dm_shm_stage_response(struct dm_shm_ep *ep, const struct dm_shm_ctrl *msg);

#endif
