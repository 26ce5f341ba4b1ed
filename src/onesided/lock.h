/*
 * Locks of the ranks' parts: taken by words of the node-shared state (lock_word.c), by a provider's
 * fetch-and-add (lock_atomic.c), or by packets (epoch_lock.c, target_note.c).
 */
#ifndef DM_ONESIDED_LOCK_H
#define DM_ONESIDED_LOCK_H

#include "onesided/onesided.h"

struct dm_win_least; /* win.h */

/*
 * The lock of one part: a ticket lock for readers and writers. Who wants the lock takes a ticket
 * of n_users. It is an exclusive holder's turn when `write` gets there, a shared one's when `read`
 * does; the latter lets the next one in at once. So nobody overtakes anybody, but visitors.
 *
 * A visitor (DM_RMA_VISIT) is a shared holder who holds locks of other parts already. If it stood behind
 * somebody who wants this part exclusively, two of them could wait for each other. So it takes no ticket
 * and waits for an exclusive holder alone. Whose turn has come says so (is_exclusive), then looks whether
 * there are visitors; a visitor counts itself, then looks for the holder; if both see each other it is
 * the visitor who stays.
 */
struct dm_rma_ticket_lock {
    uint32_t write;
    uint32_t read;
    uint32_t n_users;
    uint32_t n_visitors;
    uint32_t is_exclusive;
};

/* Lock rank's part: MPI_LOCK_SHARED, perhaps with DM_RMA_VISIT, or MPI_LOCK_EXCLUSIVE; waits. DM_EPEER. */
int dm_rma_lock(struct dm_win *win, int rank, int mode);
/*
 * The same under MPI_Win_lock_all for a part that is used for the first time, perhaps by several
 * threads at once.
 */
int dm_rma_lock_used(struct dm_win *win, int rank);

/* ---- locks (lock_word.c) ---- */

/* Take the lock of a rank that has a lrank; waits. DM_EPEER. */
int dm_rma_word_lock(struct dm_win *win, int rank, int mode);
void dm_rma_word_unlock(struct dm_win *win, int rank, int mode);
/* For a process of another host that requests the lock of this rank's part: its ticket. */
uint32_t dm_rma_word_ticket(struct dm_win *win);
/* Is it this ticket's turn? If so the lock is held; else a WAKE packet comes when it may be. */
bool dm_rma_word_try(struct dm_win *win, uint32_t ticket, int mode);
/* A visitor of another host comes; may it enter, or does a WAKE packet come when it may? */
void dm_rma_word_visit(struct dm_win *win);
bool dm_rma_word_is_open(const struct dm_win *win);

/* ---- locks by a provider's fetch-and-add (lock_atomic.c) ---- */

/* Make this process' words, if the window may need such locks. Before the exchange of parts, */
void dm_rma_atomic_offer(struct dm_win *win, struct dm_win_part *own);
/* and behind it: the same on all ranks, win->fetch_locks or none. */
void dm_rma_atomic_start(struct dm_win *win, const struct dm_win_least *least);
void dm_rma_atomic_free(struct dm_win *win);
/* Take the lock of a rank; waits. DM_EPEER. */
int dm_rma_atomic_lock(struct dm_win *win, int rank, int mode);
/* Give it back; waits until the next one can have it. DM_EPEER. */
int dm_rma_atomic_unlock(struct dm_win *win, int rank, int mode);

#endif
