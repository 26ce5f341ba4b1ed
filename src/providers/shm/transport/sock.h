/*
 * Sockets of the abstract name space, which the processes of a network namespace share: names, and
 * messages on them. Nothing is left behind by a process that dies.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_SOCK_H
#define DM_PROVIDERS_SHM_TRANSPORT_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "providers/common/common.h"

struct dm_shm_ctrl;

/* The name of a socket. */
struct dm_shm_name {
    socklen_t len;
    struct sockaddr_un addr;
};

/* The name where a connection qualifier is listened to... */
void dm_shm_sock_name(DAT_CONN_QUAL qual, struct dm_shm_name *name);
/* ...of a port in a communicator... */
void dm_shm_sock_common_name(const DAT_COMM *comm, uint16_t port, struct dm_shm_name *name);
/* ...and of the doorbell of an instance. */
void dm_shm_sock_doorbell_name(uint64_t id, struct dm_shm_name *name);

/* A socket that listens there: SOCK_SEQPACKET, one connection for each handshake. */
DAT_RETURN dm_shm_sock_listen(const struct dm_shm_name *name, int *fd_p);
/* A doorbell: SOCK_DGRAM, its messages tell who sent them. -1 and errno. */
int dm_shm_sock_doorbell(const struct dm_shm_name *name);
/* Is there such a socket now (SOCK_SEQPACKET or SOCK_DGRAM)? Without a descriptor for asking: yes. */
bool dm_shm_sock_is_there(const struct dm_shm_name *name, int type);
/* May this user's instance share memory with the process at the other end of a handshake? */
bool dm_shm_sock_is_trusted(int fd, uid_t own, pid_t *pid_p);
bool dm_shm_sock_is_uid_trusted(uid_t uid, uid_t own);

enum { DM_SOCK_FD_LOST = -2 };

/* Send a message, with a descriptor if fd >= 0, to a doorbell or, if to is NULL, to the other end.
 * 1: sent, 0: no space, -1: the other side is gone. */
int dm_shm_sock_send(int sock, const struct dm_shm_name *to, const struct dm_shm_ctrl *msg, int fd);
/* Receive a message. 1 and *fd_p (or -1; DM_SOCK_FD_LOST: there was no place for it), 0: nothing
 * is there, -1: closed, or not one of ours. A doorbell's: and *from_p, if that is not NULL. */
int dm_shm_sock_recv(int sock, struct dm_shm_ctrl *msg, int *fd_p, struct ucred *from_p);

#endif
