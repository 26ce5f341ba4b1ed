/*
 * Inside point-to-point: requests, packets, unexpected messages, the state.
 *
 * Protocols. Eager: envelope and data in one packet. Eager-sync: the same, and an ACK when
 * matched. Rendezvous: RTS with envelope, length, what the sender offers, and its first bytes if
 * DATUM_RNDV_INLINE says so. Read: the RTS has the buffer's key; the receiver reads by RDMA and sends FIN. Write: the CTS
 * has the key of the receiver's buffer; the sender writes by RDMA and sends FIN, or the write carries a value
 * that the CTS has named. Otherwise, or if a buffer cannot be registered: the receiver asks with a bare CTS and gets DATA packets
 * through the pipe straight into its buffer. FIN also says that nothing is wanted.
 * CANCEL asks for a message that may be unmatched to be forgotten, CANCEL_ACK says whether it was.
 * FLOW says whether everything has to be a rendezvous (flow.c).
 */
#ifndef DM_MPI_PT2PT_P2P_H
#define DM_MPI_PT2PT_P2P_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/pt2pt/match.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/list.h"
#include "util/pool.h"
#include "util/port.h"

_Static_assert(DM_MATCH_ANY_SOURCE == MPI_ANY_SOURCE, "matching knows MPI's wildcards");
_Static_assert(DM_MATCH_ANY_TAG == MPI_ANY_TAG, "matching knows MPI's wildcards");

/* ---- packets ---- */

/* EAGER: 24 bytes, so that 8 bytes of data and a record's footer share its cache line. */
struct dm_pkt_eager {
    struct dm_pkt pkt;
    struct dm_mkey key; /* source: rank of the sender in its group */
    uint32_t id;        /* of the message, for CANCEL; 0: cannot be cancelled */
};

/* EAGER_SYNC, RTS (with struct dm_p2p_rts as payload) */
struct dm_pkt_sync {
    struct dm_pkt pkt;
    struct dm_mkey key;
    uint32_t id;
    uint64_t sreq; /* the sender's request: comes back in ACK, CTS, FIN */
};

struct dm_p2p_rts {
    uint64_t len;
    uint64_t addr;
    struct dm_rkey key;
    uint32_t how;       /* a value of DATUM_RNDV; read: addr and key are good for it */
    uint32_t first_len; /* bytes of the message that follow in the packet */
};

/* Payload of a CTS that is not for the pipe: where to write to. */
struct dm_p2p_cts {
    uint64_t addr;
    struct dm_rkey key;
    uint32_t has_imm; /* the write carries this, and there is no FIN: */
    uint32_t imm;
};

/* ACK, FIN */
struct dm_pkt_answer {
    struct dm_pkt pkt;
    uint64_t sreq; /* FIN of the sender: the receiver's request */
};

struct dm_pkt_cancel {
    struct dm_pkt pkt;
    struct dm_mkey key;
    uint32_t id;
    uint64_t recall; /* comes back in CANCEL_ACK */
};

/* pkt.flags: type of the packet that was forgotten, 0: there was none */
struct dm_pkt_cancel_ack {
    struct dm_pkt pkt;
    uint64_t recall;
};

struct dm_pkt_cts {
    struct dm_pkt pkt;
    uint64_t sreq;
    uint64_t rreq;
    uint64_t want; /* bytes, from the front */
};

struct dm_pkt_data {
    struct dm_pkt pkt;
    uint64_t rreq;
    uint64_t offset;
};

_Static_assert(sizeof(struct dm_pkt_eager) == 24, "packet layout");
_Static_assert(sizeof(struct dm_pkt_sync) == 32, "packet layout");
_Static_assert(sizeof(struct dm_p2p_rts) == 40, "packet layout");
_Static_assert(sizeof(struct dm_p2p_cts) == 32, "packet layout");
_Static_assert(sizeof(struct dm_pkt_answer) == 16, "packet layout");
_Static_assert(sizeof(struct dm_pkt_cancel) == 32, "packet layout");
_Static_assert(sizeof(struct dm_pkt_cancel_ack) == 16, "packet layout");
_Static_assert(sizeof(struct dm_pkt_cts) == 32, "packet layout");
_Static_assert(sizeof(struct dm_pkt_data) == 24, "packet layout");

/* ---- requests ---- */

struct dm_p2p_unexp;

/*
 * A send or a receive; on the stack of blocking calls, else from the pool. It holds
 * a reference of the operation (refs 2 at start), dropped when n_pending becomes 0.
 */
struct dm_p2p_req {
    struct dm_req req;
    struct dm_mnode node; /* receive: while posted; send: its key */
    uint32_t id;          /* of a sent message that can be cancelled, or 0 */
    char *addr;           /* contiguous data; NULL: use buf, count, type */
    size_t len;           /* bytes to send, or space */
    void *buf;
    size_t count;
    struct dm_type *type;
    int proc; /* the peer; -1: a receive from anybody, not matched yet */
    bool is_posted;
    bool is_active;    /* in dm_p2p.active: something of the peer is awaited */
    bool is_reading;   /* rdma is under way, or expected */
    bool is_piped;     /* ways: by the pipe, not by reading */
    bool is_counted;   /* in dm_p2p.n_sends */
    bool holds_refs;   /* of comm and type */
    bool is_recalling; /* MPI_Cancel was called for a send */
    bool is_listed;    /* in dm_p2p.recalled or dm_p2p.probed */
    struct dm_list active;
    size_t msg_len; /* of the message that came, which may be longer than len */
    size_t want;    /* bytes that rendezvous moves */
    size_t got;     /* of them, in or out so far */
    size_t base;    /* where the payload of the current DATA packet starts */
    uint64_t peer_req;
    struct dm_mr *mr;
    struct dm_rndv_select
        *ways; /* of a receive under way that is timed (dm_adapt_rndv_end), or NULL */
    struct dm_p2p_unexp *unexp; /* of a matched probe, or whose data are still coming */
    struct dm_p2p_req *inner;   /* buffered: the send proper, with a reference; else NULL */
    void (*on_over)(void *arg); /* dm_p2p_watch, or NULL */
    void *on_over_arg;
    union {
        struct dm_p2p_rts rts;
        struct dm_p2p_cts cts;
    } head;
    union {
        struct dm_chan_send send;
        struct dm_rdma rdma;
    } io;
};

/* A message without a receive. */
struct dm_p2p_unexp {
    struct dm_mnode nodes[DM_MATCH_KINDS]; /* the first has its key */
    struct dm_list arriving;               /* in dm_p2p.arriving while data are coming */
    int proc;
    uint32_t id;      /* of the sender's, or 0 */
    uint8_t type;     /* packet type */
    bool is_complete; /* all data are here */
    bool is_broken;   /* and never will be */
    uint8_t space;    /* of data elsewhere: class of size, DM_P2P_N_BUFFERS: of their own */
    size_t len;
    uint64_t sreq;
    struct dm_p2p_req *claimed; /* matched while data were coming */
    char *data;                 /* eager data, or the first of a rendezvous */
    union {
        struct dm_p2p_rts rts; /* of a rendezvous, whose first data are elsewhere */
        char small[64];
    };
};

/* A nonblocking send that was over at once and left no request (cancel.c). */
struct dm_p2p_sent {
    struct dm_mkey key;
    uint32_t id;
    int proc;
};
#define DM_P2P_N_SENT 1024 /* the last ones can be cancelled */

/* What DATUM_STATS tells: messages sent, and the packets that rendezvous took. */
struct dm_p2p_counts {
    uint64_t n_eager;
    uint64_t n_rts;
    uint64_t n_cts;
    uint64_t n_fin;
    uint64_t n_data;
};
/* A bound for what unexpected messages take (flow.c). */
struct dm_p2p_flow {
    size_t limit;    /* DATUM_UNEXPECTED */
    size_t held;     /* bytes that eager messages without a receive count here */
    size_t most;     /* that they ever were */
    int n_told;      /* processes that were told to ask first */
    int n_askers;    /* processes that told us to */
    uint8_t *peers;  /* by process, enum dm_p2p_flow_bit; NULL: all 0 */
    uint64_t n_tell; /* for DATUM_STATS: times that processes were told, */
    uint64_t n_late; /* and sends that asked instead of going at once */
};
enum dm_p2p_flow_bit { DM_FLOW_TOLD = 1, DM_FLOW_ASK = 2 };

/* Memory for the data of unexpected messages that is free, by size. */
#define DM_P2P_BUFFER_MIN  ((size_t)512)
#define DM_P2P_N_BUFFERS   8                 /* classes, each twice as long as the one before */
#define DM_P2P_BUFFERS_MAX ((size_t)2 << 20) /* bytes that are kept */
struct dm_p2p_buffer {
    struct dm_p2p_buffer *next;
};
struct dm_p2p_buffers {
    struct dm_p2p_buffer *free[DM_P2P_N_BUFFERS];
    size_t held;
};

/* The only global of point-to-point (start.c). */
struct dm_p2p {
    struct dm_match match;
    struct dm_pool reqs;
    struct dm_pool unexps;
    struct dm_p2p_buffers buffers;
    struct dm_list active;   /* requests that await something of a peer */
    struct dm_list arriving; /* unexpected messages whose data are coming */
    size_t eager_limit;      /* for any peer, */
    bool is_eager_by_peer;   /* and more for some of them */
    size_t eager_below;      /* no need to look further: eager_limit + 1, or 0 */
    struct dm_p2p_flow flow; /* how much may be kept here, and there */
    unsigned n_blocking;     /* MPI_Send so far */
    int n_lost;              /* peers */
    struct dm_p2p_counts counts;
    int n_sends;                            /* sends that nobody may be waiting for */
    uint32_t send_id;                       /* last given */
    struct dm_p2p_sent sent[DM_P2P_N_SENT]; /* by id */
    struct dm_list recalls;                 /* cancelled sends without an answer yet */
    struct dm_list recalled; /* requests that stand for handles of sends that were over */
    struct dm_list probed;   /* messages of matched probes that are not received yet */
    struct dm_list held;     /* what others ask in MPI_Finalize, until this process is there */
    bool is_leaving;         /* it is */
    /* MPI_Buffer_attach (bsend.c) */
    void *bsend_buf;
    size_t bsend_size;
    struct dm_list bsends; /* by address */
};
extern struct dm_p2p dm_p2p;

/* ---- req.c ---- */

/* Initialise a request on the stack. */
void dm_p2p_req_init(struct dm_p2p_req *r, enum dm_req_kind kind, struct dm_comm *comm, void *buf,
                     size_t count, struct dm_type *type);
/* One from the pool that holds references of comm and type; NULL: out of memory (reported). */
struct dm_p2p_req *dm_p2p_req_new(enum dm_req_kind kind, struct dm_comm *comm, void *buf,
                                  size_t count, struct dm_type *type);
/* For requests with operations of their own. */
int dm_p2p_cancel_recv(struct dm_req *req);
int dm_p2p_req_finish(struct dm_req *req, MPI_Status *status);
/* n_pending is 0: the operation is over. */
void dm_p2p_req_over(struct dm_p2p_req *r);
/* One of the things awaited has come, or failed: that is worse than a truncation. */
static inline void dm_p2p_req_step(struct dm_p2p_req *r, int err)
{
    if (dm_unlikely(err != DM_OK))
        r->req.err = err;
    if (--r->req.n_pending == 0)
        dm_p2p_req_over(r);
}
/* Something of r->proc is awaited: its loss ends the request. */
void dm_p2p_req_activate(struct dm_p2p_req *r);
/* Record why the request failed, for whoever reports it; returns its error. */
int dm_p2p_req_explain(const struct dm_p2p_req *r);
/* Record that a process is gone. */
int dm_p2p_fail_lost(int proc);
/* The library cannot go on. */
DM_NORETURN void dm_p2p_fatal(const char *what);

/* ---- send.c ---- */

/* The blocking and the nonblocking send; ctx is that of the messages. */
int dm_p2p_send_on(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                   struct dm_comm *comm, uint32_t ctx, enum dm_send_mode mode);
int dm_p2p_isend_on(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                    struct dm_comm *comm, uint32_t ctx, enum dm_send_mode mode,
                    struct dm_req **req_p);
/* If this is a queued eager message: ask first. */
void dm_p2p_send_ask(struct dm_chan_send *send);
/* Start a prepared request to r->proc under key. */
void dm_p2p_send_start(struct dm_p2p_req *r, const struct dm_mkey *key, enum dm_send_mode mode);
/* The same at once, without awaiting anything. DM_EAGAIN: nothing was done. */
int dm_p2p_send_now(struct dm_p2p_req *r, const struct dm_mkey *key, enum dm_send_mode mode);

/* The number of a message that can be cancelled. */
static inline uint32_t dm_p2p_next_id(void)
{
    /* never 0 */
    return dm_p2p.send_id += 1 + (dm_p2p.send_id == UINT32_MAX);
}

/* ---- flow.c ---- */

void dm_p2p_flow_start(void); /* after the limits are set */
void dm_p2p_flow_stop(void);
void dm_p2p_flow_lost(int proc);
/* The packet handler and the end of the second half below. */
void dm_p2p_flow_tell(int proc);
void dm_p2p_flow_release(void);
/* Must a message to this process ask first? */
bool dm_p2p_flow_asks(int proc);
/* Read what others have to say; for calls that send many times without ever waiting. */
void dm_p2p_flow_look(void);
enum { DM_FLOW_OFTEN = 64 }; /* once in so many sends */

/*
 * What an eager message counts: its data, and those of a short one always, without what is around them: a
 * request to send would take that as well, and programs that rely on buffers do so with short ones.
 */
static inline size_t dm_p2p_flow_cost(const struct dm_p2p_unexp *u)
{
    return sizeof(u->small) + (u->data != u->small ? u->len : 0);
}

/* An eager message is kept, and no longer. */
static inline void dm_p2p_flow_keep(const struct dm_p2p_unexp *u)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    f->held += dm_p2p_flow_cost(u);
    if (f->held > f->most)
        f->most = f->held;
    if (dm_unlikely(f->held > f->limit))
        dm_p2p_flow_tell(u->proc);
}

static inline void dm_p2p_flow_drop(const struct dm_p2p_unexp *u)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    f->held -= dm_p2p_flow_cost(u);
    if (dm_unlikely(f->n_told > 0) && f->held <= f->limit / 2)
        dm_p2p_flow_release();
}

/* ---- cancel.c ---- */

void dm_p2p_cancel_start(void); /* register the packet handlers */
/*
 * Ask the receiver to forget the message of a send, which may be complete: the request
 * is pending until the answer comes.
 */
int dm_p2p_cancel_send(struct dm_req *req);
/* The same for the handle of a send that was over at once. */
int dm_p2p_cancel_done(int handle);
/* The request of such a handle since then, else NULL. */
struct dm_req *dm_p2p_recalled(int handle);
/* No answers will come from this process. */
void dm_p2p_cancel_lost(int proc);
/*
 * MPI_Finalize: give up the sends that nobody receives, when their receivers get here, too. To be called again
 * for what is sent later.
 */
void dm_p2p_cancel_rest(void);

/* ---- recv.c ---- */

int dm_p2p_recv_on(void *buf, size_t count, struct dm_type *type, int source, int tag,
                   struct dm_comm *comm, uint32_t ctx, MPI_Status *status);
int dm_p2p_irecv_on(void *buf, size_t count, struct dm_type *type, int source, int tag,
                    struct dm_comm *comm, uint32_t ctx, struct dm_req **req_p);
/* Match a prepared request or post it. */
void dm_p2p_recv_start(struct dm_p2p_req *r, int source, int tag, uint32_t ctx);
/* The same with a key of one's own, from one process. */
void dm_p2p_recv_key(struct dm_p2p_req *r, int proc, const struct dm_mkey *key);
/* Give a message (no longer queued) to a receive. */
void dm_p2p_recv_unexp(struct dm_p2p_req *r, struct dm_p2p_unexp *u);
/* Withdraw a posted receive, which ends with err. */
void dm_p2p_recv_withdraw(struct dm_p2p_req *r, int err);
/* Copy the status of a finished receive, but for MPI_ERROR. */
void dm_p2p_status(const struct dm_req *req, MPI_Status *status);

/* ---- eager.c, rndv.c ---- */

void dm_p2p_eager_start(void); /* register the packet handlers */
void dm_p2p_rndv_start(void);
/* len bytes at offset of a message arrive: to the buffer, as far as there is space. */
void dm_p2p_place(struct dm_p2p_req *r, size_t offset, const void *data, size_t len);
/* Envelope and length of the message that a receive got. */
void dm_p2p_matched(struct dm_p2p_req *r, int proc, const struct dm_mkey *key, size_t len);
/* A message object and its end; NULL ends the job. */
struct dm_p2p_unexp *dm_p2p_unexp_new(int proc, const struct dm_pkt_eager *h, size_t len);
void dm_p2p_unexp_free(struct dm_p2p_unexp *u);
/* Let u->data have space for len bytes, once; false: no memory. Freed with the object. */
bool dm_p2p_unexp_buffer(struct dm_p2p_unexp *u, size_t len);
/* Free what is kept for further ones. */
void dm_p2p_buffers_free(void);
/* Tell the sender of a synchronous message that it is matched. */
void dm_p2p_ack(int proc, uint64_t sreq);
/* Get the data of a rendezvous. */
void dm_p2p_rndv_recv(struct dm_p2p_req *r, int proc, const struct dm_p2p_unexp *u);
/* Send the request to send. */
void dm_p2p_rndv_send(struct dm_p2p_req *r, const struct dm_mkey *key);
/* Let a queued eager message be a request to send instead. */
void dm_p2p_rndv_instead(struct dm_p2p_req *r);
/* What came of a receive that is timed (r->ways) is len bytes; 0: it failed. */
void dm_p2p_rndv_timed(struct dm_p2p_req *r, size_t len);
/* Packed bytes of a send whose data are not contiguous, for dm_chan_send.read. */
void dm_p2p_read(struct dm_chan_send *send, size_t offset, void *dst, size_t len);

/* ---- probe.c ---- */

/* Forget the messages that were not received. */
void dm_p2p_probe_stop(void);

/* ---- part.c ---- */

void dm_p2p_part_start(void); /* register the packet handlers */
void dm_p2p_part_stop(void);
/* Nothing comes from this process any more, nothing goes there. */
void dm_p2p_part_lost(int proc);

/* ---- bsend.c ---- */

/* MPI_Bsend; *r_p: the send, with a reference for the caller, NULL: there is none. */
int dm_p2p_bsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                 struct dm_comm *comm, struct dm_p2p_req **r_p);
/* Wait until nothing is left in the attached buffer. */
void dm_p2p_bsend_flush(void);

#endif
