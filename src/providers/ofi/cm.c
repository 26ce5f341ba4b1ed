/*
 * Connecting and disconnecting: the active side, and the end of both.
 *
 * A qualifier is looked for at the ports where its listener may be, one after
 * the other (dm_net_qual_port()); a listener that does not serve it rejects
 * fi_connect.
 */
#include "providers/ofi/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/ofi/ctrl.h"
#include "providers/ofi/recv.h"
#include "providers/ofi/transport/handshake.h"
#include "providers/ofi/transport/listener.h"
#include "util/log.h"

enum { REDIRECTS_MAX = 64 };

/* The attempt has failed: one event, and the endpoint needs a reset. */
static void cm_conn_fail(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event, const void *data,
                         uint32_t len)
{
    if (len > 0)
        memcpy(conn->ep->ep.private_data, data, len);
    conn->end.event_len = (DAT_COUNT)len;
    dm_ofi_conn_fail(conn, event);
}

/* What this process is short of looks like an unreachable address: warn once. */
static void cm_unreachable(struct dm_ofi_conn *conn, int err)
{
    struct dm_ofi_ia *ia = conn->ia;
    const char *name = ia->net.pia.obj.provider->device_name;
    bool is_short = err == FI_EADDRNOTAVAIL || err == FI_EMFILE;

    if (is_short && !ia->is_short_reported && err == FI_EMFILE)
        dm_log_warn("%s: this process may open no more descriptors (ulimit -n): no connection can "
                    "be made",
                    name);
    else if (is_short && !ia->is_short_reported)
        dm_log_warn("%s: no local port is free (sysctl net.ipv4.ip_local_port_range), or the "
                    "address of %s is gone: no connection can be made",
                    name, ia->net.iface);
    ia->is_short_reported = ia->is_short_reported || is_short;
    cm_conn_fail(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
}

/* Connect to the next port; none left: not the consumer's rejection. */
static void cm_connect_next(struct dm_ofi_conn *conn)
{
    struct dm_ofi_connect_data call = {
        .magic = DM_OFI_MAGIC, .version = DM_OFI_VERSION, .qual = conn->active.qual};
    uint16_t port;
    int err;

    conn->state = DM_CONN_CONNECTING;
    while ((port = dm_net_qual_port(conn->active.qual, conn->active.n_ports_tried++)) != 0) {
        dm_net_addr_set_port(&conn->active.to, port);
        dm_ofi_conn_close_fid(conn);
        errno = 0;
        if (!dm_ofi_conn_open(conn, NULL)) {
            cm_unreachable(conn, errno);
            return;
        }
        err = fi_connect(conn->fid, &conn->active.to, &call, sizeof(call));
        if (err == 0)
            return;
        if (err != -FI_ECONNREFUSED) {
            cm_unreachable(conn, -err);
            return;
        }
    }
    cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

void dm_ofi_cm_error(struct dm_ofi_conn *conn, int err)
{
    if (conn->state != DM_CONN_CONNECTING)
        dm_ofi_cm_shutdown(conn);
    else if (err == FI_ECONNREFUSED || err == FI_ECONNRESET || err == FI_ECONNABORTED)
        cm_connect_next(conn);
    else
        cm_unreachable(conn, err);
}

void dm_ofi_cm_connected(struct dm_ofi_conn *conn)
{
    dm_ofi_conn_keepalive_start(conn);
    if (conn->state != DM_CONN_CONNECTING)
        return;
    conn->state = DM_CONN_REQUESTED;
    if (!dm_ofi_handshake_send(conn, DM_HANDSHAKE_REQUEST, 0, conn->ep->ep.local_qual,
                               conn->active.request, (uint32_t)conn->active.request_len))
        cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

void dm_ofi_cm_shutdown(struct dm_ofi_conn *conn)
{
    conn->is_shutdown = true;
    switch (conn->state) {
    case DM_CONN_CONNECTING:
    case DM_CONN_REQUESTED:
        cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    case DM_CONN_UP:
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
        break;
    default: /* a request that nobody has answered: its CR finds no connection */
        dm_ofi_conn_fail(conn, 0);
        break;
    }
}

void dm_ofi_cm_timeout(struct dm_ofi_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_CONNECTING:
    case DM_CONN_REQUESTED:
        cm_conn_fail(conn, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
        break;
    case DM_CONN_HALF_OPEN:
        dm_ofi_conn_fail(conn, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    default:
        break;
    }
}

static void ofi_cm_accepted(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake)
{
    struct dm_ofi_ep *ep = conn->ep;

    dm_ofi_conn_peer_set(conn, handshake);
    conn->deadline = DM_FUTEX_FOREVER;
    dm_ofi_recv_start(ep);
    if (!dm_ofi_handshake_send(conn, DM_HANDSHAKE_READY, 0, 0, NULL, 0)) {
        cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    memcpy(ep->ep.private_data, handshake->data, handshake->data_len);
    dm_ofi_conn_up(conn, (DAT_COUNT)handshake->data_len);
}

/* Connect somewhere else; after the round, as the endpoint is to be closed. */
static void ofi_cm_redirected(struct dm_ofi_conn *conn, DAT_CONN_QUAL qual)
{
    conn->ep->ep.remote_qual = qual;
    conn->active.qual = qual;
    conn->active.n_ports_tried = 0;
    if (++conn->active.n_redirects > REDIRECTS_MAX) { /* in circles */
        cm_conn_fail(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    conn->state = DM_CONN_REDIRECTED;
    conn->ia->n_redirected++;
}

void dm_ofi_cm_redirect(struct dm_ofi_ia *ia)
{
    ia->n_redirected = 0;
    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->state == DM_CONN_REDIRECTED)
            cm_connect_next(conn);
    }
}

void dm_ofi_cm_handshake(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake)
{
    if (conn->state == DM_CONN_HALF_OPEN && handshake->type == DM_HANDSHAKE_REQUEST) {
        dm_ofi_cm_request(conn, handshake);
    } else if (conn->state == DM_CONN_ACCEPTED && handshake->type == DM_HANDSHAKE_READY) {
        conn->credits.n_peer_recvs = handshake->n_recvs;
        conn->min_recv.peer = handshake->min_recv;
        dm_ofi_conn_up(conn, 0);
    } else if (conn->state == DM_CONN_REQUESTED && handshake->type == DM_HANDSHAKE_ACCEPT) {
        ofi_cm_accepted(conn, handshake);
    } else if (conn->state == DM_CONN_REQUESTED && handshake->type == DM_HANDSHAKE_REJECT) {
        cm_conn_fail(conn,
                     handshake->status == 1 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                            : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                     handshake->data, handshake->data_len);
    } else if (conn->state == DM_CONN_REQUESTED && handshake->type == DM_HANDSHAKE_HANDOFF) {
        ofi_cm_redirected(conn, handshake->qual);
    }
}

/* ---- dat_ep_connect, dat_ep_disconnect ---- */

DAT_RETURN dm_ofi_ep_connect(struct dm_ep *any, const struct dm_connect *how)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)any->obj.ia;
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;
    struct dm_ofi_conn *conn = dm_ofi_conn_new(ia, DM_CONN_CONNECTING);

    memset(&any->remote_addr, 0, sizeof(any->remote_addr));
    memcpy(&any->remote_addr, how->addr, dm_net_addr_len(how->addr));
    any->remote_qual = how->qual;
    if (conn == NULL)
        return DM_DAT_NOMEM;
    conn->active.request = malloc((size_t)how->len + 1);
    if (conn->active.request == NULL) {
        dm_ofi_conn_fail(conn, 0);
        return DM_DAT_NOMEM;
    }
    if (how->len > 0)
        memcpy(conn->active.request, how->data, (size_t)how->len);
    conn->active.request_len = how->len;
    conn->active.qual = how->qual;
    conn->ep = ep;
    ep->conn = conn;
    atomic_store(&any->state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    if (how->addr->sa_family != ia->net.pia.addr.sa.sa_family) {
        cm_conn_fail(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    dm_net_target(&ia->net, how->addr, &conn->active.to);
    dm_ofi_conn_timer(conn, dm_futex_deadline(how->timeout));
    cm_connect_next(conn);
    dm_ofi_conns_end(ia);
    dm_net_kick(&ia->net.pia);
    return DAT_SUCCESS;
}

void dm_ofi_ep_disconnect(struct dm_ep *any)
{
    struct dm_ofi_conn *conn = ((struct dm_ofi_ep *)any)->conn;

    if (atomic_load(&any->state) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
    else if (conn != NULL)
        dm_ofi_conn_disconnect(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}
