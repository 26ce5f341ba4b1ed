/*
 * Endpoints. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_EP_H
#define DM_PROVIDERS_TCP_EP_H

#include "providers/tcp/ia.h"

struct dm_tcp_srq;

/* The first of the queue wants a receive of the peer's shared queue. */
enum dm_tcp_ask { DM_ASK_NONE, DM_ASK_SENT, DM_ASK_GRANTED, DM_ASK_REFUSED };

struct dm_tcp_ep {
    struct dm_ep ep;
    struct dm_tcp_conn *conn; /* from connect or accept until the end */
    bool is_waiting;          /* in ia->waiting */
    bool is_failing;          /* a request has failed: none goes out any more */
    struct dm_list link_waiting;
    /* Requests; see dto.c. */
    struct dm_list sent;  /* begun, in the order of posting */
    struct dm_list queue; /* behind them */
    uint32_t n_used;      /* slots of requests that are not over */
    uint32_t n_signalled; /* completions */
    uint32_t n_reads;     /* begun and not answered... */
    uint32_t n_atomics;   /* ...the same */
    uint32_t last_number; /* of the request that was begun last */
    uint32_t n_acked;     /* by the peer */
    uint32_t n_quiet;     /* begun since one that asks for an acknowledgement */
    enum dm_tcp_ask ask;
    /* Receives. */
    struct dm_list recvs; /* in the order of posting */
    uint32_t n_recvs;
    uint32_t n_recv_posted;
    struct dm_tcp_srq *srq; /* ep.srq */
    uint32_t n_taken;       /* receives of it for messages, not dequeued: in all */
    struct dm_list asked;   /* struct dm_tcp_asked */
    bool is_soft_armed;
    DAT_COUNT hard_mark; /* watermark */
};

static inline struct dm_tcp_ia *dm_tcp_ia_of(const struct dm_tcp_ep *ep)
{
    return (struct dm_tcp_ia *)ep->ep.obj.ia;
}

/* A request has completed: if ep.is_draining and it was the last, disconnect. */
void dm_tcp_ep_drained(struct dm_tcp_ep *ep);
/* Close the endpoint's connection now, with a disconnect, without an event. Not within a
 * round. Afterwards ep->conn is NULL. */
void dm_tcp_ep_close_conn(struct dm_tcp_ep *ep);
/* The socket is closed; ep->conn is NULL: complete everything that is left, requests and
 * receives, as flushed. The connection event, if any, is added after this. */
void dm_tcp_ep_flush(struct dm_tcp_ep *ep);
/* Go on with it after the round, and each round until it need not wait. */
void dm_tcp_ep_wait(struct dm_tcp_ep *ep);
void dm_tcp_ep_push_all(struct dm_tcp_ia *ia);

#endif
