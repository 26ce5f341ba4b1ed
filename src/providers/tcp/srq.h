/*
 * Shared receive queues. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_SRQ_H
#define DM_PROVIDERS_TCP_SRQ_H

#include "providers/tcp/conn.h"

struct dm_tcp_srq {
    struct dm_srq srq;
    struct dm_list recvs; /* available: struct dm_tcp_op */
    uint32_t n_available;
    uint32_t n_taken; /* by endpoints, and not completed */
    bool is_low_armed;
};

/* A message of the peer's that waits for a receive. */
struct dm_tcp_asked {
    struct dm_list link;
    uint64_t len;
};

/* The peer asks for a receive for a message. */
void dm_tcp_srq_asked(struct dm_tcp_ep *ep, uint64_t len);
/* A receive of it has ended. */
void dm_tcp_srq_recv_done(struct dm_tcp_ep *ep);
/* The connection is over: nobody waits. */
void dm_tcp_srq_drop_asked(struct dm_tcp_ep *ep);
/* Arm what the attributes of a new endpoint ask for. */
void dm_tcp_ep_marks_init(struct dm_tcp_ep *ep);

#endif
