/*
 * Requests of point-to-point: sends and receives.
 */
#ifndef DM_MPI_PT2PT_REQ_H
#define DM_MPI_PT2PT_REQ_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/pt2pt/pkt.h"

struct dm_p2p_unexp; /* unexp.h */

/* The rendezvous of a request: what is moved, and how. */
struct dm_p2p_rndv {
    union {
        struct dm_p2p_rts rts;
        struct dm_p2p_cts cts;
    } head;
    size_t want; /* bytes that it moves */
    size_t got;  /* of them, in or out so far */
    size_t base; /* where the payload of the current DATA packet starts */
    uint64_t peer_req;
    size_t part;         /* split, at the receiver: it reads from base to here */
    struct dm_list turn; /* split: in dm_p2p.splits */
    bool is_part_lost;   /* one part failed */
    /* last, next to what eager messages look at, too */
    struct dm_mr *mr;
    struct dm_rndv_select *select; /* of a receive that is timed (dm_adapt_rndv_end), or NULL */
    unsigned char n_parts;         /* split, at the receiver: those that are not there yet, of 2 */
    bool is_offer;                 /* in dm_p2p.n_offers */
};

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
    bool is_active;      /* in dm_p2p.active: something of the peer is awaited */
    bool is_reading;     /* rdma is under way, or expected */
    unsigned char timed; /* rndv.select: the protocol that is timed (enum dm_rndv) */
    bool is_counted;     /* in dm_p2p.n_sends */
    bool holds_refs;     /* of comm and type */
    bool is_recalling;   /* MPI_Cancel was called for a send */
    bool is_listed;      /* in dm_p2p.recalled or dm_p2p.probed */
    bool is_waited;      /* a send whose caller does nothing else until it is over */
    struct dm_list active;
    size_t msg_len; /* of the message that came, which may be longer than len */
    struct dm_p2p_rndv rndv;
    struct dm_p2p_unexp *unexp; /* of a matched probe, or whose data are still coming */
    struct dm_p2p_req *inner;   /* buffered: the send proper, with a reference; else NULL */
    void (*on_over)(void *arg); /* dm_p2p_watch, or NULL */
    void *on_over_arg;
    union {
        struct dm_chan_send send;
        struct dm_rdma rdma;
    } io;
};

/* Initialise a request on the stack. */
void dm_p2p_req_init(struct dm_p2p_req *r, enum dm_req_kind kind, struct dm_comm *comm, void *buf,
                     size_t count, struct dm_type *type);
/* One from the pool that holds references of comm and type; NULL: out of memory (reported). */
struct dm_p2p_req *dm_p2p_req_new(enum dm_req_kind kind, struct dm_comm *comm, void *buf,
                                  size_t count, struct dm_type *type);
/* Is it one of these, that nothing was built around? Else its kind says less. */
bool dm_p2p_req_is_plain(const struct dm_req *req);
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

#endif
