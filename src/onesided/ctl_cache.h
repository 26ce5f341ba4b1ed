/*
 * Control blocks of freed windows, mapped still, for the next window of the same processes: making one is a
 * file, its mapping and its pages for each of them.
 *
 * 1. Each process keeps the block when it has left the window, and says so in the block's n_kept.
 * 2. When all have, its maker may claim it, and describes it to the others.
 * 3. Each finds it among its own; until they have agreed that all have it nobody forgets it.
 */
#ifndef DM_ONESIDED_CTL_CACHE_H
#define DM_ONESIDED_CTL_CACHE_H

#include "onesided/shared.h"

/* In the place of a descriptor: the others have the block. */
#define DM_RMA_CTL_KEPT (-2)

/* Keep the block of a window that all have left, instead of unmapping it; or unmap it. */
void dm_rma_ctl_keep(struct dm_win *win);
/* Claim one that this process has made, of so many bytes, for a window of the same group. False: there is none. */
bool dm_rma_ctl_claim(struct dm_win *win, size_t len);
/* All have agreed, and use the claimed block: it may be kept again. */
void dm_rma_ctl_agreed(struct dm_win *win);
/* The block that another process has claimed. False: it is not here. */
bool dm_rma_ctl_find(struct dm_win *win, const struct dm_node_file *file);
/* No window is left. */
void dm_rma_ctl_cache_stop(void);

#endif
