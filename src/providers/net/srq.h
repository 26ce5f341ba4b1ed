/*
 * Shared receive queues. ia->lock is held in all functions, but for the one that posts.
 */
#ifndef DM_PROVIDERS_NET_SRQ_H
#define DM_PROVIDERS_NET_SRQ_H

#include "providers/common/srq.h"
#include "providers/net/ep.h"

struct dm_net_srq {
    struct dm_srq srq;
    struct dm_list recvs; /* available: struct dm_net_op */
    uint32_t n_available;
    uint32_t n_taken; /* by endpoints, and not completed */
    bool is_low_armed;
};

/* A message of the peer's that waits for a receive. */
struct dm_net_asked {
    struct dm_list link;
    uint64_t id; /* the peer's number for it */
    uint64_t len;
};

/* The peer asks for a receive for a message; an endpoint without a shared queue refuses. */
void dm_net_srq_asked(struct dm_net_ep *ep, uint64_t id, uint64_t len);
/* The connection is over: nobody waits. */
void dm_net_srq_drop_asked(struct dm_net_ep *ep);
/* The watermarks that the attributes of the endpoint ask for. */
void dm_net_ep_marks_init(struct dm_net_ep *ep);

/* The provider's operations. */
DAT_RETURN dm_net_srq_create(struct dm_srq *srq);
void dm_net_srq_destroy(struct dm_srq *srq);
void dm_net_srq_count(struct dm_srq *srq, uint32_t *n_available_p, uint32_t *n_outstanding_p);
DAT_RETURN dm_net_srq_resize(struct dm_srq *srq, DAT_COUNT n);
void dm_net_srq_set_low(struct dm_srq *srq);
DAT_RETURN dm_net_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *seg,
                                DAT_DTO_COOKIE cookie);
uint32_t dm_net_ep_n_recvs(struct dm_ep *ep);
void dm_net_ep_set_marks(struct dm_ep *ep, DAT_COUNT soft, DAT_COUNT hard);

#endif
