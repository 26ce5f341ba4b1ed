/*
 * Completion at the origin and at the target, notices, and waiting for them (flush.c).
 */
#ifndef DM_ONESIDED_FLUSH_H
#define DM_ONESIDED_FLUSH_H

#include "onesided/peer.h"
#include "onesided/pkt.h"

/* Send a notice to a rank of the window. */
int dm_rma_note(struct dm_win *win, int rank, enum dm_rma_pkt type, int mode);
/*
 * The same as the answer to a notice, whose `from` is the handle: a process that has made the
 * window may send one to another that does not know the others' handles yet.
 */
int dm_rma_answer(struct dm_win *win, int rank, int32_t handle, enum dm_rma_pkt type, int mode);
/* Wake a rank that waits for words, whatever this process does next: the packet has gone. */
void dm_rma_wake_surely(struct dm_win *win, int rank);
/* DM_EPEER when rank, or (rank < 0) any rank of the window, is lost. */
int dm_rma_check_lost(const struct dm_win *win, int rank);
/*
 * Wait until *count is 0. DM_EPEER when rank (or, rank < 0, any rank of the window) is lost
 * meanwhile.
 */
int dm_rma_wait(struct dm_win *win, int rank, const int *count);
/*
 * Programs spin on a flush, or on lock and unlock, until somebody else's packet has changed their
 * memory; where nothing is to be waited for they make progress now and then.
 */
void dm_rma_poll_others(struct dm_win *win);
/*
 * Make everything done so far to rank complete at the target; one acknowledgement if
 * packets were sent. Reports the first failed transfer.
 */
int dm_rma_flush(struct dm_win *win, int rank);
/* The same for all ranks, acknowledgements overlapped. */
int dm_rma_flush_all(struct dm_win *win);
/* Its first half: acknowledgements are requested, not waited for. */
int dm_rma_flush_start(struct dm_win *win);
/* Only: origin buffers may be reused. */
int dm_rma_flush_local(struct dm_win *win, int rank);
/* Is the target in a passive target epoch of this process (rank < 0: is any)? */
bool dm_rma_is_passive(const struct dm_win *win, int rank);

/* All processes of the window have come here; what they have sent may still be under way. DM_EPEER. */
int dm_rma_barrier(struct dm_win *win);

#endif
