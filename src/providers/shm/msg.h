/*
 * Messages between the progress threads of two instances, one SOCK_SEQPACKET
 * socket per connection. Never lost, never blocking: what does not fit into
 * the socket waits in the connection's queue. A peer that does not read until
 * the queue is full loses the connection.
 *
 * What is believed. The socket tells the peer's user and process; processes of
 * other users are refused. Nothing that comes over the socket is believed: any
 * bytes, with any descriptors, in any order end their connection at worst. The
 * peer's segment must be sealed against shrinking, and every offset, size and
 * count in it is checked when it is used. A peer that we are connected with
 * has our own segment mapped, as we have its, and the files behind regions
 * that it registered for sharing: that it changes what was just checked, or
 * truncates such a file, is not defended against (a process of the same user
 * could use ptrace as well).
 */
#ifndef DM_PROVIDERS_SHM_MSG_H
#define DM_PROVIDERS_SHM_MSG_H

#include "providers/shm/shm.h"

enum dm_shm_msg_type {
    DM_MSG_NONE,
    DM_MSG_REQUEST,    /* connect: with the segment's fd and private data */
    DM_MSG_ACCEPT,     /* same, the answer */
    DM_MSG_REJECT,     /* status 1: by the consumer; with private data */
    DM_MSG_CONFIRM,    /* active side has seen the acceptance */
    DM_MSG_BYE,        /* orderly disconnect */
    DM_MSG_BROKEN,     /* disconnect after an error that the sender detected */
    DM_MSG_POKE,       /* look again: receives were posted, or an agent must run */
    DM_MSG_MAP,        /* want to map region serial, key */
    DM_MSG_MAP_FD,     /* answer, with fd if status is 1 */
    DM_MSG_UNMAP,      /* region serial is gone */
    DM_MSG_STAGE,      /* copy between my staging buffer and your memory */
    DM_MSG_STAGED,     /* done, status 0; else a DAT_DTO_COMPLETION_STATUS; also
                      * the answer to ATOMIC (the old value in size) and INVALIDATE */
    DM_MSG_OVERFLOW,   /* your event ring was full */
    DM_MSG_ATOMIC,     /* status: what to do to the word at key, va */
    DM_MSG_INVALIDATE, /* take the context key away */
    DM_MSG_HANDOFF,    /* answer to a request: ask at service point qual */
    DM_MSG_UNHEARD,    /* CONFIRM, but your event ring for connections was full */
};

enum { DM_MSG_QUEUE_MAX = 4096, DM_MSG_FD_LOST = -2 };

enum { DM_STAGE_READ = 1, DM_STAGE_LOCAL_KEY = 2 };

struct dm_shm_msg {
    uint32_t type;
    uint32_t status; /* also: STAGE's DM_STAGE_* */
    uint32_t key;
    uint32_t len; /* STAGE: bytes to copy */
    uint64_t id;  /* segment */
    uint64_t ep;  /* offset of the sender's struct dm_shm_link_ep */
    uint64_t qual;
    uint64_t serial;
    uint64_t va;
    uint64_t offset;
    uint64_t size;
    uint32_t owner;
    uint32_t version;
    uint32_t data_len;
    uint32_t addr; /* IPv4 of the sender, network order */
    uint8_t data[DM_PRIVATE_MAX];
};

/* Send, or queue; fd may be -1 and is duplicated if queued. ia->lock is held.
 * What cannot be sent because the peer is gone is dropped. */
void dm_shm_msg_send(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd);
void dm_shm_msg_simple(struct dm_shm_conn *conn, enum dm_shm_msg_type type);
/* Send queued messages as far as there is room. */
void dm_shm_msg_flush(struct dm_shm_conn *conn);
void dm_shm_msg_drop_queue(struct dm_shm_conn *conn);
/* Receive one: 1 and *fd_p (or -1; DM_MSG_FD_LOST: there was no place for it), 0 nothing there, -1 the
 * peer has closed. */
int dm_shm_msg_recv(int sock, struct dm_shm_msg *msg, int *fd_p);
/* Handle a STAGE request in the target. */
void dm_shm_stage_serve(struct dm_shm_conn *conn, const struct dm_shm_msg *msg);
/* Carry out an ATOMIC or INVALIDATE request in the target. */
void dm_shm_atomic_serve(struct dm_shm_conn *conn, const struct dm_shm_msg *msg);
void dm_shm_invalidate_serve(struct dm_shm_conn *conn, const struct dm_shm_msg *msg);
/* An answer to one of ours. */
void dm_shm_stage_answer(struct dm_shm_ep *ep, const struct dm_shm_msg *msg);

#endif
