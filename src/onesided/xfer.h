/*
 * Transfers on their way: RDMA, and replies that are awaited (xfer.c).
 */
#ifndef DM_ONESIDED_XFER_H
#define DM_ONESIDED_XFER_H

#include "onesided/peer.h"

/* What has become of an active-message get: read by RDMA meanwhile? which of both is over? */
enum dm_rma_am_state {
    DM_AM_NONE,
    DM_AM_WAITS,    /* for its reply */
    DM_AM_READS,    /* the reply is not wanted any more */
    DM_AM_ANSWERED, /* and has come */
    DM_AM_LATE      /* and is still to come, though the transfer is over */
};

/* An RDMA transfer, or the place where a reply goes. */
struct dm_rma_xfer {
    struct dm_rdma rdma;
    struct dm_rma_call call;
    /* of a reply: packed bytes from `offset` of the buffer on; a reference to the type is held */
    struct dm_list link; /* in dm_rma_state.awaited */
    void *buf;
    size_t count;
    struct dm_type *type;
    size_t offset;
    /* of an active-message get (am_get.c) */
    enum dm_rma_am_state am_state;
    struct dm_list am_link; /* in dm_rma_state.am_gets */
    uint64_t when;          /* ns: it was asked for */
    uint64_t remote;
    size_t len;
};

/* A transfer record, counted until dm_rma_xfer_over; NULL when memory is out. */
struct dm_rma_xfer *dm_rma_xfer_new(const struct dm_rma_call *call);
void dm_rma_xfer_over(struct dm_rma_xfer *x, int err);
/* Its two halves: the call gets the result; the record is free again. */
void dm_rma_xfer_report(const struct dm_rma_xfer *x, int err);
void dm_rma_xfer_free(struct dm_rma_xfer *x);
/* A transfer failed at once: its request, or else the next synchronization, reports it. */
void dm_rma_xfer_fail(const struct dm_rma_call *call, int err);
/* The place where the data of a reply go. DM_EPEER, DM_ENOMEM. */
int dm_rma_reply_new(const struct dm_rma_call *call, void *buf, size_t count, struct dm_type *type,
                     size_t offset, struct dm_rma_xfer **x_p);
/* Watch for lost processes: their replies do not come. */
void dm_rma_xfer_start(void);

#endif
