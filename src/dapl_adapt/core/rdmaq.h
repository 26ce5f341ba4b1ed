/*
 * RDMA over one link: what waits and what is posted.
 */
#ifndef DM_DAPL_ADAPT_CORE_RDMAQ_H
#define DM_DAPL_ADAPT_CORE_RDMAQ_H

#include <stdint.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/public/rdma.h"

struct dm_ia;

/* A posted piece of a transfer, from these addresses on. */
struct dm_part {
    struct dm_rdma *rdma; /* NULL: done */
    uint64_t local;
    uint64_t remote;
};

#define DM_RDMAQ_REQS 64
#define DM_RDMAQ_SAID 4  /* the first message, and what follows it over a new link (conn/prod.c) */
#define DM_VALUES     32 /* values that are expected with RDMA writes, of a process */

/* What is posted on an RDMA link; its cookies have the places here. */
struct dm_rdmaq_posted {
    struct dm_part parts[DM_RDMAQ_REQS];
    struct dm_desc descs[DM_RDMAQ_REQS]; /* of the parts */
    struct dm_desc said[DM_RDMAQ_SAID];
    DAT_LMR_TRIPLET values[DM_VALUES]; /* receives, in turn */
    uint32_t n_values;
};

/* RDMA over one link: what waits and what is posted. */
struct dm_rdmaq {
    struct dm_ia *ia;
    int peer_rail;
    int rq_used;
    int rq_size;
    int n_reads;   /* outstanding, */
    int max_reads; /* at most so many */
    uint32_t head; /* number of the next part */
    uint32_t tail; /* of the oldest that is not done */
    struct dm_rdmaq_posted *posted;
    struct dm_rdma *queue_head;
    struct dm_rdma *queue_tail;
    uint64_t rest_until; /* broken: not tried again before */
    uint64_t up_since;   /* 0: it is not */
    uint32_t n_broken;   /* times, since it was up for long */
    double speed;        /* bytes per nanosecond of a large transfer's share; 0: not known */
    uint64_t measure_at; /* left out, since it is slow, it gets a share then; 0: it is not */
};

#endif
