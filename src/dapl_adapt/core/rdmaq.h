/*
 * RDMA over one link: what waits and what is posted.
 */
#ifndef DM_DAPL_ADAPT_CORE_RDMAQ_H
#define DM_DAPL_ADAPT_CORE_RDMAQ_H

#include <stdint.h>

#include "dapl_adapt/public/rdma.h"

struct dm_ia;

/* A posted piece of a transfer, from these addresses on. */
struct dm_part {
    struct dm_rdma *rdma; /* NULL: done */
    uint64_t local;
    uint64_t remote;
};

#define DM_RDMAQ_REQS 64

/* RDMA over one link: what waits and what is posted. */
struct dm_rdmaq {
    struct dm_ia *ia;
    int peer_rail;
    int rq_used;
    int rq_size;
    int n_reads;           /* outstanding, */
    int max_reads;         /* at most so many */
    uint32_t head;         /* number of the next part */
    uint32_t tail;         /* of the oldest that is not done */
    struct dm_part *parts; /* DM_RDMAQ_REQS places */
    struct dm_rdma *queue_head;
    struct dm_rdma *queue_tail;
    uint64_t rest_until; /* broken: not tried again before */
    double speed;        /* bytes per nanosecond of a large transfer's share; 0: not known */
};

#endif
