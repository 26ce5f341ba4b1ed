/*
 * Endpoints: life cycle. Unlike its socket, which lasts as long as a connection, an endpoint may be
 * connected again and again.
 */
#include "providers/net/ep.h"

#include "providers/net/conn.h"
#include "providers/net/srq.h"

#define CLOSE_NS 100000000u /* for the peer to close */

DAT_RETURN dm_net_ep_create(struct dm_ep *any)
{
    struct dm_net_ep *ep = (struct dm_net_ep *)any;

    dm_list_init(&ep->sent);
    dm_list_init(&ep->queue);
    dm_list_init(&ep->recvs);
    dm_list_init(&ep->asked);
    ep->srq = (struct dm_net_srq *)any->srq;
    dm_net_ep_marks_init(ep);
    if (dm_net_of(ep)->ops->ep_init != NULL)
        dm_net_of(ep)->ops->ep_init(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_net_ep_modified(struct dm_ep *ep, bool is_queue_new)
{
    (void)is_queue_new; /* lists have any length */
    dm_net_ep_marks_init((struct dm_net_ep *)ep);
    return DAT_SUCCESS;
}

void dm_net_ep_reset(struct dm_ep *any)
{
    struct dm_net_ep *ep = (struct dm_net_ep *)any;

    ep->n_recv_posted = 0;
    ep->n_signalled = 0;
    ep->n_taken = 0;
}

/* Close the connection now, with a disconnect, without an event. Not within a round. */
static void net_ep_close_conn(struct dm_net_ep *ep)
{
    struct dm_net_conn *conn = ep->conn;
    uint64_t until = dm_futex_now() + CLOSE_NS;

    if (conn == NULL)
        return;
    if (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED)
        dm_net_conn_disconnect(conn, 0);
    if (conn->state == DM_CONN_LINGERING) {
        conn->end.event = 0;
        while (ep->conn != NULL && dm_futex_now() < until)
            dm_net_progress_wait(dm_net_of(ep));
    }
    if (ep->conn != NULL) {
        dm_net_conn_fail(conn, 0);
        conn->end.event = 0;
        dm_net_conns_end(dm_net_of(ep));
    }
}

void dm_net_ep_destroy(struct dm_ep *any)
{
    struct dm_net_ep *ep = (struct dm_net_ep *)any;

    net_ep_close_conn(ep);
    dm_net_ep_flush(ep);
}

void dm_net_ep_drained(struct dm_net_ep *ep)
{
    if (dm_likely(!ep->ep.is_draining) || ep->conn == NULL)
        return;
    ep->ep.is_draining = false;
    dm_net_conn_disconnect(ep->conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void dm_net_ep_wait(struct dm_net_ep *ep)
{
    if (ep->is_waiting)
        return;
    ep->is_waiting = true;
    dm_list_add_tail(&dm_net_of(ep)->waiting, &ep->link_waiting);
}

void dm_net_eps_push(struct dm_net *net)
{
    struct dm_list waiting;

    dm_list_init(&waiting);
    while (!dm_list_is_empty(&net->waiting)) {
        struct dm_list *it = net->waiting.next;

        dm_list_del(it);
        dm_list_add_tail(&waiting, it);
    }
    while (!dm_list_is_empty(&waiting)) {
        struct dm_net_ep *ep = dm_container_of(waiting.next, struct dm_net_ep, link_waiting);

        dm_list_del(&ep->link_waiting);
        ep->is_waiting = false;
        net->ops->ep_push(ep);
    }
}

void dm_net_ep_flush(struct dm_net_ep *ep)
{
    dm_net_of(ep)->ops->ep_flush(ep);
    dm_rmr_ep_down(&ep->ep);
    if (ep->is_waiting)
        dm_list_del(&ep->link_waiting);
    ep->is_waiting = false;
    dm_net_srq_drop_asked(ep);
}
