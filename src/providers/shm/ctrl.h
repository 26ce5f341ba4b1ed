/*
 * Control messages of a connection (wire.h). ia->lock is held.
 *
 * Until a connection is established they go over its socket, then through the peer's control ring.
 * Never lost, never blocking: what finds no space waits in the connection's queue. A peer that does
 * not read until the queue is full loses the connection.
 */
#ifndef DM_PROVIDERS_SHM_CTRL_H
#define DM_PROVIDERS_SHM_CTRL_H

#include "providers/shm/conn.h"
#include "providers/shm/wire.h"

enum { DM_CTRL_QUEUE_MAX = 4096 };

/* Send, or queue; fd may be -1 and is duplicated if queued. May add the peer's name of the connection.
 * What cannot be sent because the peer is gone is dropped. */
void dm_shm_ctrl_send(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg, int fd);
/* The same with nothing but a type. */
void dm_shm_ctrl_send_type(struct dm_shm_conn *conn, enum dm_shm_ctrl_type type);
/* Send queued messages as long as there is space. */
void dm_shm_ctrl_flush(struct dm_shm_conn *conn);
/* Forget the queued ones. */
void dm_shm_ctrl_drop(struct dm_shm_conn *conn);
/* Do what a message of an established connection asks for. */
void dm_shm_ctrl_arrived(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd);

#endif
