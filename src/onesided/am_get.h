/*
 * Active-message gets: a packet asks, the target's progress engine answers (am_get.c).
 */
#ifndef DM_ONESIDED_AM_GET_H
#define DM_ONESIDED_AM_GET_H

#include "onesided/xfer.h"

/*
 * Get bytes by a question to a target that looks, or else, soon, by RDMA (am_get.c). False: not
 * now, nothing was done.
 */
bool dm_rma_am_get(const struct dm_rma_call *call, void *local, uint64_t remote, size_t len,
                   int *err_p);
/* The question's reply is here, from the first byte on. False: it is not wanted any more. */
bool dm_rma_am_get_replied(struct dm_rma_xfer *x);
/* The target of a question was lost; true when the transfer waits for nothing else. */
bool dm_rma_am_get_lost(struct dm_rma_xfer *x);
void dm_rma_ask_start(void);

#endif
