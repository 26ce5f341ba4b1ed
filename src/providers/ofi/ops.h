/*
 * What this provider supplies to src/providers/net and the common core; see net/ops.h,
 * net/transport.h and common/provider.h.
 */
#ifndef DM_PROVIDERS_OFI_OPS_H
#define DM_PROVIDERS_OFI_OPS_H

#include "providers/net/net.h"

/* ia.c */
DAT_RETURN dm_ofi_ia_open(struct dm_pia *ia, const char *params);
void dm_ofi_ia_close(struct dm_pia *ia);
/* progress.c */
int dm_ofi_round(struct dm_net *net, bool is_thorough);
bool dm_ofi_can_sleep(struct dm_net *net);
/* key.c, lmr.c */
bool dm_ofi_region_open(struct dm_net *net, struct dm_net_region *region);
void dm_ofi_region_close(struct dm_net_region *region);
bool dm_ofi_lmr_hide(struct dm_lmr *lmr);
/* ep.c, dto.c */
void dm_ofi_ep_init(struct dm_net_ep *ep);
void dm_ofi_ep_is_idle(struct dm_ep *ep, bool *is_recv_idle_p, bool *is_request_idle_p);
bool dm_ofi_ep_has_received(struct dm_ep *ep);
void dm_ofi_ep_push(struct dm_net_ep *ep);
void dm_ofi_ep_flush(struct dm_net_ep *ep);
void dm_ofi_ep_reclaim(struct dm_net_ep *ep);
/* conn.c */
bool dm_ofi_conn_init(struct dm_net_conn *conn);
void dm_ofi_conn_free(struct dm_net_conn *conn);
int dm_ofi_conn_connect(struct dm_net_conn *conn);
void dm_ofi_conn_close(struct dm_net_conn *conn);
bool dm_ofi_conn_handshake(struct dm_net_conn *conn, enum dm_net_handshake_type type,
                           uint32_t status, DAT_CONN_QUAL qual, const void *data, uint32_t len);
void dm_ofi_conn_up(struct dm_net_conn *conn);
void dm_ofi_conn_last(struct dm_net_conn *conn, enum dm_net_last last);
void dm_ofi_conn_retry(struct dm_net_conn *conn);
/* transport/listener.c */
int dm_ofi_listen(struct dm_net_listener *listener, uint16_t port);
void dm_ofi_unlisten(struct dm_net_listener *listener);

#endif
