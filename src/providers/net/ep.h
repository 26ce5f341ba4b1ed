/*
 * Endpoints of providers over networks, and the requests and receives of one. ia->lock is held in
 * all functions.
 */
#ifndef DM_PROVIDERS_NET_EP_H
#define DM_PROVIDERS_NET_EP_H

#include "providers/common/dto.h"
#include "providers/net/net.h"

struct dm_net_srq;

enum { DM_NET_OP_SEGS = 4 };

/* First member of a provider's endpoint. */
struct dm_net_ep {
    struct dm_ep ep;
    struct dm_net_conn *conn; /* from connect or accept until the end */
    bool is_waiting;          /* in net->waiting */
    bool is_failing;          /* a request has failed: none goes out any more */
    struct dm_list link_waiting;
    /* Requests. */
    struct dm_list sent;  /* begun, in the order of posting */
    struct dm_list queue; /* behind them */
    uint32_t n_used;      /* slots of requests that are not over */
    uint32_t n_signalled; /* completions */
    /* Receives. */
    struct dm_list recvs; /* those that messages may take, in the order of posting; */
    uint32_t n_recvs;     /* the peer may know of so many */
    uint32_t n_recv_posted;
    struct dm_net_srq *srq; /* ep.srq */
    uint32_t n_taken;       /* receives of it for messages, not dequeued: in all */
    struct dm_list asked;   /* messages that wait for one: struct dm_net_asked */
    bool is_soft_armed;
    DAT_COUNT hard_mark; /* watermark */
};

/* A request or receive on its way; first member of a provider's. */
struct dm_net_op {
    struct dm_list link; /* in the endpoint's lists, or net->pool */
    struct dm_dto dto;
    DAT_DTO_COMPLETION_STATUS status;
    uint64_t len;          /* in all */
    uint64_t pos;          /* so far */
    DAT_LMR_TRIPLET *more; /* malloc, when there are many segments */
    DAT_LMR_TRIPLET few[DM_NET_OP_SEGS];
};

/* ---- ep.c ---- */

DAT_RETURN dm_net_ep_create(struct dm_ep *ep);
void dm_net_ep_destroy(struct dm_ep *ep);
DAT_RETURN dm_net_ep_modified(struct dm_ep *ep, bool is_queue_new);
void dm_net_ep_reset(struct dm_ep *ep);
/* The last request of an endpoint has completed: if ep.is_draining, disconnect. */
void dm_net_ep_drained(struct dm_net_ep *ep);
/* The connection is closed; ep->conn is NULL: complete everything that is left, requests and
 * receives, as flushed. The connection event, if any, is added after this. */
void dm_net_ep_flush(struct dm_net_ep *ep);
/* Go on with it after the round, and each round until it need not wait. */
void dm_net_ep_wait(struct dm_net_ep *ep);
void dm_net_eps_push(struct dm_net *net);

/* ---- post.c: without the lock ---- */

DAT_RETURN dm_net_post(struct dm_ep *ep, const struct dm_dto *dto);
DAT_RETURN dm_net_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_net_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_net_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags);
DAT_RETURN dm_net_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags);

static inline bool dm_net_ep_has_slot(const struct dm_net_ep *ep)
{
    uint32_t n = ep->n_used + ep->n_signalled -
                 atomic_load_explicit(&ep->ep.n_request_reaped, memory_order_acquire);

    return n < (uint32_t)ep->ep.attr.max_request_dtos;
}

static inline struct dm_net *dm_net_of(const struct dm_net_ep *ep)
{
    return (struct dm_net *)ep->ep.obj.ia;
}

#endif
