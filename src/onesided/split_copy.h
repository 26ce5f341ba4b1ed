/*
 * Long transfers to or from private memory of the same host, copied by both processes
 * (split_copy.c).
 */
#ifndef DM_ONESIDED_SPLIT_COPY_H
#define DM_ONESIDED_SPLIT_COPY_H

#include "onesided/peer.h"
#include "util/port.h"

/*
 * The target's half of a long transfer (split_copy.c): by RDMA from or to memory of the origin. One
 * for each origin.
 */
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
 * A long put or get of registered memory that is private to a process on this host, half of it by
 * that process if it is looking (split_copy.c). False: nothing was done.
 */
bool dm_rma_split_copy(const struct dm_rma_call *call, void *local, uint64_t remote,
                       const struct dm_rkey *rkey, size_t len, bool is_put, int *err_p);
/*
 * Do this process' share of a long transfer of the origin in that lrank; over when state says so.
 * (split_copy.c)
 */
void dm_rma_split_execute(struct dm_win *win, int lrank);

#endif
