/*
 * The operations of this provider.
 */
#include "providers/net/prov_ops.h"
#include "providers/tcp/transport/listener.h"
#include "providers/tcp/dto.h"

static const struct dm_net_ops net_ops = {.name = "datum-tcp",
                                          .conn_size = sizeof(struct dm_tcp_conn),
                                          .listener_size = sizeof(struct dm_tcp_listener),
                                          .op_size = sizeof(struct dm_tcp_op),
                                          .seg_size = sizeof(struct iovec),
                                          .round = dm_tcp_round,
                                          .can_sleep = dm_tcp_can_sleep,
                                          .region_is_left = dm_tcp_region_is_left,
                                          .window_is_left = dm_tcp_region_is_left,
                                          .ep_push = dm_tcp_ep_push,
                                          .ep_flush = dm_tcp_ep_flush,
                                          .ep_reclaim = dm_tcp_ep_reclaim,
                                          .conn_init = dm_tcp_conn_init,
                                          .conn_free = dm_tcp_conn_free,
                                          .connect = dm_tcp_conn_connect,
                                          .conn_close = dm_tcp_conn_close,
                                          .handshake = dm_tcp_conn_handshake,
                                          .conn_up = dm_tcp_conn_up,
                                          .conn_down = dm_tcp_conn_down,
                                          .conn_last = dm_tcp_conn_last,
                                          .listen = dm_tcp_listen,
                                          .unlisten = dm_tcp_unlisten,
                                          .listener_timer = dm_tcp_listener_timer};

static const struct dm_prov_ops ops = {DM_NET_PROV_OPS,
                                       .ia.size = sizeof(struct dm_tcp_ia),
                                       .ia.open = dm_tcp_ia_open,
                                       .ia.close = dm_tcp_ia_close,
                                       .ep.size = sizeof(struct dm_tcp_ep),
                                       .ep.is_idle = dm_tcp_ep_is_idle,
                                       .ep.has_received = dm_tcp_ep_has_received,
                                       .mem.lmr_hide = dm_tcp_lmr_hide};

const struct dm_net_ops *dm_net_ops_get(void)
{
    return &net_ops;
}

const struct dm_prov_ops *dm_prov_ops_get(void)
{
    return &ops;
}
