/*
 * Endpoints: what a post needs, and the beginning and end of a connection.
 */
#ifndef DM_PROVIDERS_SHM_EP_H
#define DM_PROVIDERS_SHM_EP_H

#include "providers/shm/ia.h"
#include "providers/shm/rkey.h"
#include "providers/shm/transport/copy.h"

struct dm_shm_conn;
struct dm_shm_srq;

/* Where the peer's receives are: in a shared queue, or in a queue of its endpoint; the latter has
 * been checked when we connected. */
struct dm_shm_peer_recvs {
    struct dm_shm_link_srq *srq; /* NULL: its own queue, with these */
    char *descs;
    uint32_t mask;
    uint32_t stride;
    uint32_t max_iov; /* more segments in one are malformed */
};

/* The endpoint's own queue of receives, in our segment. */
struct dm_shm_recv_queue {
    uint32_t n_posted; /* of all kinds */
    uint32_t tail;
    char *mem; /* NULL: none */
};

#define DM_SHM_RECV_WORDS                                                                          \
    ((sizeof(struct dm_shm_recv) + DM_IOV_MAX * sizeof(DAT_LMR_TRIPLET)) / sizeof(uint64_t))

/* A receive of the peer's shared queue, claimed for the request at the head of ours. */
struct dm_shm_srq_claim {
    bool is_held;
    uint32_t idx;
    uint64_t pos;
    uint64_t recv[DM_SHM_RECV_WORDS]; /* copy of it, a struct dm_shm_recv */
};

/* A request for the descriptor of a region, so that it can be mapped. */
struct dm_shm_map_request {
    bool is_open;
    uint64_t serial; /* for which region */
};

/* The buffer of staged transfers. */
struct dm_shm_stage {
    bool is_busy; /* the request at the head waits for the target */
    uint32_t len;
    char *buf; /* in our segment */
};

struct dm_shm_ep {
    struct dm_ep ep;
    /* Read by every post. */
    DM_ALIGNED(64) _Atomic bool is_fast; /* is_sync, and needs neither lock nor fence */
    _Atomic bool is_sync;                /* connected, nothing queued */
    bool need_fence;
    uint32_t pz_id;
    pid_t pid;
    const _Atomic pid_t *alive; /* != pid in a forked child */
    struct dm_shm_link_ep *sh;
    struct dm_shm_link_ep *peer_sh;
    uint64_t peer_up; /* its link word while we are connected */
    struct dm_shm_peer_recvs peer_recv;
    const struct dm_shm_key *keys; /* our table */
    uint64_t busy;
    uint32_t n_signalled;        /* completions by the poster... */
    uint32_t n_signalled_locked; /* ...and by others, under ia->lock */
    struct dm_shm_rkey rkeys[DM_SHM_RKEYS];
    struct dm_shm_bulk bulk;
    char *last_end; /* of the last short write into mapped memory */
    struct dm_shm_recv_queue recv;
    /* The rest. */
    struct dm_shm_conn *conn;
    struct dm_shm_peer *peer;
    uint32_t peer_owner;
    uint32_t peer_only;     /* how the peer names its endpoint in an RMR's entry */
    struct dm_shm_srq *srq; /* ep.srq */
    bool is_mark_due;       /* a watermark of the peer has fired, it is to be reported */
    struct dm_shm_srq_claim claim;
    struct dm_list queue; /* requests that have to wait */
    uint32_t n_queued;
    struct dm_shm_map_request map_req;
    struct dm_shm_stage stage;
};

static inline struct dm_shm_ia *dm_shm_ia_of(struct dm_shm_ep *ep)
{
    return (struct dm_shm_ia *)ep->ep.obj.ia;
}

/* ia->lock is held in all functions. */

/* Connect the endpoint's fast path with a peer's endpoint. */
void dm_shm_ep_attach(struct dm_shm_ep *ep, struct dm_shm_conn *conn);
void dm_shm_ep_established(struct dm_shm_ep *ep);
/* Passive side: established, if the peer has confirmed it in our segment. */
void dm_shm_ep_check_up(struct dm_shm_ep *ep);
/* End a connection: flush everything, then the event (0: none). The message
 * (enum dm_shm_ctrl_type) goes to the peer, DM_CTRL_NONE: it knows or is gone. */
void dm_shm_ep_down(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event, uint32_t msg);
/* That has to wait while the peer is in the middle of a transfer: then the
 * connection is DM_CONN_QUIESCING. Try to go on; true if it still has to wait. */
bool dm_shm_ep_down_retry(struct dm_shm_ep *ep);

#endif
