/*
 * Connections and listeners. A connection that is not near has a socket while the two sides shake
 * hands; what they say later goes through control rings. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_SHM_CONN_H
#define DM_PROVIDERS_SHM_CONN_H

#include "providers/shm/ep.h"
#include "providers/shm/transport/sock.h"

struct dm_shm_ctrl;
struct dm_shm_peer;

enum dm_shm_conn_state {
    DM_CONN_CSP_WAIT,  /* for another common connect */
    DM_CONN_RETRY,     /* the listener's backlog was full */
    DM_CONN_REQUESTED, /* request sent, no answer yet */
    DM_CONN_HALF_OPEN, /* accepted a socket, no request yet */
    DM_CONN_CR,        /* request given to the consumer */
    DM_CONN_ACCEPTED,  /* answered, no confirmation yet */
    DM_CONN_UP,
    DM_CONN_QUIESCING, /* over, but the peer is in the middle of a transfer */
};

struct dm_shm_listener {
    struct dm_shm_src src;
    struct dm_sp *sp;               /* or... */
    struct dm_shm_conn *csp_waiter; /* ...a common connect that waits here */
    uint64_t paused;                /* out of descriptors: until then; 0: not */
};

/* What the active side needs to try again: the request may be redirected. */
struct dm_shm_active {
    struct dm_shm_name to;
    uint8_t *request; /* private data; malloc */
    DAT_COUNT request_len;
    uint16_t n_redirects;
    bool is_common;     /* by dm_shm_ep_common_connect() */
    DAT_CONN_QUAL qual; /* otherwise */
};

/* Control messages that wait for space, see ctrl.c. */
struct dm_shm_ctrl_queue {
    struct dm_list list;
    uint32_t n;
};

struct dm_shm_conn {
    struct dm_shm_src src;
    struct dm_shm_ia *ia;
    enum dm_shm_conn_state state;
    struct dm_sp *sp; /* of a request */
    struct dm_cr *cr;
    struct dm_shm_ep *ep;
    struct dm_shm_peer *peer;
    pid_t pid;           /* of the process at the other end, 0: not known yet */
    uint64_t id;         /* how the peer names it */
    uint64_t peer_id;    /* how we name it to the peer */
    uint64_t peer_ep;    /* offset of its struct dm_shm_link_ep */
    uint32_t owner;      /* how the peer signs events in our rings */
    uint32_t peer_owner; /* how we sign in its rings */
    uint64_t deadline;
    bool is_near;      /* shakes hands through inboxes, without a socket */
    uint32_t reply;    /* the slot for the answer to the request, in the inbox of who asks */
    bool is_peer_gone; /* has died, or has hung up without being connected */
    bool was_up;       /* established */
    bool is_aborted;   /* the peer has not read for too long; the thread ends it */
    bool is_stuck;     /* the peer has been in one transfer for very long */
    DAT_EVENT_NUMBER last_event; /* of a quiescing one */
    struct dm_shm_ctrl_queue out;
    struct dm_shm_active active;
    struct dm_shm_listener *csp_listener; /* of DM_CONN_CSP_WAIT */
    struct dm_shm_conn *csp_waiter;       /* of a half-open one: the common connect it came to */
};

/* fd is taken over. NULL: out of memory. */
struct dm_shm_conn *dm_shm_conn_new(struct dm_shm_ia *ia, int fd, enum dm_shm_conn_state state);
/* Close it, drop its peer, unlink it from its endpoint; freed later. */
void dm_shm_conn_close(struct dm_shm_conn *conn);
/* Close the half-open connections of a service point or of a waiting common connect. */
void dm_shm_half_open_close(struct dm_shm_ia *ia, const struct dm_sp *sp,
                            const struct dm_shm_conn *csp_waiter);
/* Fill in what the peer must know of our segment and endpoint. */
void dm_shm_conn_describe(const struct dm_shm_conn *conn, struct dm_shm_ctrl *msg);
/* Map the segment of a peer that has described itself. False: it is not trusted, or malformed. */
bool dm_shm_conn_peer_set(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd);
/* The socket is readable. */
void dm_shm_conn_ready(struct dm_shm_conn *conn);
/* Somebody has notified us of it: look for control messages, and for space for ours. */
void dm_shm_conn_look(struct dm_shm_conn *conn);
/* A message of its handshake has come into our inbox. */
void dm_shm_conn_answered(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg);
/* A control message with a descriptor has come for it. */
void dm_shm_conn_hear(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd);
/* The peer has died, or given up, or broken the rules. */
void dm_shm_conn_lost(struct dm_shm_conn *conn);

#endif
