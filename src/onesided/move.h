/*
 * One run of contiguous memory between this process and a part that it cannot address (move.c).
 */
#ifndef DM_ONESIDED_MOVE_H
#define DM_ONESIDED_MOVE_H

#include "onesided/peer.h"

/* Start a put or get of len bytes at offset of the target's part, by the first path that can. */
int dm_rma_move_start(const struct dm_rma_call *call, void *local, uint64_t offset, size_t len,
                      bool is_put);
/* What an assist was to do, after it was cancelled: by RDMA, or else packets. */
int dm_rma_move_redo(const struct dm_rma_call *call, void *local, uint64_t offset, size_t len,
                     bool is_put);
/*
 * One RDMA transfer to or from registered memory of the target. DM_EAGAIN: the memory here cannot
 * be registered, nothing was done.
 */
int dm_rma_move_rdma(const struct dm_rma_call *call, void *local, uint64_t remote,
                     const struct dm_rkey *rkey, size_t len, bool is_put);

#endif
