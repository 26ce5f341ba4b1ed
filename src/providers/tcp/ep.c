/*
 * Endpoints: life cycle. Unlike its socket, which lasts as long as a connection, an endpoint may be
 * connected again and again.
 */
#include "providers/tcp/ep.h"

#include "providers/tcp/dto.h"
#include "providers/tcp/recv.h"
#include "providers/tcp/srq.h"
#include "providers/tcp/stream.h"

#define CLOSE_NS 100000000u /* for the peer to close */

DAT_RETURN dm_tcp_ep_create(struct dm_ep *any)
{
    struct dm_tcp_ep *ep = (struct dm_tcp_ep *)any;

    dm_list_init(&ep->sent);
    dm_list_init(&ep->queue);
    dm_list_init(&ep->recvs);
    dm_list_init(&ep->asked);
    ep->srq = (struct dm_tcp_srq *)any->srq;
    dm_tcp_ep_marks_init(ep);
    return DAT_SUCCESS;
}

DAT_RETURN dm_tcp_ep_modified(struct dm_ep *ep, bool is_queue_new)
{
    (void)is_queue_new; /* lists have any length */
    dm_tcp_ep_marks_init((struct dm_tcp_ep *)ep);
    return DAT_SUCCESS;
}

void dm_tcp_ep_is_idle(struct dm_ep *any, bool *is_recv_idle_p, bool *is_request_idle_p)
{
    const struct dm_tcp_ep *ep = (const struct dm_tcp_ep *)any;

    *is_recv_idle_p = ep->n_recvs == 0 && (ep->conn == NULL || ep->conn->in.op == NULL);
    *is_request_idle_p = dm_tcp_dto_is_idle(ep);
}

void dm_tcp_ep_reset(struct dm_ep *any)
{
    struct dm_tcp_ep *ep = (struct dm_tcp_ep *)any;

    ep->n_recv_posted = 0;
    ep->n_signalled = 0;
    ep->n_taken = 0;
}

void dm_tcp_ep_destroy(struct dm_ep *any)
{
    struct dm_tcp_ep *ep = (struct dm_tcp_ep *)any;

    dm_tcp_ep_close_conn(ep);
    dm_tcp_ep_flush(ep);
}

void dm_tcp_ep_drained(struct dm_tcp_ep *ep)
{
    if (dm_likely(!ep->ep.is_draining) || ep->conn == NULL || !dm_tcp_dto_is_idle(ep))
        return;
    ep->ep.is_draining = false;
    dm_tcp_conn_disconnect(ep->conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void dm_tcp_ep_close_conn(struct dm_tcp_ep *ep)
{
    struct dm_tcp_conn *conn = ep->conn;
    uint64_t until = dm_futex_now() + CLOSE_NS;

    if (conn == NULL)
        return;
    if (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED)
        dm_tcp_conn_disconnect(conn, 0);
    if (conn->state == DM_CONN_LINGERING) {
        conn->end.event = 0;
        while (ep->conn != NULL && dm_futex_now() < until)
            dm_net_progress_wait(&dm_tcp_ia_of(ep)->net);
    }
    if (ep->conn != NULL) {
        dm_tcp_conn_fail(conn, 0);
        conn->end.event = 0;
        dm_tcp_conns_end(conn->ia);
    }
}

void dm_tcp_ep_wait(struct dm_tcp_ep *ep)
{
    if (ep->is_waiting)
        return;
    ep->is_waiting = true;
    dm_list_add_tail(&dm_tcp_ia_of(ep)->waiting, &ep->link_waiting);
}

void dm_tcp_ep_push_all(struct dm_tcp_ia *ia)
{
    struct dm_list waiting;

    dm_list_init(&waiting);
    while (!dm_list_is_empty(&ia->waiting)) {
        struct dm_list *it = ia->waiting.next;

        dm_list_del(it);
        dm_list_add_tail(&waiting, it);
    }
    while (!dm_list_is_empty(&waiting)) {
        struct dm_tcp_ep *ep = dm_container_of(waiting.next, struct dm_tcp_ep, link_waiting);

        dm_list_del(&ep->link_waiting);
        ep->is_waiting = false;
        if (ep->conn != NULL)
            dm_tcp_out_push(ep->conn);
    }
}

void dm_tcp_ep_flush(struct dm_tcp_ep *ep)
{
    dm_tcp_dto_flush(ep);
    dm_tcp_recv_flush(ep);
    dm_rmr_ep_down(&ep->ep);
    if (ep->is_waiting)
        dm_list_del(&ep->link_waiting);
    ep->is_waiting = false;
    dm_tcp_srq_drop_asked(ep);
}
