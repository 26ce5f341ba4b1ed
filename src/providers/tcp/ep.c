/*
 * Endpoints: what waits, and what is flushed at the end.
 */
#include "providers/tcp/ep.h"

#include "providers/net/transport.h"
#include "providers/tcp/stream.h"

void dm_tcp_ep_is_idle(struct dm_ep *any, bool *is_recv_idle_p, bool *is_request_idle_p)
{
    const struct dm_tcp_ep *ep = (const struct dm_tcp_ep *)any;

    *is_recv_idle_p =
        ep->base.n_recvs == 0 && (ep->base.conn == NULL || dm_tcp_ep_conn(ep)->in.op == NULL);
    *is_request_idle_p = dm_tcp_dto_is_idle(ep);
}

bool dm_tcp_ep_has_received(struct dm_ep *any)
{
    const struct dm_tcp_ep *ep = (const struct dm_tcp_ep *)any;

    return ep->base.conn == NULL || dm_tcp_ep_conn(ep)->in.n_done > 0;
}

void dm_tcp_ep_push(struct dm_net_ep *ep)
{
    if (ep->conn != NULL)
        dm_tcp_out_push((struct dm_tcp_conn *)ep->conn);
}

void dm_tcp_ep_flush(struct dm_net_ep *ep)
{
    dm_tcp_dto_flush((struct dm_tcp_ep *)ep);
    dm_transport_recv_flush(ep);
}
