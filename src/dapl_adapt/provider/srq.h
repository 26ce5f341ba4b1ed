/*
 * The shared receive queue (SRQ) of a rail: buffers for whatever connections take their receives from
 * it instead of having some of their own.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_SRQ_H
#define DM_DAPL_ADAPT_PROVIDER_SRQ_H

#include <stdint.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/region.h"

struct dm_ia;

/* Made under the lock; from then on the main thread's. */
struct dm_rail_srq {
    DAT_SRQ_HANDLE handle;
    struct dm_region
        region;           /* n buffers of `stride` bytes to receive in, and as many to send from */
    DAT_LMR_TRIPLET *iov; /* of what is posted, by buffers */
    uint64_t cookie;      /* of all receives, but for the buffer's number */
    uint32_t n;
    uint32_t stride;
    uint32_t n_spare;     /* receives that are granted to nobody */
    uint32_t least_spare; /* the fewest there were */
    uint32_t *free;       /* buffers to send from, as a stack, */
    uint32_t n_free;      /* and how many are there, */
    uint32_t n_common;    /* of them not for certain connections */
    uint64_t n_messages;
    uint64_t n_kept; /* credits kept back, since others had fewer */
};

/* What is asked for. */
struct dm_srq_want {
    uint32_t n;     /* receives, or fewer where resources are short, */
    uint32_t least; /* but not less than that; these are not spare from the beginning */
    uint32_t stride;
    uint64_t cookie;
};

/*
 * Make ia->memory.srq, all receives posted. DM_EPROVIDER, and ia->memory.no_srq says why, when the
 * provider has none or not enough. Lock held.
 */
int dm_rail_srq_make(struct dm_ia *ia, const struct dm_srq_want *want);
/* Post a buffer that has been read. */
DAT_RETURN dm_rail_srq_post(struct dm_ia *ia, uint32_t place);
/* Once its endpoints are gone. */
void dm_rail_srq_free(struct dm_ia *ia);

/* Of 2 * n. */
static inline char *dm_rail_srq_buffer(const struct dm_rail_srq *srq, uint32_t place)
{
    return srq->region.ptr + (size_t)place * srq->stride;
}

#endif
