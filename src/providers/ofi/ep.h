/*
 * Endpoints. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_EP_H
#define DM_PROVIDERS_OFI_EP_H

#include "providers/ofi/ia.h"

struct dm_ofi_rkey;
struct dm_ofi_srq;

struct dm_ofi_ep {
    struct dm_ep ep;
    struct dm_ofi_conn *conn; /* from connect or accept until the end */
    bool is_waiting;          /* in ia->waiting */
    bool is_recv_open;        /* receives go to conn->fid now */
    bool is_ack_due;          /* the peer waits for the acknowledgement of a message */
    bool is_failing;          /* a request has failed: none goes out any more */
    struct dm_list link_waiting;
    /* Requests; see dto.c. */
    struct dm_list sent;     /* with the fabric, or over, in the order of posting */
    struct dm_list queue;    /* behind them */
    uint32_t n_used;         /* slots of requests that are not over */
    uint32_t n_unsignalled;  /* those that only a later request will give back */
    bool must_signal;        /* the next request has to */
    uint32_t n_reads;        /* sent ones that bring data */
    uint32_t n_reads_in_row; /* reads sent since there was none */
    uint32_t n_signalled;    /* completions */
    uint32_t last_id;        /* of a request that is answered by a control message */
    /* Receives. */
    struct dm_list recvs;      /* with the fabric, in the order of posting */
    struct dm_list recv_queue; /* behind them */
    uint32_t n_recvs;          /* with the fabric */
    uint32_t n_recv_posted;
    struct dm_ofi_srq *srq;       /* ep.srq */
    uint32_t n_taken;             /* receives of it for messages, not dequeued: in all */
    struct dm_list recv_requests; /* messages that wait for one: struct dm_ofi_ctrl_entry */
    struct dm_ofi_rkey *rkeys;    /* what is known of the peer's regions, see rkey.c */
    uint32_t n_inval_due;         /* such that are gone, to be acknowledged */
    uint32_t n_inval_unacked;     /* and of ours, to be acknowledged by the peer */
    uint64_t immed_len;           /* of the next write with immediate data, if it is long */
    struct dm_list ctrls;         /* control messages that wait for space: dm_ofi_ctrl_entry */
    bool is_soft_armed;
    DAT_COUNT hard_mark; /* watermark */
};

static inline struct dm_ofi_ia *dm_ofi_ia_of(struct dm_ofi_ep *ep)
{
    return (struct dm_ofi_ia *)ep->ep.obj.ia;
}

/* The last request of an endpoint with ep.is_draining has completed. */
void dm_ofi_ep_drained(struct dm_ofi_ep *ep);
/* Close the endpoint's connection now, with a disconnect, without an event. Not from
 * done(). Afterwards ep->conn is NULL. */
void dm_ofi_ep_close_conn(struct dm_ofi_ep *ep);
/* conn->fid is closed and its completions have been read; ep->conn is NULL:
 * complete everything that is left, requests and receives, as flushed. The
 * connection event, if any, is added after this. */
void dm_ofi_ep_flush(struct dm_ofi_ep *ep);
/* Have dm_ofi_ep_push_all() look at it after the round. */
void dm_ofi_wait_for_space(struct dm_ofi_ep *ep);
/* Go on with what waits for space in the fabric (ia->waiting). */
void dm_ofi_ep_push_all(struct dm_ofi_ia *ia);

#endif
