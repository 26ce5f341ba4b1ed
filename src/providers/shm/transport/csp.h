/*
 * Common connects (dat_ep_common_connect), beside cm.c. ia->lock is held.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_CSP_H
#define DM_PROVIDERS_SHM_TRANSPORT_CSP_H

#include "providers/shm/conn.h"
#include "providers/shm/wire.h"

/* Nobody listens where a common connect goes: listen there for the other
 * side. False: somebody does now, or it cannot be. */
bool dm_shm_csp_wait(struct dm_shm_conn *conn);
/* The other side has connected to the one that waits. */
void dm_shm_csp_match(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg);

#endif
