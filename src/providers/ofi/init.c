/*
 * The operations of this provider.
 */
#include "providers/net/prov_ops.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/rkey.h"
#include "providers/ofi/transport/listener.h"

static const struct dm_net_ops net_ops = {.name = "datum-ofi",
                                          .conn_size = sizeof(struct dm_ofi_conn),
                                          .listener_size = sizeof(struct dm_ofi_listener),
                                          .op_size = sizeof(struct dm_ofi_op),
                                          .round = dm_ofi_round,
                                          .can_sleep = dm_ofi_can_sleep,
                                          .region_open = dm_ofi_region_open,
                                          .region_hidden = dm_ofi_rkey_invalidate,
                                          .region_close = dm_ofi_region_close,
                                          .region_is_left = dm_ofi_rkey_is_left,
                                          .window_is_left = dm_ofi_rkey_is_acked,
                                          .ep_init = dm_ofi_ep_init,
                                          .ep_push = dm_ofi_ep_push,
                                          .ep_flush = dm_ofi_ep_flush,
                                          .ep_reclaim = dm_ofi_ep_reclaim,
                                          .conn_init = dm_ofi_conn_init,
                                          .conn_free = dm_ofi_conn_free,
                                          .connect = dm_ofi_conn_connect,
                                          .conn_close = dm_ofi_conn_close,
                                          .handshake = dm_ofi_conn_handshake,
                                          .conn_up = dm_ofi_conn_up,
                                          .conn_last = dm_ofi_conn_last,
                                          .conn_retry = dm_ofi_conn_retry,
                                          .listen = dm_ofi_listen,
                                          .unlisten = dm_ofi_unlisten};

static const struct dm_prov_ops ops = {DM_NET_PROV_OPS,
                                       .ia.size = sizeof(struct dm_ofi_ia),
                                       .ia.open = dm_ofi_ia_open,
                                       .ia.close = dm_ofi_ia_close,
                                       .ep.size = sizeof(struct dm_ofi_ep),
                                       .ep.is_idle = dm_ofi_ep_is_idle,
                                       .ep.has_received = dm_ofi_ep_has_received,
                                       .mem.lmr_hide = dm_ofi_lmr_hide};

const struct dm_net_ops *dm_net_ops_get(void)
{
    return &net_ops;
}

const struct dm_prov_ops *dm_prov_ops_get(void)
{
    return &ops;
}
