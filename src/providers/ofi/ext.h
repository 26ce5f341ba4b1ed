/*
 * Requests that the target's processor carries out, and answers to ours. ia->lock is held.
 */
#ifndef DM_PROVIDERS_OFI_EXT_H
#define DM_PROVIDERS_OFI_EXT_H

#include "providers/ofi/dto.h"

/* DM_CTRL_ATOMIC_REQ, DM_CTRL_ATOMIC_RSP, DM_CTRL_RECV_RSP. */
void dm_ofi_ext_atomic_request(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl);
void dm_ofi_ext_atomic_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl);
void dm_ofi_ext_recv_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl);
/* DM_CTRL_READ_REQ, DM_CTRL_READ_RSP; read.c. */
void dm_ofi_read_request(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl);
void dm_ofi_read_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl);

#endif
