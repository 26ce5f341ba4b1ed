/*
 * Connection management, between the files that do it.
 */
#ifndef DM_PROVIDERS_SHM_CM_H
#define DM_PROVIDERS_SHM_CM_H

#include <sys/socket.h>
#include <sys/un.h>

#include "providers/shm/msg.h"
#include "providers/shm/rdma.h"

/* The abstract socket name of a connection qualifier on this node. */
socklen_t dm_shm_cm_name(DAT_CONN_QUAL qual, struct sockaddr_un *name);
/* May we share memory with the process at the other end? */
bool dm_shm_cm_trusted(int fd, pid_t *pid_p);
/* Fill in what the peer must know of our segment and endpoint. */
void dm_shm_cm_describe(const struct dm_shm_conn *conn, struct dm_shm_msg *msg);
/* Map the segment of a peer that has described itself. */
bool dm_shm_cm_meet(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd);

#endif
