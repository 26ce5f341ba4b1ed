/*
 * Control rings: how the two sides of an established connection tell each other what their event
 * rings cannot show, without a descriptor for each connection.
 *
 * A control message is written into a slot of the receiver's endpoint, in its segment, where the peer
 * alone writes. The receiver's doorbell, a socket that all connections of its instance share, gets a
 * notification if it had read everything before. When that socket is full its owner is awake, and
 * finds a word that says that it has to look at all connections.
 *
 * Invariant: messages are written while the own endpoint's ctrl_busy is odd and the peer's link is
 * up. So none comes after the peer has taken its link down and waited for that word (quiesce.h).
 *
 * ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_CTRL_RING_H
#define DM_PROVIDERS_SHM_TRANSPORT_CTRL_RING_H

#include "providers/shm/progress.h"
#include "util/hash.h"

struct dm_shm_conn;
struct dm_shm_ctrl;

struct dm_shm_doorbell {
    struct dm_shm_src src;
    uid_t uid;            /* who has opened the instance */
    uint64_t last_id;     /* of a connection */
    struct dm_hash conns; /* struct dm_shm_conn by id */
    bool has_unrung;      /* doorbells of peers are to be rung once more */
    uint32_t swept;       /* slots of the inbox that have been looked at, see inbox.h */
};

/* False: no descriptor, or no entropy. */
bool dm_shm_doorbell_open(struct dm_shm_ia *ia);
/* Nobody can ring it any more; it still serves to send. */
void dm_shm_doorbell_leave(struct dm_shm_ia *ia);
void dm_shm_doorbell_close(struct dm_shm_ia *ia);
/* Notifications have come, or messages with descriptors. */
void dm_shm_doorbell_ready(struct dm_shm_ia *ia);
/* Look at all connections, if a notification found no space. */
void dm_shm_doorbell_look(struct dm_shm_ia *ia);
/* Never used before in this instance, hard to guess, never 0. */
uint64_t dm_shm_doorbell_new_id(struct dm_shm_ia *ia);

/* The connection begins: the ring is empty. */
void dm_shm_ctrl_ring_clear(struct dm_shm_conn *conn);
/* Write a message. 1: done, or the peer has gone down, 0: no space; the last one has it always. */
int dm_shm_ctrl_ring_write(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, bool is_last);
/* The same with a descriptor, through the peer's doorbell. */
int dm_shm_ctrl_ring_send_fd(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg, int fd);
/* Read the next message. 1: there was one, 0: none, -1: the peer has spoilt the ring. */
int dm_shm_ctrl_ring_read(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg);

#endif
