/*
 * The target of one-sided packets and assists: applies data, answers, grants locks (target.c).
 */
#ifndef DM_ONESIDED_TARGET_H
#define DM_ONESIDED_TARGET_H

#include "onesided/peer.h"
#include "onesided/pkt.h"

/*
 * Memory of the window in this process: address of len bytes at offset; NULL when that is not
 * (or no more) attached.
 */
char *dm_rma_place(const struct dm_win *win, uint64_t offset, uint64_t len);
/*
 * Apply an accumulate's data; old, unless NULL, gets what was there. DM_ERR_RMA_RANGE. (target.c)
 */
int dm_rma_apply(const struct dm_win *win, const struct dm_pkt_rma_acc *acc,
                 const struct dm_rma_run *run, const char *data, char *old);
/* Updates that come while another process keeps this one off its part are put off. (target.c) */
void dm_rma_later_start(struct dm_win *win);
/* Register the packet handlers of target.c. */
void dm_rma_target_start(void);

#endif
