/*
 * Endpoints. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_EP_H
#define DM_PROVIDERS_TCP_EP_H

#include "providers/net/ep.h"
#include "providers/tcp/ia.h"

/* The first of the queue wants a receive of the peer's shared queue. */
enum dm_tcp_ask { DM_ASK_NONE, DM_ASK_SENT, DM_ASK_GRANTED, DM_ASK_REFUSED };

struct dm_tcp_ep {
    struct dm_net_ep base;
    uint32_t n_reads;     /* begun and not answered... */
    uint32_t n_atomics;   /* ...the same */
    uint32_t last_number; /* of the request that was begun last */
    uint32_t n_acked;     /* by the peer */
    uint32_t n_quiet;     /* begun since one that asks for an acknowledgement */
    enum dm_tcp_ask ask;
};

static inline struct dm_tcp_ia *dm_tcp_ia_of(const struct dm_tcp_ep *ep)
{
    return (struct dm_tcp_ia *)ep->base.ep.obj.ia;
}

static inline struct dm_tcp_conn *dm_tcp_ep_conn(const struct dm_tcp_ep *ep)
{
    return (struct dm_tcp_conn *)ep->base.conn;
}

#endif
