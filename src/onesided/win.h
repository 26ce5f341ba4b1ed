/*
 * Parts of making and freeing windows: hints, memory.
 */
#ifndef DM_ONESIDED_WIN_H
#define DM_ONESIDED_WIN_H

#include "onesided/onesided.h"

/* The window's hints: defaults, and what info says. */
int dm_rma_info_init(struct dm_win *win, struct dm_info *info);
/* Make the memory of a shared window: sizes, base and maps of all ranks. DM_ERR_RMA_SHARED. */
int dm_rma_share(struct dm_win *win);

#endif
