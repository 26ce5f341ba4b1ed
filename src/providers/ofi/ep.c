/*
 * Endpoints: life cycle. Unlike its fid_ep, which lasts as long as a
 * connection, a DAT endpoint may be connected again and again.
 */
#include "providers/ofi/ep.h"

#include <stdlib.h>

#include "providers/ofi/ctrl.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/progress.h"
#include "providers/ofi/recv.h"
#include "providers/ofi/rkey.h"
#include "providers/ofi/srq.h"

#define CLOSE_NS 100000000u /* for the peer to close */

DAT_RETURN dm_ofi_ep_create(struct dm_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    dm_list_init(&ep->sent);
    dm_list_init(&ep->queue);
    dm_list_init(&ep->recvs);
    dm_list_init(&ep->recv_queue);
    dm_list_init(&ep->ctrls);
    dm_list_init(&ep->recv_requests);
    ep->srq = (struct dm_ofi_srq *)any->srq;
    dm_ofi_ep_marks_init(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_ofi_ep_modified(struct dm_ep *ep, bool is_queue_new)
{
    (void)is_queue_new; /* lists have any length */
    dm_ofi_ep_marks_init((struct dm_ofi_ep *)ep);
    return DAT_SUCCESS;
}

void dm_ofi_ep_is_idle(struct dm_ep *any, bool *is_recv_idle_p, bool *is_request_idle_p)
{
    const struct dm_ofi_ep *ep = (const struct dm_ofi_ep *)any;

    *is_recv_idle_p = dm_list_is_empty(&ep->recvs) && dm_list_is_empty(&ep->recv_queue);
    *is_request_idle_p = dm_list_is_empty(&ep->sent) && dm_list_is_empty(&ep->queue);
}

void dm_ofi_ep_reset(struct dm_ep *any)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;

    ep->n_recv_posted = 0;
    ep->n_signalled = 0;
    ep->n_taken = 0;
}

void dm_ofi_ep_destroy(struct dm_ep *ep)
{
    dm_ofi_ep_close_conn((struct dm_ofi_ep *)ep);
    dm_ofi_ep_flush((struct dm_ofi_ep *)ep);
}

void dm_ofi_ep_drained(struct dm_ofi_ep *ep)
{
    if (!ep->ep.is_draining || ep->conn == NULL)
        return;
    ep->ep.is_draining = false;
    dm_ofi_conn_disconnect(ep->conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void dm_ofi_ep_close_conn(struct dm_ofi_ep *ep)
{
    struct dm_ofi_conn *conn = ep->conn;
    uint64_t until = dm_futex_now() + CLOSE_NS;

    if (conn == NULL)
        return;
    if (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED)
        dm_ofi_conn_disconnect(conn, 0);
    if (conn->state == DM_CONN_LINGERING) {
        conn->end.event = 0;
        while (ep->conn != NULL && dm_futex_now() < until)
            dm_net_progress_wait(&dm_ofi_ia_of(ep)->net);
    }
    if (ep->conn != NULL) {
        conn->end.event = 0;
        dm_ofi_conn_fail(conn, 0);
        conn->end.event = 0;
        dm_ofi_conns_end(conn->ia);
    }
}

void dm_ofi_wait_for_space(struct dm_ofi_ep *ep)
{
    if (ep->is_waiting)
        return;
    ep->is_waiting = true;
    dm_list_add_tail(&dm_ofi_ia_of(ep)->waiting, &ep->link_waiting);
}

void dm_ofi_ep_push_all(struct dm_ofi_ia *ia)
{
    struct dm_list waiting;

    dm_list_init(&waiting);
    while (!dm_list_is_empty(&ia->waiting)) {
        struct dm_list *it = ia->waiting.next;

        dm_list_del(it);
        dm_list_add_tail(&waiting, it);
    }
    while (!dm_list_is_empty(&waiting)) {
        struct dm_ofi_ep *ep = dm_container_of(waiting.next, struct dm_ofi_ep, link_waiting);

        dm_list_del(&ep->link_waiting);
        ep->is_waiting = false;
        while (!dm_list_is_empty(&ep->ctrls) && ep->conn != NULL) {
            struct dm_ofi_ctrl_entry *entry =
                dm_container_of(ep->ctrls.next, struct dm_ofi_ctrl_entry, link);

            if (!dm_ofi_ctrl_send(ep->conn, &entry->ctrl)) {
                dm_ofi_wait_for_space(ep);
                break;
            }
            dm_list_del(&entry->link);
            free(entry);
        }
        if (ep->is_ack_due && ep->conn != NULL)
            dm_ofi_conn_ack(ep->conn);
        ep->is_ack_due = false;
        dm_ofi_recv_push(ep);
        dm_ofi_dto_push(ep);
    }
}

void dm_ofi_ep_flush(struct dm_ofi_ep *ep)
{
    ep->is_recv_open = false;
    dm_ofi_dto_flush(ep);
    dm_ofi_recv_flush(ep);
    dm_rmr_ep_down(&ep->ep);
    while (!dm_list_is_empty(&ep->ctrls)) {
        struct dm_ofi_ctrl_entry *entry =
            dm_container_of(ep->ctrls.next, struct dm_ofi_ctrl_entry, link);

        dm_list_del(&entry->link);
        free(entry);
    }
    if (ep->is_waiting)
        dm_list_del(&ep->link_waiting);
    ep->is_waiting = false;
    dm_ofi_srq_drop_requests(ep);
    dm_ofi_rkeys_drop(ep);
    ep->n_inval_due = 0;
    dm_ofi_rkey_acked(ep, UINT64_MAX);
}
