/*
 * What this provider supplies to src/providers/net and the common core; see net/ops.h,
 * net/transport.h and common/provider.h.
 */
#ifndef DM_PROVIDERS_TCP_OPS_H
#define DM_PROVIDERS_TCP_OPS_H

#include "providers/net/net.h"

/* ia.c */
DAT_RETURN dm_tcp_ia_open(struct dm_pia *ia, const char *params);
void dm_tcp_ia_close(struct dm_pia *ia);
/* progress.c */
int dm_tcp_round(struct dm_net *net, bool is_thorough);
bool dm_tcp_can_sleep(struct dm_net *net);
/* lmr.c */
bool dm_tcp_lmr_hide(struct dm_lmr *lmr);
bool dm_tcp_region_is_left(struct dm_net *net, const struct dm_pz *pz, uint32_t key);
/* ep.c, dto.c */
void dm_tcp_ep_is_idle(struct dm_ep *ep, bool *is_recv_idle_p, bool *is_request_idle_p);
bool dm_tcp_ep_has_received(struct dm_ep *ep);
void dm_tcp_ep_push(struct dm_net_ep *ep);
void dm_tcp_ep_flush(struct dm_net_ep *ep);
void dm_tcp_ep_reclaim(struct dm_net_ep *ep);
/* conn.c */
bool dm_tcp_conn_init(struct dm_net_conn *conn);
void dm_tcp_conn_free(struct dm_net_conn *conn);
int dm_tcp_conn_connect(struct dm_net_conn *conn);
void dm_tcp_conn_close(struct dm_net_conn *conn);
bool dm_tcp_conn_handshake(struct dm_net_conn *conn, enum dm_net_handshake_type type,
                           uint32_t status, DAT_CONN_QUAL qual, const void *data, uint32_t len);
void dm_tcp_conn_up(struct dm_net_conn *conn);
void dm_tcp_conn_down(struct dm_net_conn *conn);
void dm_tcp_conn_last(struct dm_net_conn *conn, enum dm_net_last last);
/* transport/listener.c */
int dm_tcp_listen(struct dm_net_listener *listener, uint16_t port);
void dm_tcp_unlisten(struct dm_net_listener *listener);
uint64_t dm_tcp_listener_timer(struct dm_net_listener *listener, uint64_t now);

#endif
