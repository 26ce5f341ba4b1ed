/*
 * Endpoints: what waits for space in the fabric, and what is flushed at the end.
 */
#include "providers/ofi/ep.h"

#include <stdlib.h>

#include "providers/net/transport.h"
#include "providers/ofi/ctrl.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/recv.h"
#include "providers/ofi/rkey.h"

void dm_ofi_ep_init(struct dm_net_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    dm_list_init(&ep->recv_queue);
    dm_list_init(&ep->ctrls);
}

void dm_ofi_ep_is_idle(struct dm_ep *any, bool *is_recv_idle_p, bool *is_request_idle_p)
{
    const struct dm_ofi_ep *ep = (const struct dm_ofi_ep *)any;

    *is_recv_idle_p = dm_list_is_empty(&ep->base.recvs) && dm_list_is_empty(&ep->recv_queue);
    *is_request_idle_p = dm_list_is_empty(&ep->base.sent) && dm_list_is_empty(&ep->base.queue);
}

bool dm_ofi_ep_has_received(struct dm_ep *any)
{
    const struct dm_ofi_ep *ep = (const struct dm_ofi_ep *)any;

    return ep->base.conn == NULL || ep->base.conn->credits.n_arrived > 0 ||
           dm_ofi_ep_conn(ep)->is_asked;
}

void dm_ofi_ep_push(struct dm_net_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    while (!dm_list_is_empty(&ep->ctrls) && any->conn != NULL) {
        struct dm_ofi_ctrl_entry *entry =
            dm_container_of(ep->ctrls.next, struct dm_ofi_ctrl_entry, link);

        if (!dm_ofi_ctrl_send(dm_ofi_ep_conn(ep), &entry->ctrl)) {
            dm_net_ep_wait(any);
            break;
        }
        dm_list_del(&entry->link);
        free(entry);
    }
    if (ep->is_ack_due && any->conn != NULL)
        dm_ofi_conn_ack(dm_ofi_ep_conn(ep));
    ep->is_ack_due = false;
    dm_ofi_recv_push(ep);
    dm_ofi_dto_push(ep);
}

void dm_ofi_ep_flush(struct dm_net_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    ep->is_recv_open = false;
    dm_ofi_dto_flush(ep);
    dm_transport_recv_flush(any);
    while (!dm_list_is_empty(&ep->ctrls)) {
        struct dm_ofi_ctrl_entry *entry =
            dm_container_of(ep->ctrls.next, struct dm_ofi_ctrl_entry, link);

        dm_list_del(&entry->link);
        free(entry);
    }
    dm_ofi_rkeys_drop(ep);
    ep->n_inval_due = 0;
    dm_ofi_rkey_acked(ep, UINT64_MAX);
}
