/*
 * Update packets on their way to a target: sent at once, queued with a copy, or deferred (xfer.c).
 */
#ifndef DM_ONESIDED_MSG_H
#define DM_ONESIDED_MSG_H

#include "onesided/peer.h"
#include "onesided/pkt.h"
#include "onesided/shared.h"
#include "util/cfg.h"

/* A packet with its payload on its way. */
struct dm_rma_msg {
    struct dm_chan_send send;
    struct dm_rma_call call;
    struct dm_list link; /* in dm_rma_state.deferred, with its header: */
    struct dm_pkt_rma_acc acc;
    struct dm_rma_run runs[DM_RMA_ACC_RUNS + 1]; /* filled from the end */
    char data[DM_RMA_ACC_BYTES];
};

/* Queued packets hold memory: when there are many wait until some have left. */
void dm_rma_make_space(const struct dm_rma_call *call);
/* A packet for the call's target, after that; or at once. NULL: no memory. */
struct dm_rma_msg *dm_rma_msg_new(const struct dm_rma_call *call);
struct dm_rma_msg *dm_rma_msg_get(const struct dm_rma_call *call);
/* Queue it with this header; the payload lies in msg. Counted until it has left. */
int dm_rma_msg_send(struct dm_rma_msg *msg, const struct dm_pkt *pkt, const void *payload);
/* Send an update, at once or copied. DM_EAGAIN: too long to be copied (DM_RMA_ACC_BYTES). */
int dm_rma_packet(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                  const void *data);
/*
 * Is the target on another host, in a network where processors move the data? There a packet costs
 * no more than RDMA, and a target that waits answers sooner than its provider does.
 */
static inline bool dm_rma_prefers_packets(const struct dm_win *win, int target)
{
    return dm_rma_lrank(win, target) < 0 && dm_cfg()->rma == DM_RMA_AUTO &&
           dm_chan_is_software(dm_world.chan, dm_rma_proc(win, target));
}
/*
 * Defer an update of at most DM_RMA_ACC_BYTES, copied, until the next pass of progress: a flush may
 * follow, and then needs no packet of its own. DM_ENOMEM.
 */
int dm_rma_defer(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                 const void *data);
/* Send what is deferred for rank, if anything is; wants_ack: to be acknowledged. */
int dm_rma_send_deferred(struct dm_win *win, int rank, bool wants_ack);

#endif
