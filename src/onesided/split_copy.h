/*
 * Long transfers to or from private memory of the same host, copied by both processes
 * (split_copy.c).
 */
#ifndef DM_ONESIDED_SPLIT_COPY_H
#define DM_ONESIDED_SPLIT_COPY_H

#include "mpi/node/split.h"
#include "onesided/peer.h"
#include "util/port.h"

#define DM_RMA_SPLIT_MIN 32768 /* bytes that are worth it */

/*
 * A long transfer in two pieces: the first is the origin's; the target may claim the second, and
 * moves it by RDMA from or to memory of the origin. One for each origin.
 */
struct dm_rma_split {
    DM_ALIGNED(DM_CACHE_LINE) struct dm_split split; /* numbered by the origin */
    uint32_t target;                                 /* its lrank */
    uint32_t is_done;                                /* the second piece, by the target; with: */
    int32_t err;
    uint32_t is_put;
    uint64_t offset; /* of the second piece, in the target's part */
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
/*
 * Claim and begin this process' piece of a long transfer of the origin in that lrank, if there is
 * one: 1, else 0. (split_copy.c)
 */
int dm_rma_split_execute(struct dm_win *win, int lrank);

#endif
