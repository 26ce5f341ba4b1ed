/*
 * What two providers send each other on a connection: remote CQ data and control messages (wire.h).
 * ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_CTRL_H
#define DM_PROVIDERS_OFI_CTRL_H

#include <sys/uio.h>

#include "providers/ofi/conn.h"

/* A control message that waits for space. */
struct dm_ofi_ctrl_entry {
    struct dm_list link;
    struct dm_ofi_ctrl ctrl;
};

/* ---- remote CQ data ---- */

/* Send 32 bits that need no receive of the peer. False: no space now. */
bool dm_ofi_cqdata_send(struct dm_ofi_conn *conn, enum dm_ofi_cqdata kind, uint32_t value);
/* The present value of a kind that is not repeated, now or when there is space. */
void dm_ofi_cqdata_post(struct dm_ofi_conn *conn, enum dm_ofi_cqdata kind);
/* The word for fi_writedata and the like. */
uint64_t dm_ofi_cqdata_word(const struct dm_ofi_conn *conn, enum dm_ofi_cqdata kind,
                            uint32_t value);
/* done() of a request that nobody waits for. */
void dm_ofi_cqdata_done(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done);
/* A remote write with CQ data has come. */
void dm_ofi_cqdata_arrived(struct dm_ofi_ia *ia, uint64_t word);
/* The endpoint has more receives with the fabric, or less: grant them to the peer when
 * it knows of too few. */
void dm_ofi_conn_credit(struct dm_ofi_conn *conn);
/* Acknowledge all the peer's messages so far. */
void dm_ofi_conn_ack(struct dm_ofi_conn *conn);

/* ---- control messages ---- */

/* Send it, or when there is space. */
void dm_ofi_ctrl_post(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl);
/* Write it to the peer's ring. False: no space now. */
bool dm_ofi_ctrl_send(struct dm_ofi_conn *conn, const struct dm_ofi_ctrl *ctrl);
/* The same in one request of the fabric with data that are placed before it, in the (at most
 * two) stretches of remote; the fabric may read them until unsignalled writes are flushed. */
bool dm_ofi_ctrl_send_with_data(struct dm_ofi_conn *conn, const struct dm_ofi_ctrl *ctrl,
                                const struct iovec *data, const struct fi_rma_iov *remote,
                                size_t n_remote);

#endif
