/*
 * Connection management, between the files that do it.
 */
#ifndef DM_PROVIDERS_SHM_CM_H
#define DM_PROVIDERS_SHM_CM_H

#include <sys/socket.h>
#include <sys/un.h>

#include "providers/shm/msg.h"
#include "providers/shm/rdma.h"

/* The abstract socket name of a connection qualifier on this node... */
void dm_shm_cm_name(DAT_CONN_QUAL qual, struct dm_shm_name *name);
/* ...and of a port in a communicator. */
void dm_shm_cm_common_name(const DAT_COMM *comm, uint16_t port, struct dm_shm_name *name);
/* A socket that listens there. */
DAT_RETURN dm_shm_sock_listen(const struct dm_shm_name *name, int *fd_p);
/* Is somebody listening there now? */
bool dm_shm_sock_is_there(const struct dm_shm_name *name);
/* Begin to connect; the arguments have been checked, ia->lock is held. */
DAT_RETURN dm_shm_cm_start(struct dm_shm_ep *ep, const struct dm_shm_name *to, bool is_common,
                           const struct dm_connect *how);
/* The attempt has failed: one event, and the endpoint needs a reset. */
void dm_shm_cm_give_up(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event, const void *data,
                       uint32_t len);
/* Accept a request for an endpoint: it waits for the confirmation now. */
void dm_shm_cm_answer(struct dm_shm_conn *conn, struct dm_shm_ep *ep, DAT_COUNT len,
                      const void *data);
/* csp.c: nobody listens where a common connect goes: wait there for the other
 * side. False: somebody does now, or it cannot be. */
bool dm_shm_common_wait(struct dm_shm_conn *conn);
/* The other side has come to who waits. */
void dm_shm_common_met(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd);
/* May we share memory with the process at the other end? */
bool dm_shm_cm_trusted(int fd, pid_t *pid_p);
/* Fill in what the peer must know of our segment and endpoint. */
void dm_shm_cm_describe(const struct dm_shm_conn *conn, struct dm_shm_msg *msg);
/* Map the segment of a peer that has described itself. */
bool dm_shm_cm_meet(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd);

#endif
