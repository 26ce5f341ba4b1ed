/*
 * Receives. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_RECV_H
#define DM_PROVIDERS_OFI_RECV_H

#include "providers/ofi/dto.h"

/* The handshake is past its own receives: post those of the endpoint to
 * conn->fid. Passive side: before ACCEPT is sent; active: before READY is. */
void dm_ofi_recv_start(struct dm_ofi_ep *ep);
/* Post receives to the fabric as long as it takes them. */
void dm_ofi_recv_push(struct dm_ofi_ep *ep);
/* A region goes: cancel receives into it that the fabric has, and queue them again. */
void dm_ofi_recv_recall(struct dm_ofi_ep *ep, uint32_t key);
/* Is a message on its way into the region? */
bool dm_ofi_recv_is_using(const struct dm_ofi_ep *ep, uint32_t key);
/* Report how short our receives may be, if that is news to the peer. */
void dm_ofi_recv_report_min(struct dm_ofi_ep *ep);

#endif
