/*
 * Connections: the end.
 *
 * A connection that is over is put on net->ending, and closed after the round: then the transport
 * reports what was outstanding, the endpoint flushes the rest, and the consumer gets the one event
 * that ends it.
 */
#include "providers/net/conn.h"

#include <stdlib.h>

#include "providers/net/listener.h"

#define LINGER_NS    2000000000u /* for the peer to close */
#define CLOSE_ALL_NS 500000000u

/* It leaves the state in which most of its life passes. */
static void conn_down(struct dm_net_conn *conn)
{
    struct dm_net *net = conn->net;

    if (conn->state != DM_CONN_UP)
        return;
    net->n_setup++;
    if (net->ops->conn_down != NULL)
        net->ops->conn_down(conn);
}

void dm_net_conn_fail(struct dm_net_conn *conn, DAT_EVENT_NUMBER event)
{
    struct dm_net *net = conn->net;

    if (conn->state == DM_CONN_CLOSED)
        return;
    conn_down(conn);
    if (conn->state != DM_CONN_LINGERING) /* else the event is known */
        conn->end.event = event;
    conn->state = DM_CONN_CLOSED;
    if (conn->ep != NULL && atomic_load(&conn->ep->ep.state) == DAT_EP_STATE_CONNECTED)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    dm_list_del(&conn->link);
    dm_list_add_tail(&net->ending, &conn->link);
    if (!net->is_in_round)
        dm_net_kick(&net->pia);
}

/* Send the last words, and wait for the peer to close, for a while. */
static void net_close_begin(struct dm_net_conn *conn, enum dm_net_last last, DAT_EVENT_NUMBER event)
{
    if (conn->state >= DM_CONN_LINGERING)
        return;
    conn_down(conn);
    conn->end.event = event;
    conn->state = DM_CONN_LINGERING;
    if (conn->ep != NULL)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    conn->end.linger_until = dm_futex_now() + LINGER_NS;
    dm_net_conn_timer(conn, conn->end.linger_until);
    conn->net->ops->conn_last(conn, last);
}

void dm_net_conn_terminate(struct dm_net_conn *conn, DAT_EVENT_NUMBER event)
{
    net_close_begin(conn, DM_NET_LAST_TERMINATE, event);
}

void dm_net_conn_nak(struct dm_net_conn *conn)
{
    conn->end.is_nak_sent = true;
    dm_evd_add_async(conn->net->pia.async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)conn->ep,
                     DAT_EP_TRANSFER_TO_ERROR);
    dm_net_conn_terminate(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void dm_net_conn_disconnect(struct dm_net_conn *conn, DAT_EVENT_NUMBER event)
{
    net_close_begin(conn, DM_NET_LAST_DISCONNECT, event);
}

void dm_net_conn_linger(struct dm_net_conn *conn)
{
    net_close_begin(conn, DM_NET_LAST_ANSWER, 0);
}

void dm_net_conns_disconnect(struct dm_pia *pia)
{
    struct dm_net *net = (struct dm_net *)pia;
    uint64_t until = dm_futex_now() + CLOSE_ALL_NS;
    bool is_any = true;

    dm_list_for_each_safe (it, next, &net->conns) {
        struct dm_net_conn *conn = dm_container_of(it, struct dm_net_conn, link);

        if (conn->ep != NULL && (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED))
            dm_net_conn_disconnect(conn, 0);
    }
    while (is_any && dm_futex_now() < until) {
        is_any = false;
        dm_net_progress_wait(net);
        dm_list_for_each (it, &net->conns)
            is_any |= dm_container_of(it, struct dm_net_conn, link)->state == DM_CONN_LINGERING;
    }
}

/* What the consumer is told. */
static void conn_report(const struct dm_net_conn *conn, struct dm_ep *ep)
{
    const struct dm_net_conn_end *end = &conn->end;

    if ((end->is_peer_terminated && !end->is_nak_received) ||
        (ep->srq != NULL && end->event != 0 && conn->was_up && !end->is_nak_sent))
        dm_evd_add_async(conn->net->pia.async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                         DAT_EP_TRANSFER_TO_ERROR); /* else it has been reported */
    if (end->event != 0)
        dm_evd_add_conn(ep->connect_evd, end->event, (DAT_EP_HANDLE)ep, ep->private_data,
                        end->event_len);
}

/* The socket is closed and nothing is outstanding. */
static void net_conn_finish(struct dm_net_conn *conn)
{
    struct dm_net_ep *ep = conn->ep;

    dm_cr_lost(&conn->cr);
    if (ep != NULL) {
        ep->conn = NULL;
        conn->ep = NULL;
        ep->ep.is_draining = false;
        atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECTED);
        dm_net_ep_flush(ep);
        conn_report(conn, &ep->ep);
    }
    conn->net->n_setup--;
    conn->net->ops->conn_free(conn);
    free(conn->active.request);
    free(conn);
}

void dm_net_conns_end(struct dm_net *net)
{
    if (net->is_in_round)
        return;
    while (!dm_list_is_empty(&net->ending)) {
        struct dm_net_conn *conn = dm_container_of(net->ending.next, struct dm_net_conn, link);

        net->ops->conn_close(conn); /* may bring more */
        dm_list_del(&conn->link);
        net_conn_finish(conn);
    }
}

void dm_net_conns_close(struct dm_net *net)
{
    while (!dm_list_is_empty(&net->conns))
        dm_net_conn_fail(dm_container_of(net->conns.next, struct dm_net_conn, link), 0);
    dm_net_conns_end(net);
    (void)dm_net_listeners_timers(net, DM_FUTEX_FOREVER);
}
