/*
 * Parts of making and freeing windows: memory.
 */
#ifndef DM_ONESIDED_WIN_H
#define DM_ONESIDED_WIN_H

#include "onesided/onesided.h"

/*
 * What the parts of a window have in common: the least of each word, alike in all processes. Of a rail also the
 * least of its inverted bits, so that the two tell whether it is the same everywhere.
 */
struct dm_win_least {
    int32_t is_made;     /* every process has its part, */
    int32_t has_no_file; /* and none on this host one that could be mapped */
    int32_t lock, lock_inverted;
    int32_t words, words_inverted;
    int32_t has_block; /* of a host that all are on: they have the control block (shared.h) */
};

static inline bool dm_win_is_one_rail(int32_t least, int32_t inverted)
{
    return least != 0 && least == ~inverted;
}

/* Make and map the memory of a shared window, of all ranks. Collective over comm. DM_ERR_RMA_SHARED. */
int dm_rma_share(struct dm_win *win, struct dm_comm *comm);

#endif
