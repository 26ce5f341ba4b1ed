/*
 * The shared-memory DAT provider: private state of one process.
 *
 * Locks: ia->lock guards everything but the fast paths of posting and
 * dequeuing. On the thread-safe line an endpoint's post_lock or recv_lock is
 * taken before it. The progress thread holds ia->lock while it works and waits
 * for nothing else than a peer's busy word, which falls without any lock.
 *
 * ia_params, "key=value key=value":
 *   copy=auto    stores into mappable memory, else process_vm, else staged
 *   copy=cma     process_vm for everything (staged where it is refused)
 *   copy=staged  the target's helper thread copies everything
 *   segment=128m size of the control segment (address space, not memory)
 *   latency, bandwidth, request, register, register_page: a modelled network (model.h)
 */
#ifndef DM_PROVIDERS_SHM_SHM_H
#define DM_PROVIDERS_SHM_SHM_H

#include <sys/socket.h>
#include <sys/un.h>

#include "providers/common/common.h"
#include "providers/shm/copy_inl.h"
#include "providers/shm/model.h"
#include "providers/shm/seg.h"

enum dm_shm_copy { DM_COPY_AUTO, DM_COPY_CMA, DM_COPY_STAGED };

/* Anything the progress thread polls; first member. */
enum dm_shm_src_kind { DM_SRC_KICK, DM_SRC_LISTEN, DM_SRC_CONN, DM_SRC_PEER };
struct dm_shm_src {
    enum dm_shm_src_kind kind;
    int fd;
    bool is_dead;
    struct dm_list link; /* in ia->srcs, or in ia->graves */
};

struct dm_shm_ia {
    struct dm_pia pia;
    struct dm_shm_seg seg;
    enum dm_shm_copy copy;
    struct dm_shm_model model;
    uint64_t last_serial;
    struct dm_list free_keys; /* struct dm_shm_free_key */
    uint32_t n_free_keys;
    uint32_t n_keys_used; /* entries of the table used so far */
    struct dm_list peers;
    struct dm_list srcs;
    struct dm_list graves; /* dead sources, freed by the progress thread */
    int n_embryos;         /* accepted sockets without a request so far */
    bool is_short_told;    /* that this process is short of address space, */
    bool is_files_told;    /* or of descriptors */
    uint32_t last_owner;
    int epoll_fd;
    struct dm_shm_src kick;
    bool is_stopping;
    _Atomic bool has_agents;
};

/* A region of a peer that is mapped here. */
struct dm_shm_map {
    struct dm_shm_map *next;
    uint64_t serial;
    char *base;  /* NULL: cannot be mapped, use another way */
    size_t len;  /* of the mapping */
    char *data;  /* where the region begins */
    uint64_t va; /* and where in its owner */
    uint64_t region_len;
};

enum { DM_SHM_MAP_BUCKETS = 64 };

struct dm_shm_peer;

/* The process of a peer; readable when it has ended. */
struct dm_shm_death {
    struct dm_shm_src src;
    struct dm_shm_peer *peer;
};

/* Another instance, possibly of this process, whose segment is mapped here. Its
 * contents are the peer's: see msg.h for what is believed. */
struct dm_shm_peer {
    struct dm_list link;
    int n_refs; /* connections and endpoints */
    uint64_t id;
    pid_t pid;
    struct dm_shm_hdr *hdr;
    size_t size;
    bool can_cma;
    struct dm_shm_death *death; /* NULL: only its sockets tell */
    struct dm_shm_map *maps[DM_SHM_MAP_BUCKETS];
};

/* Does the segment have these bytes? */
static inline bool dm_shm_peer_has(const struct dm_shm_peer *peer, uint64_t offset, uint64_t len)
{
    return offset <= peer->size && len <= peer->size - offset;
}

enum dm_shm_conn_state {
    DM_CONN_WAIT,     /* for another common connect */
    DM_CONN_RETRY,    /* the listener's backlog was full */
    DM_CONN_ASKED,    /* request sent, no answer yet */
    DM_CONN_EMBRYO,   /* accepted a socket, no request yet */
    DM_CONN_CR,       /* request given to the consumer */
    DM_CONN_ACCEPTED, /* answered, no confirmation yet */
    DM_CONN_UP,
    DM_CONN_DYING, /* over, but the peer is in the middle of a transfer */
};

struct dm_shm_out; /* a message that waits for room in the socket */

/* The name of a listening socket. */
struct dm_shm_name {
    socklen_t len;
    struct sockaddr_un addr;
};

struct dm_shm_conn {
    struct dm_shm_src src;
    struct dm_shm_ia *ia;
    enum dm_shm_conn_state state;
    struct dm_shm_ep *ep;
    struct dm_sp *sp;
    struct dm_cr *cr;
    struct dm_shm_peer *peer;
    uint64_t peer_ep;    /* offset of its struct dm_shm_link_ep */
    uint32_t owner;      /* how the peer signs events in our rings */
    uint32_t peer_owner; /* how we sign in its rings */
    uint64_t deadline;
    bool is_peer_gone;
    bool was_up;   /* established */
    bool is_stuck; /* the peer has been in one transfer for very long */
    bool has_out;  /* polling for room */
    uint32_t n_out;
    struct dm_list out;
    DAT_EVENT_NUMBER last_event; /* of a dying one */
    uint8_t *request;            /* private data; the request may go elsewhere */
    DAT_COUNT request_len;
    uint16_t n_moves;               /* to other listeners */
    bool is_common;                 /* by dm_shm_ep_common_connect() */
    struct dm_shm_name to;          /* whom we ask */
    struct dm_shm_listener *waiter; /* of DM_CONN_WAIT */
    struct dm_shm_conn *host;       /* of an embryo: who waits for it */
};

struct dm_shm_listener {
    struct dm_shm_src src;
    struct dm_sp *sp;         /* or... */
    struct dm_shm_conn *host; /* ...who waits for a common connect */
    uint64_t paused;          /* out of descriptors: until then; 0: not */
};

struct dm_shm_lmr {
    struct dm_lmr lmr;
    int fd; /* a descriptor of its memory for peers, -1: none */
    uint64_t fd_offset;
    bool is_exported; /* some peer has the descriptor */
    uint64_t serial;  /* of the key, when it is hidden */
};

/* A shared receive queue. */
struct dm_shm_srq {
    struct dm_srq srq;
    struct dm_shm_link_srq *sh;
    char *descs;
    _Atomic uint64_t *order;
    uint32_t cursor; /* the next descriptor to try */
    uint64_t tail;
};

/* A remote region found before, valid while the entry has this serial. */
struct dm_shm_found {
    DM_ALIGNED(64) uint32_t key;
    uint32_t priv;
    uint64_t serial;
    const struct dm_shm_key *entry;
    uint64_t va;
    uint64_t len;
    char *data;    /* where va is mapped here; NULL: not mapped */
    uint64_t addr; /* where va is in the peer */
};

enum { DM_SHM_FOUND_N = 16 };

struct dm_shm_op {
    struct dm_dto dto;
    struct dm_list link;
    bool is_invalidated; /* SEND_INVALIDATE: the peer has ended the context */
    uint64_t due;        /* of a modelled network: not before; else 0 */
    /* Staged transfer. */
    bool is_copied; /* a send, the receive is still to be completed */
    DAT_DTO_COMPLETION_STATUS recv_status;
    uint64_t done;
    uint32_t chunk;         /* bytes under way */
    DAT_LMR_TRIPLET copy[]; /* of seg, when queued */
};

#define DM_SHM_RECV_WORDS                                                                          \
    ((sizeof(struct dm_shm_recv) + DM_IOV_MAX * sizeof(DAT_LMR_TRIPLET)) / sizeof(uint64_t))

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
    struct dm_shm_link_srq *peer_srq; /* where the peer's receives are, or NULL */
    char *peer_recvs;                 /* else here; checked when we connected */
    uint32_t peer_recv_mask;
    uint32_t peer_recv_stride;
    uint32_t peer_recv_iov;        /* more segments than that are a lie */
    const struct dm_shm_key *keys; /* our table */
    uint64_t busy;
    uint32_t n_signalled;        /* completions by the poster... */
    uint32_t n_signalled_locked; /* ...and by others, under ia->lock */
    struct dm_shm_found found[DM_SHM_FOUND_N];
    struct dm_shm_bulk bulk;
    char *last_end; /* of the last short write into mapped memory */
    /* Receives. */
    uint32_t n_recv_posted;
    uint32_t recv_tail;
    char *recvs;
    /* The rest. */
    struct dm_shm_conn *conn;
    struct dm_shm_peer *peer;
    uint32_t peer_owner;
    struct dm_shm_srq *srq; /* ep.srq */
    bool is_mark_due;       /* a watermark of the peer has fired, it is to be told */
    bool has_taken;         /* a shared receive for the request at the head */
    uint32_t taken_idx;
    uint64_t taken_pos;
    uint64_t taken[DM_SHM_RECV_WORDS]; /* copy of it, a struct dm_shm_recv */
    uint32_t peer_only;                /* how the peer names its endpoint in an RMR's entry */
    struct dm_list queue;              /* requests that have to wait */
    uint32_t n_queued;
    bool is_map_asked;
    uint64_t map_serial; /* for which region */
    bool is_stage_busy;
    char *stage; /* buffer in our segment */
    uint32_t stage_len;
};

static inline struct dm_shm_ia *dm_shm_ia_of(struct dm_shm_ep *ep)
{
    return (struct dm_shm_ia *)ep->ep.obj.ia;
}

/* progress.c; all but start, stop and kick want ia->lock held. */
bool dm_shm_progress_start(struct dm_shm_ia *ia);
void dm_shm_progress_stop(struct dm_shm_ia *ia);
void dm_shm_kick(struct dm_pia *pia);
bool dm_shm_src_add(struct dm_shm_ia *ia, struct dm_shm_src *src);
/* Give it another descriptor, which is not polled; the old one is closed. */
void dm_shm_src_replace(struct dm_shm_ia *ia, struct dm_shm_src *src, int fd);
/* Poll a source for these events from now on. */
void dm_shm_src_poll(struct dm_shm_ia *ia, struct dm_shm_src *src, uint32_t events);
/* Stop polling it, close its descriptor; its memory is freed later. */
void dm_shm_src_bury(struct dm_shm_ia *ia, struct dm_shm_src *src);

/* peer.c; ia->lock is held. */
/* sock: the connection to it. NULL: it is no segment, or no memory. */
struct dm_shm_peer *dm_shm_peer_get(struct dm_shm_ia *ia, int sock, int fd, uint64_t id, pid_t pid);
void dm_shm_peer_hold(struct dm_shm_peer *peer);
void dm_shm_peer_put(struct dm_shm_ia *ia, struct dm_shm_peer *peer);
struct dm_shm_map *dm_shm_peer_map_find(struct dm_shm_peer *peer, uint64_t serial);
/* Can this be one of its endpoints (struct dm_shm_link_ep), with a queue of
 * receives that lies in the segment? */
bool dm_shm_peer_ep_ok(const struct dm_shm_peer *peer, uint64_t offset);
/* The same of a shared receive queue, whose parts may move. */
bool dm_shm_peer_srq_ok(const struct dm_shm_peer *peer, const struct dm_shm_link_srq *srq);
/* An event ring in the peer's segment; NULL if there is none at this offset. */
struct dm_evd_ring *dm_shm_peer_ring(const struct dm_shm_peer *peer, uint64_t offset);
/* Map len bytes of fd at offset, which the owner has at va; fd < 0 notes that
 * it cannot be mapped. */
void dm_shm_peer_map_add(struct dm_shm_peer *peer, uint64_t serial, int fd, uint64_t offset,
                         uint64_t len, uint64_t va);
void dm_shm_peer_map_del(struct dm_shm_peer *peer, uint64_t serial);
/* Wait until the peer of this endpoint (or of all, if NULL) is not in the
 * middle of an operation that began before the call. False: a peer has been in
 * it for seconds, as it was stopped; it may still write to our memory. */
bool dm_shm_quiesce(struct dm_shm_ia *ia, struct dm_shm_ep *ep);
/* The same for one peer, without patience. */
bool dm_shm_is_quiet(struct dm_shm_ep *ep);

/* lmr.c */
struct dm_shm_lmr *dm_shm_lmr_find(struct dm_shm_ia *ia, uint32_t key);

/* ep.c; the internal ones want ia->lock held. */
bool dm_shm_evd_moved(struct dm_pia *ia, struct dm_evd *evd, bool is_before);
/* Connect the endpoint's fast path with a peer's endpoint. */
void dm_shm_ep_attach(struct dm_shm_ep *ep, struct dm_shm_conn *conn);
void dm_shm_ep_established(struct dm_shm_ep *ep);
/* Passive side: established, if the peer has said so in our segment. */
void dm_shm_ep_check_up(struct dm_shm_ep *ep);
/* End a connection: flush everything, then the event (0: none). The message
 * (enum dm_shm_msg_type) tells the peer, DM_MSG_NONE if it knows or is gone. */
void dm_shm_ep_down(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event, uint32_t msg);
/* That has to wait while the peer is in the middle of a transfer: then the
 * connection is DM_CONN_DYING. Try to go on; true if it is still there. */
bool dm_shm_ep_dying(struct dm_shm_ep *ep);

/* recv.c; ia->lock is held. */
/* Make the receive queue for the attributes; false when out of memory. */
bool dm_shm_recvs_alloc(struct dm_shm_ep *ep);
/* Complete what is posted as flushed. */
void dm_shm_ep_flush_recvs(struct dm_shm_ep *ep);
/* The peer, which signs as owner, has died: if it had taken a receive and not
 * reported it, complete that as flushed. Before its claims are buried. */
void dm_shm_recv_recover(struct dm_shm_ep *ep, uint32_t owner);
/* From now on notes of the peer are about the endpoint's present event ring. */
void dm_shm_recv_renote(struct dm_shm_ep *ep);

/* srq.c; ia->lock is held. */
/* Tell the peers of all its endpoints who wait for a receive. */
void dm_shm_srq_poke(struct dm_shm_srq *srq);
/* Complete as flushed the receives that the peer of this endpoint has claimed
 * and will not complete; it is not in the middle of an operation. */
void dm_shm_srq_reclaim(struct dm_shm_ep *ep, uint32_t owner);
/* Raise the events of watermarks that have fired. */
void dm_shm_marks_check(struct dm_shm_ep *ep);
/* Arm what the attributes of a new endpoint ask for. */
void dm_shm_ep_marks_init(struct dm_shm_ep *ep);

/* cm.c and cm_passive.c */
/* What this process is short of looks to its peers as if nobody were there: say so once. */
void dm_shm_no_descriptor(struct dm_shm_ia *ia);
/* Events of the progress thread. */
void dm_shm_listener_ready(struct dm_shm_ia *ia, struct dm_shm_listener *listener);
void dm_shm_conn_ready(struct dm_shm_conn *conn, uint32_t events);
/* The process of a peer has ended; what it said before still counts. */
void dm_shm_peer_died(struct dm_shm_ia *ia, struct dm_shm_peer *peer);
void dm_shm_conn_timeout(struct dm_shm_conn *conn);
struct dm_shm_conn *dm_shm_conn_new(struct dm_shm_ia *ia, int fd, enum dm_shm_conn_state state);
/* Forget a connection: close it, drop its peer, unlink it from its endpoint. */
void dm_shm_conn_close(struct dm_shm_conn *conn);
/* Forget the embryos of a service point or of who waits. */
void dm_shm_embryos_close(struct dm_shm_ia *ia, const struct dm_sp *sp,
                          const struct dm_shm_conn *host);
/* A request has arrived / the socket of an unfinished connection closed. */
struct dm_shm_msg;
void dm_shm_conn_request(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd);
void dm_shm_conn_lost(struct dm_shm_conn *conn);
/* The answer to our request. */
void dm_shm_conn_answer(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd);
/* When dm_shm_conn_timeout() has to be called, ns of CLOCK_MONOTONIC. */
uint64_t dm_shm_conn_due(const struct dm_shm_conn *conn);

/* rdma.c */
/* Go on with what is queued; ia->lock is held. */
void dm_shm_drain(struct dm_shm_ep *ep);
/* Complete everything queued as flushed; ia->lock is held. */
void dm_shm_flush_queue(struct dm_shm_ep *ep);
/* Allow the fast paths, or not, after a change of state or queue. */
void dm_shm_ep_set_sync(struct dm_shm_ep *ep);

#endif
