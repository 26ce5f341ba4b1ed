/*
 * Long transfers to or from private memory of the same host, copied by both processes
 * (split_copy.c).
 */
#ifndef DM_ONESIDED_SPLIT_COPY_H
#define DM_ONESIDED_SPLIT_COPY_H

#include "onesided/peer.h"
#include "util/port.h"

#define DM_RMA_SPLIT_MIN 32768 /* bytes that are worth it */

/* The target's part of a long transfer: by RDMA from or to memory of the origin. One per origin. */
struct dm_rma_split {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t state; /* enum dm_rma_assist_state */
    int32_t err;
    uint64_t is_put;
    uint64_t offset; /* in the target's part */
    uint64_t addr;   /* of the origin's */
    uint64_t len;
    struct dm_rkey rkey;
};

/*
 * A long put or get of registered memory that is private to a process on this host, which copies a
 * part of it if it waits in the library. False: nothing was done.
 */
bool dm_rma_split_copy(const struct dm_rma_call *call, void *local, uint64_t remote,
                       const struct dm_rkey *rkey, size_t len, bool is_put, int *err_p);
/* Copy this process' part of a long transfer of that lrank; its state says when it is over. */
void dm_rma_split_execute(struct dm_win *win, int lrank);

#endif
