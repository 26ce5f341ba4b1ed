/*
 * Parts of making and freeing windows: memory.
 */
#ifndef DM_ONESIDED_WIN_H
#define DM_ONESIDED_WIN_H

#include "onesided/onesided.h"

/* Make and map the memory of a shared window, of all ranks. Collective over comm. DM_ERR_RMA_SHARED. */
int dm_rma_share(struct dm_win *win, struct dm_comm *comm);

#endif
