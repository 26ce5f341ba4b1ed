/*
 * What the peer's memory contexts stand for, and what of ours it knows. ia->lock is held in all
 * functions.
 */
#ifndef DM_PROVIDERS_OFI_RKEY_H
#define DM_PROVIDERS_OFI_RKEY_H

#include "providers/ofi/conn.h"
#include "providers/ofi/key.h"

/* How the fabric addresses the remote side of a request that needs one of
 * these privileges. 0; -FI_EBUSY: the peer has been asked; -FI_EACCES: it
 * may not be. */
int dm_ofi_rkey_find(struct dm_ofi_ep *ep, const DAT_RMR_TRIPLET *remote, uint64_t len,
                     uint32_t priv, uint64_t *addr_p, uint64_t *key_p);
/* Is the context one of an RMR? The same answers. */
int dm_ofi_rkey_check(struct dm_ofi_ep *ep, uint32_t key);
/* Has the peer invalidated it? */
bool dm_ofi_rkey_is_invalid(struct dm_ofi_ep *ep, uint32_t key);
/* The connection is over. */
void dm_ofi_rkeys_drop(struct dm_ofi_ep *ep);

/* ---- control messages: DM_CTRL_KEY_REQ, DM_CTRL_KEY_RSP, DM_CTRL_KEY_INVAL ---- */

void dm_ofi_rkey_request(struct dm_ofi_ep *ep, uint32_t key);
void dm_ofi_rkey_response(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl);
void dm_ofi_rkey_invalidated(struct dm_ofi_ep *ep, uint32_t key);
/* Nothing is being read any more: acknowledge what is gone. */
void dm_ofi_rkey_ack(struct dm_ofi_ep *ep);

/* ---- ours ---- */

/* Invalidate it at the peers who may know it. */
void dm_ofi_rkey_invalidate(struct dm_net *net, const struct dm_net_region *region);
/* Does nothing under way use the region that is hidden: have peers acknowledged, and are requests
 * of ours over? */
bool dm_ofi_rkey_is_left(struct dm_net *net, const struct dm_pz *pz, uint32_t key);
/* Have the peers of the zone acknowledged all that is gone? Else binds that wait
 * for it go on when they have. */
bool dm_ofi_rkey_is_acked(struct dm_net *net, const struct dm_pz *pz, uint32_t key);
/* The peer has acknowledged n, or will never. */
void dm_ofi_rkey_acked(struct dm_ofi_ep *ep, uint64_t n);

#endif
