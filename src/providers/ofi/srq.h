/*
 * Shared receive queues. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_SRQ_H
#define DM_PROVIDERS_OFI_SRQ_H

#include "providers/ofi/conn.h"

struct dm_ofi_srq {
    struct dm_srq srq;
    struct dm_list recvs; /* available: struct dm_ofi_op */
    uint32_t n_available;
    uint32_t n_taken; /* by endpoints, and not completed */
    bool is_low_armed;
};

/* The peer asks for a receive for a message: DM_CTRL_RECV_REQ. */
void dm_ofi_srq_recv_request(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ask);
/* A receive of it has ended. */
void dm_ofi_srq_recv_done(struct dm_ofi_ep *ep);
/* The connection is over: nobody waits. */
void dm_ofi_srq_drop_requests(struct dm_ofi_ep *ep);
/* Arm what the attributes of a new endpoint ask for. */
void dm_ofi_ep_marks_init(struct dm_ofi_ep *ep);

#endif
