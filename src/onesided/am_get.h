/*
 * Active-message gets: a packet asks, the target's progress engine answers (am_get.c).
 */
#ifndef DM_ONESIDED_AM_GET_H
#define DM_ONESIDED_AM_GET_H

#include "onesided/xfer.h"

/*
 * Get bytes that a packet asks for, if the target may be there to answer; when it does not, in
 * time, by RDMA. DM_EAGAIN: not now, nothing was done.
 */
int dm_rma_am_get(const struct dm_rma_call *call, void *local, uint64_t remote, size_t len);
/* The reply is here, from the first byte on. False: it is not wanted any more. */
bool dm_rma_am_get_replied(struct dm_rma_xfer *x);
/* The target was lost; true when the transfer waits for nothing else. */
bool dm_rma_am_get_lost(struct dm_rma_xfer *x);
void dm_rma_am_get_init(void);

#endif
