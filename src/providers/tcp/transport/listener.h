/*
 * Ports that service points listen on. ia->lock is held.
 */
#ifndef DM_PROVIDERS_TCP_TRANSPORT_LISTENER_H
#define DM_PROVIDERS_TCP_TRANSPORT_LISTENER_H

#include "providers/net/listener.h"
#include "providers/tcp/conn.h"
#include "providers/tcp/transport/congestion.h"

struct dm_tcp_listener {
    struct dm_net_listener base;
    enum dm_tcp_source source;
    uint64_t resume_at;                     /* 0: not paused, for want of descriptors */
    char congestion[DM_TCP_CONGESTION_LEN]; /* for connections from elsewhere; or empty */
};

/* Somebody has connected, or more. */
void dm_tcp_listener_accept(struct dm_tcp_listener *listener);

#endif
