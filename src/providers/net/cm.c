/*
 * Connecting and disconnecting: the active side, and the end of both.
 *
 * A qualifier is looked for at the ports where its listener may be, one after the other
 * (dm_net_qual_port()); a listener that does not serve it refuses, or says NOBODY.
 */
#include "providers/net/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

enum { REDIRECTS_MAX = 64 };

/* The attempt has failed: one event, and the endpoint needs a reset. */
static void cm_attempt_fail(struct dm_net_conn *conn, DAT_EVENT_NUMBER event, const void *data,
                            uint32_t len)
{
    if (len > 0)
        memcpy(conn->ep->ep.private_data, data, len);
    conn->end.event_len = (DAT_COUNT)len;
    dm_net_conn_fail(conn, event);
}

void dm_net_cm_no_descriptor(struct dm_net *net)
{
    if (!net->is_short_reported)
        dm_log_warn("%s: this process may open no more descriptors (ulimit -n): connections to it "
                    "have to wait, and none can be made",
                    net->pia.obj.provider->device_name);
    net->is_short_reported = true;
}

/* What this process is short of looks like an unreachable address: warn once. */
void dm_net_cm_unreachable(struct dm_net_conn *conn, int err)
{
    struct dm_net *net = conn->net;
    const char *name = net->pia.obj.provider->device_name;

    if (err == EMFILE) {
        dm_net_cm_no_descriptor(net);
    } else if (err == EADDRNOTAVAIL && !net->is_short_reported) {
        dm_log_warn("%s: no local port is free (sysctl net.ipv4.ip_local_port_range), or the "
                    "address of %s is gone: no connection can be made",
                    name, net->iface);
        net->is_short_reported = true;
    }
    cm_attempt_fail(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
}

void dm_net_cm_connect_next(struct dm_net_conn *conn)
{
    uint16_t port;
    int err;

    conn->state = DM_CONN_CONNECTING;
    while ((port = dm_net_qual_port(conn->active.qual, conn->active.n_ports_tried++)) != 0) {
        dm_net_addr_set_port(&conn->active.to, port);
        err = conn->net->ops->connect(conn);
        if (err == 0)
            return;
        if (err != ECONNREFUSED) {
            dm_net_cm_unreachable(conn, err);
            return;
        }
    }
    cm_attempt_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

void dm_net_cm_connected(struct dm_net_conn *conn)
{
    conn->state = DM_CONN_REQUESTED;
    if (!conn->net->ops->handshake(conn, DM_HANDSHAKE_REQUEST, 0, conn->active.qual,
                                   conn->active.request, (uint32_t)conn->active.request_len))
        cm_attempt_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

void dm_net_cm_next_port(struct dm_net_conn *conn)
{
    conn->state = DM_CONN_REDIRECTED;
    conn->net->n_redirected++;
}

void dm_net_cm_shutdown(struct dm_net_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_CONNECTING:
    case DM_CONN_REQUESTED:
        cm_attempt_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        break;
    case DM_CONN_REDIRECTED: /* nothing else is wanted of it */
        break;
    case DM_CONN_ACCEPTED:
        dm_net_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    case DM_CONN_UP:
        dm_net_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
        break;
    default: /* a request that nobody has answered: its CR finds no connection */
        dm_net_conn_fail(conn, 0);
        break;
    }
}

void dm_net_cm_timeout(struct dm_net_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_CONNECTING:
    case DM_CONN_REQUESTED:
        cm_attempt_fail(conn, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
        break;
    case DM_CONN_HALF_OPEN:
        dm_net_conn_fail(conn, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_net_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    default:
        break;
    }
}

static void net_cm_accepted(struct dm_net_conn *conn, const struct dm_net_greeting *greeting)
{
    conn->deadline = DM_FUTEX_FOREVER;
    memcpy(conn->ep->ep.private_data, greeting->data, greeting->data_len);
    if (!conn->net->ops->handshake(conn, DM_HANDSHAKE_READY, 0, 0, NULL, 0))
        cm_attempt_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
    else if (conn->state == DM_CONN_REQUESTED)
        dm_net_conn_up(conn, (DAT_COUNT)greeting->data_len);
}

/* Connect somewhere else. */
static void net_cm_redirected(struct dm_net_conn *conn, DAT_CONN_QUAL qual)
{
    conn->ep->ep.remote_qual = qual;
    conn->active.qual = qual;
    conn->active.n_ports_tried = 0;
    if (++conn->active.n_redirects > REDIRECTS_MAX) { /* in circles */
        cm_attempt_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    dm_net_cm_next_port(conn);
}

void dm_net_cm_redirect(struct dm_net *net)
{
    net->n_redirected = 0;
    dm_list_for_each_safe (it, next, &net->conns) {
        struct dm_net_conn *conn = dm_container_of(it, struct dm_net_conn, link);

        if (conn->state == DM_CONN_REDIRECTED)
            dm_net_cm_connect_next(conn);
    }
}

/* An answer to our request. False: it is none. */
static bool cm_answered(struct dm_net_conn *conn, const struct dm_net_greeting *greeting)
{
    switch (greeting->type) {
    case DM_HANDSHAKE_ACCEPT:
        net_cm_accepted(conn, greeting);
        return true;
    case DM_HANDSHAKE_REJECT:
        cm_attempt_fail(conn,
                        greeting->status == 1 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                              : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                        greeting->data, greeting->data_len);
        return true;
    case DM_HANDSHAKE_HANDOFF:
        net_cm_redirected(conn, greeting->qual);
        return true;
    case DM_HANDSHAKE_NOBODY:
        dm_net_cm_next_port(conn);
        return true;
    default:
        return false;
    }
}

bool dm_net_cm_handshake(struct dm_net_conn *conn, const struct dm_net_greeting *greeting)
{
    if (conn->state == DM_CONN_REQUESTED)
        return cm_answered(conn, greeting);
    if (conn->state == DM_CONN_HALF_OPEN && greeting->type == DM_HANDSHAKE_REQUEST) {
        dm_net_cm_request(conn, greeting);
        return true;
    }
    if (conn->state != DM_CONN_ACCEPTED || greeting->type != DM_HANDSHAKE_READY)
        return false;
    dm_net_conn_up(conn, 0);
    return true;
}

/* ---- dat_ep_connect, dat_ep_disconnect ---- */

static struct dm_net_conn *cm_conn_new(struct dm_net *net, const struct dm_connect *how)
{
    struct dm_net_conn *conn = dm_net_conn_new(net, DM_CONN_CONNECTING);

    if (conn == NULL)
        return NULL;
    conn->active.request = malloc((size_t)how->len + 1);
    if (conn->active.request == NULL) {
        dm_net_conn_fail(conn, 0);
        return NULL;
    }
    if (how->len > 0)
        memcpy(conn->active.request, how->data, (size_t)how->len);
    conn->active.request_len = how->len;
    conn->active.qual = how->qual;
    return conn;
}

DAT_RETURN dm_net_ep_connect(struct dm_ep *ep, const struct dm_connect *how)
{
    struct dm_net *net = (struct dm_net *)ep->obj.ia;
    struct dm_net_conn *conn = cm_conn_new(net, how);

    memset(&ep->remote_addr, 0, sizeof(ep->remote_addr));
    memcpy(&ep->remote_addr, how->addr, dm_net_addr_len(how->addr));
    ep->remote_qual = how->qual;
    if (conn == NULL)
        return DM_DAT_NOMEM;
    conn->ep = (struct dm_net_ep *)ep;
    conn->ep->conn = conn;
    atomic_store(&ep->state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    if (how->addr->sa_family != net->pia.addr.sa.sa_family) {
        cm_attempt_fail(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    dm_net_target(net, how->addr, &conn->active.to);
    dm_net_conn_timer(conn, dm_futex_deadline(how->timeout));
    dm_net_cm_connect_next(conn);
    dm_net_conns_end(net);
    dm_net_kick(&net->pia);
    return DAT_SUCCESS;
}

void dm_net_ep_disconnect(struct dm_ep *ep)
{
    struct dm_net_conn *conn = ((struct dm_net_ep *)ep)->conn;

    if (atomic_load(&ep->state) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
        dm_net_conn_fail(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
    else if (conn != NULL)
        dm_net_conn_disconnect(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}
