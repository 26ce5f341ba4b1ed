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
/* Apply an accumulate's data; old, unless NULL, gets what was there. DM_ERR_RMA_RANGE. */
int dm_rma_apply(const struct dm_win *win, const struct dm_pkt_rma_acc *acc,
                 const struct dm_rma_run *run, const char *data, char *old);
/* All packets of rank so far have been applied: say how that went. */
void dm_rma_acknowledge(struct dm_win *win, int rank, int32_t handle);
/* Act on a notice (target_note.c). */
void dm_rma_note_handle(struct dm_win *win, const struct dm_pkt_rma_note *note);
/* The handler of WAKE packets (target_note.c). */
void dm_rma_on_wake(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink);
/* Packets of updates are deferred while another process holds the exclusive lock of this part. */
void dm_rma_deferred_init(struct dm_win *win);
/* Register the packet handlers. */
void dm_rma_target_start(void);

#endif
