/*
 * Connecting and disconnecting: the active side, and the end of both.
 *
 * A qualifier is looked for at the ports where its listener may be, one after the other
 * (dm_net_qual_port()); a listener that does not serve it says NOBODY.
 */
#include "providers/tcp/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

enum { REDIRECTS_MAX = 64 };

/* The attempt has failed: one event, and the endpoint needs a reset. */
static void tcp_cm_conn_fail(struct dm_tcp_conn *conn, DAT_EVENT_NUMBER event, const void *data,
                             uint32_t len)
{
    if (len > 0)
        memcpy(conn->ep->ep.private_data, data, len);
    conn->end.event_len = (DAT_COUNT)len;
    dm_tcp_conn_fail(conn, event);
}

/* What this process is short of looks like an unreachable address: warn once. */
static void tcp_cm_unreachable(struct dm_tcp_conn *conn, int err)
{
    struct dm_tcp_ia *ia = conn->ia;
    const char *name = ia->net.pia.obj.provider->device_name;
    bool is_short = err == EADDRNOTAVAIL || err == EMFILE;

    if (is_short && !ia->is_short_reported && err == EMFILE)
        dm_log_warn("%s: this process may open no more descriptors (ulimit -n): no connection can "
                    "be made",
                    name);
    else if (is_short && !ia->is_short_reported)
        dm_log_warn("%s: no local port is free (sysctl net.ipv4.ip_local_port_range), or the "
                    "address of %s is gone: no connection can be made",
                    name, ia->net.iface);
    ia->is_short_reported = ia->is_short_reported || is_short;
    tcp_cm_conn_fail(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
}

static bool err_is_refused(int err)
{
    return err == ECONNREFUSED || err == ECONNRESET || err == ECONNABORTED;
}

/* Connect to the next port; none left: not the consumer's rejection. */
static void tcp_cm_connect_next(struct dm_tcp_conn *conn)
{
    const struct sockaddr *to = (const struct sockaddr *)&conn->active.to;
    uint16_t port;

    conn->state = DM_CONN_CONNECTING;
    while ((port = dm_net_qual_port(conn->active.qual, conn->active.n_ports_tried++)) != 0) {
        dm_net_addr_set_port(&conn->active.to, port);
        dm_tcp_conn_close_fd(conn);
        if (!dm_tcp_conn_open(conn, -1)) {
            tcp_cm_unreachable(conn, errno);
            return;
        }
        if (connect(conn->fd, to, dm_net_addr_len(to)) == 0 || errno == EINPROGRESS)
            return; /* epoll tells */
        if (!err_is_refused(errno)) {
            tcp_cm_unreachable(conn, errno);
            return;
        }
    }
    tcp_cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

void dm_tcp_cm_connected(struct dm_tcp_conn *conn, int err)
{
    if (err_is_refused(err)) {
        tcp_cm_connect_next(conn);
        return;
    }
    if (err != 0) {
        tcp_cm_unreachable(conn, err);
        return;
    }
    dm_tcp_conn_arm(conn, false);
    dm_tcp_conn_keepalive_start(conn);
    conn->state = DM_CONN_REQUESTED;
    dm_tcp_out_handshake(conn, DM_HANDSHAKE_REQUEST, 0, conn->active.qual, conn->active.request,
                         (uint32_t)conn->active.request_len);
}

void dm_tcp_cm_shutdown(struct dm_tcp_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_CONNECTING:
    case DM_CONN_REQUESTED:
        tcp_cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_tcp_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    case DM_CONN_UP:
        dm_tcp_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
        break;
    default: /* a request that nobody has answered: its CR finds no connection */
        dm_tcp_conn_fail(conn, 0);
        break;
    }
}

void dm_tcp_cm_timeout(struct dm_tcp_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_CONNECTING:
    case DM_CONN_REQUESTED:
        tcp_cm_conn_fail(conn, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
        break;
    case DM_CONN_HALF_OPEN:
        dm_tcp_conn_fail(conn, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_tcp_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    default:
        break;
    }
}

static void tcp_cm_accepted(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting)
{
    struct dm_tcp_ep *ep = conn->ep;

    dm_tcp_conn_peer_set(conn, &greeting->handshake);
    memcpy(ep->ep.private_data, greeting->data, greeting->handshake.data_len);
    dm_tcp_out_handshake(conn, DM_HANDSHAKE_READY, 0, 0, NULL, 0);
    if (conn->state == DM_CONN_REQUESTED)
        dm_tcp_conn_up(conn, (DAT_COUNT)greeting->handshake.data_len);
}

/* Connect somewhere else; after the round, as the socket is to be closed. */
static void tcp_cm_redirected(struct dm_tcp_conn *conn, DAT_CONN_QUAL qual)
{
    conn->ep->ep.remote_qual = qual;
    conn->active.qual = qual;
    conn->active.n_ports_tried = 0;
    if (++conn->active.n_redirects > REDIRECTS_MAX) { /* in circles */
        tcp_cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    conn->state = DM_CONN_REDIRECTED;
    conn->ia->n_redirected++;
}

void dm_tcp_cm_redirect(struct dm_tcp_ia *ia)
{
    ia->n_redirected = 0;
    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_tcp_conn *conn = dm_container_of(it, struct dm_tcp_conn, link);

        if (conn->state == DM_CONN_REDIRECTED)
            tcp_cm_connect_next(conn);
    }
}

void dm_tcp_cm_handshake(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting)
{
    const struct dm_tcp_handshake *handshake = &greeting->handshake;

    if (conn->state == DM_CONN_HALF_OPEN && handshake->type == DM_HANDSHAKE_REQUEST) {
        dm_tcp_cm_request(conn, greeting);
    } else if (conn->state == DM_CONN_ACCEPTED && handshake->type == DM_HANDSHAKE_READY) {
        conn->credits.n_peer_recvs = handshake->n_recvs;
        dm_tcp_conn_up(conn, 0);
    } else if (conn->state == DM_CONN_REQUESTED && handshake->type == DM_HANDSHAKE_ACCEPT) {
        tcp_cm_accepted(conn, greeting);
    } else if (conn->state == DM_CONN_REQUESTED && handshake->type == DM_HANDSHAKE_REJECT) {
        tcp_cm_conn_fail(conn,
                         handshake->status == 1 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                                : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                         greeting->data, handshake->data_len);
    } else if (conn->state == DM_CONN_REQUESTED && handshake->type == DM_HANDSHAKE_HANDOFF) {
        tcp_cm_redirected(conn, handshake->qual);
    } else if (conn->state == DM_CONN_REQUESTED && handshake->type == DM_HANDSHAKE_NOBODY) {
        conn->state = DM_CONN_REDIRECTED; /* the next port */
        conn->ia->n_redirected++;
    } else {
        dm_tcp_cm_shutdown(conn);
    }
}

/* ---- dat_ep_connect, dat_ep_disconnect ---- */

static struct dm_tcp_conn *cm_conn_new(struct dm_tcp_ia *ia, const struct dm_connect *how)
{
    struct dm_tcp_conn *conn = dm_tcp_conn_new(ia, DM_CONN_CONNECTING);

    if (conn == NULL)
        return NULL;
    conn->active.request = malloc((size_t)how->len + 1);
    if (conn->active.request == NULL) {
        dm_tcp_conn_fail(conn, 0);
        return NULL;
    }
    if (how->len > 0)
        memcpy(conn->active.request, how->data, (size_t)how->len);
    conn->active.request_len = how->len;
    conn->active.qual = how->qual;
    return conn;
}

DAT_RETURN dm_tcp_ep_connect(struct dm_ep *any, const struct dm_connect *how)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)any->obj.ia;
    struct dm_tcp_ep *ep = (struct dm_tcp_ep *)any;
    struct dm_tcp_conn *conn = cm_conn_new(ia, how);

    memset(&any->remote_addr, 0, sizeof(any->remote_addr));
    memcpy(&any->remote_addr, how->addr, dm_net_addr_len(how->addr));
    any->remote_qual = how->qual;
    if (conn == NULL)
        return DM_DAT_NOMEM;
    conn->ep = ep;
    ep->conn = conn;
    atomic_store(&any->state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    if (how->addr->sa_family != ia->net.pia.addr.sa.sa_family) {
        tcp_cm_conn_fail(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    dm_net_target(&ia->net, how->addr, &conn->active.to);
    dm_tcp_conn_timer(conn, dm_futex_deadline(how->timeout));
    tcp_cm_connect_next(conn);
    dm_tcp_conns_end(ia);
    dm_net_kick(&ia->net.pia);
    return DAT_SUCCESS;
}

void dm_tcp_ep_disconnect(struct dm_ep *any)
{
    struct dm_tcp_conn *conn = ((struct dm_tcp_ep *)any)->conn;

    if (atomic_load(&any->state) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
        dm_tcp_conn_fail(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
    else if (conn != NULL)
        dm_tcp_conn_disconnect(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}
