/*
 * 8-byte integers in the memory of the ranks of a window that are updated by a provider's atomic operations.
 */
#ifndef DM_ONESIDED_UPDATE_ATOMIC_H
#define DM_ONESIDED_UPDATE_ATOMIC_H

#include "mpi/op/op.h"
#include "onesided/peer.h"

struct dm_win_least; /* win.h */

/* Make this process' part such words, if the window is to have them. Before the exchange of parts, */
void dm_rma_words_offer(struct dm_win *win, struct dm_win_part *own);
/* and behind it: the same on all ranks, win->words or none. */
void dm_rma_words_start(struct dm_win *win, const struct dm_win_least *least);
void dm_rma_words_free(struct dm_win *win);
/*
 * Is an element of this basic type, at that place of any part or of its mapping here, updated by the
 * provider's atomic operations only? Then so it is by every rank, the owner included.
 */
static inline bool dm_rma_is_word(const struct dm_win *win, int basic, uint64_t at)
{
    return dm_unlikely(win->words != NULL) && at % sizeof(uint64_t) == 0 && dm_op_is_word(basic);
}
/*
 * Update n words at offset of the target's part: op with the packed operands at data (NULL with
 * MPI_NO_OP), or is_swap: a compare and swap of one, data holding the new value and the compared one.
 * What was there is packed to old unless that is NULL. Waits. DM_EPEER: it is lost, or the connection
 * broke, after which nothing is done again.
 */
int dm_rma_update_words(const struct dm_rma_call *call, const struct dm_op *op, bool is_swap,
                        uint64_t offset, size_t n, int basic, const char *data, char *old);

#endif
