/*
 * Connection management, between the files that do it. ia->lock is held.
 */
#ifndef DM_PROVIDERS_SHM_CM_H
#define DM_PROVIDERS_SHM_CM_H

#include "providers/shm/conn.h"
#include "providers/shm/wire.h"

/* A process without descriptors looks to its peers as if nobody were there: warn once. */
void dm_shm_no_descriptor(struct dm_shm_ia *ia);

/* ---- active side ---- */

/* Begin to connect; the arguments have been checked. */
DAT_RETURN dm_shm_cm_start(struct dm_shm_ep *ep, const struct dm_shm_name *to, bool is_common,
                           const struct dm_connect *how);
/* The attempt has failed: one event, and the endpoint needs a reset. */
void dm_shm_cm_fail(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event, const void *data, uint32_t len);
/* The peer cannot open our segment: ask again by a socket. */
void dm_shm_cm_apart(struct dm_shm_conn *conn);
/* Can an acceptance be confirmed without waiting for the other side? It may have no space for its event. */
bool dm_shm_cm_can_confirm(const struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg);
/* The answer to our request. */
void dm_shm_cm_response(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd);

/* ---- passive side ---- */

/* A listening socket is readable. */
void dm_shm_listener_ready(struct dm_shm_ia *ia, struct dm_shm_listener *listener);
/* A request has arrived. */
void dm_shm_cm_request(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd);
/* The same from an inbox. False: this process has no descriptor or memory now. */
struct dm_shm_letter;
bool dm_shm_cm_request_near(struct dm_shm_ia *ia, const struct dm_shm_letter *letter);
/* Accept a request for an endpoint: it waits for the confirmation now. */
void dm_shm_cm_accept_conn(struct dm_shm_conn *conn, struct dm_shm_ep *ep, DAT_COUNT len,
                           const void *data);

/* ---- both ---- */

/* The socket of an unfinished connection has closed. */
void dm_shm_cm_lost(struct dm_shm_conn *conn);
/* When dm_shm_cm_timeout() has to be called, ns of CLOCK_MONOTONIC. */
uint64_t dm_shm_cm_due(const struct dm_shm_conn *conn, uint64_t now);
void dm_shm_cm_timeout(struct dm_shm_conn *conn);

#endif
