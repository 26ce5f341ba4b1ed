/*
 * Service points and connection requests: the passive side. The ports are in listener.c.
 */
#include "providers/ofi/cm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/ofi/recv.h"
#include "providers/ofi/transport/handshake.h"
#include "providers/ofi/transport/listener.h"

enum { HALF_OPEN_MAX = 1024, ANY_TRIES = 64 };

/* ---- service points ---- */

DAT_RETURN dm_ofi_cm_listen(struct dm_sp *sp)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)sp->obj.ia;
    struct dm_ofi_sp_port *port;
    DAT_RETURN ret = dm_ofi_sp_port_new(ia, sp->qual, NULL, &port);

    if (ret != DAT_SUCCESS)
        return ret;
    sp->listener = port;
    dm_net_kick(&ia->net.pia); /* whoever sleeps has one more thing to sleep on */
    return DAT_SUCCESS;
}

/* At a port that the system chooses. */
DAT_RETURN dm_ofi_cm_listen_any(struct dm_sp *sp)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)sp->obj.ia;

    for (int i = 0; i < ANY_TRIES; i++) {
        struct dm_ofi_listener *listener;
        struct dm_ofi_sp_port *port;
        DAT_RETURN ret;

        if (dm_ofi_listener_new(ia, 0, &listener) != 0)
            return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
        listener->n_refs = 1;
        ret = dm_ofi_sp_port_new(ia, listener->port, listener, &port);
        if (ret == DAT_SUCCESS) {
            sp->qual = listener->port;
            sp->listener = port;
            dm_net_kick(&ia->net.pia);
            return ret;
        }
        dm_ofi_listener_drop(listener);
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE) /* by somebody at another port */
            return ret;
    }
    return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

/* The peer closes when it has received that. */
void dm_ofi_cm_reject(void *any, bool is_by_consumer, DAT_COUNT len, const void *data)
{
    struct dm_ofi_conn *conn = any;

    if (!dm_ofi_handshake_send(conn, DM_HANDSHAKE_REJECT, is_by_consumer, 0, data, (uint32_t)len))
        dm_ofi_conn_fail(conn, 0);
    else
        dm_ofi_conn_linger(conn);
}

void dm_ofi_cm_unlisten(struct dm_sp *sp)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)sp->obj.ia;

    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->sp != sp)
            continue;
        conn->sp = NULL;
        if (conn->state == DM_CONN_HALF_OPEN)
            dm_ofi_conn_fail(conn, 0);
    }
    dm_ofi_sp_port_free(sp->listener);
}

/* ---- requests ---- */

/* Half-open connections have a time limit, and their number has one: the oldest is closed. */
static void ofi_half_open_limit(struct dm_ofi_ia *ia)
{
    struct dm_ofi_conn *oldest = NULL;
    int n = 0;

    dm_list_for_each (it, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->state != DM_CONN_HALF_OPEN)
            continue;
        oldest = oldest != NULL ? oldest : conn;
        n++;
    }
    if (n >= HALF_OPEN_MAX)
        dm_ofi_conn_fail(oldest, 0);
}

/* fi_reject() needs the listener, which is closed: close the socket instead, or the peer would
 * wait for ever. */
static void connreq_refuse(struct dm_ofi_ia *ia, struct fi_info *info)
{
    struct fid_ep *ep;

    if (fi_endpoint(ia->fabric.domain, info, &ep, NULL) == 0)
        fi_close(&ep->fid);
    fi_freeinfo(info);
}

void dm_ofi_cm_connreq(struct dm_ofi_ia *ia, const struct fid *fid, struct fi_info *info,
                       const void *data, size_t len)
{
    struct dm_ofi_listener *listener = dm_ofi_listener_of(ia, fid);
    struct dm_ofi_conn *conn = NULL;
    struct dm_ofi_connect_data call = {0};
    struct dm_sp *sp = NULL;

    if (listener == NULL) {
        connreq_refuse(ia, info);
        return;
    }
    if (len >= sizeof(call))
        memcpy(&call, data, sizeof(call));
    if (call.magic == DM_OFI_MAGIC && call.version == DM_OFI_VERSION)
        sp = dm_net_sp_find(&ia->net, call.qual);
    if (sp != NULL)
        conn = dm_ofi_conn_new(ia, DM_CONN_HALF_OPEN);
    if (conn == NULL) {
        (void)fi_reject(listener->pep, info->handle, NULL, 0);
        fi_freeinfo(info);
        return;
    }
    ofi_half_open_limit(ia);
    conn->sp = sp;
    dm_ofi_conn_timer(conn, dm_futex_now() + ia->net.timeout_ns);
    if (!dm_ofi_conn_open(conn, info)) {
        (void)fi_reject(listener->pep, info->handle, NULL, 0);
        dm_ofi_conn_fail(conn, 0);
    } else if (fi_accept(conn->fid, NULL, 0) != 0) {
        dm_ofi_conn_fail(conn, 0);
    }
    fi_freeinfo(info);
}

void dm_ofi_cm_request(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake)
{
    union dm_addr addr;
    const struct dm_request request = {.conn = conn,
                                       .conn_cr = &conn->cr,
                                       .addr = &addr,
                                       .qual = handshake->qual,
                                       .data_len = handshake->data_len,
                                       .data = handshake->data};

    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, handshake->addr, sizeof(handshake->addr));
    dm_ofi_conn_peer_set(conn, handshake);
    if (!dm_cr_arrived(conn->sp, &request)) {
        dm_ofi_cm_reject(conn, false, 0, NULL);
        return;
    }
    conn->state = DM_CONN_CR;
    conn->deadline = DM_FUTEX_FOREVER;
}

/* Answer a request: it waits for the confirmation now. */
static void cm_accept_conn(struct dm_ofi_conn *conn, struct dm_ofi_ep *ep, DAT_COUNT len,
                           const void *data)
{
    struct dm_ofi_ia *ia = conn->ia;

    conn->state = DM_CONN_ACCEPTED;
    conn->ep = ep;
    ep->conn = conn;
    atomic_store(&ep->ep.state, DAT_EP_STATE_COMPLETION_PENDING);
    dm_ofi_conn_timer(conn, dm_futex_now() + ia->net.timeout_ns);
    if (!dm_ofi_handshake_expect(conn)) {
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        return;
    }
    dm_ofi_recv_start(ep);
    if (!dm_ofi_handshake_send(conn, DM_HANDSHAKE_ACCEPT, 0, 0, data, (uint32_t)len))
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}

void dm_ofi_cm_accept(struct dm_ep *any, void *any_conn, DAT_COUNT len, const void *data)
{
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;
    struct dm_ofi_conn *conn = any_conn;

    if (conn != NULL && conn->state == DM_CONN_CR) {
        cm_accept_conn(conn, ep, len, data);
        return;
    }
    /* The other side has given up meanwhile. */
    atomic_store(&any->state, DAT_EP_STATE_DISCONNECTED);
    dm_ofi_ep_flush(ep);
    dm_evd_add_conn(any->connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
                    (DAT_EP_HANDLE)ep, NULL, 0);
}

bool dm_ofi_cm_is_listening(struct dm_pia *pia, DAT_CONN_QUAL qual)
{
    int fd = dm_net_qual_name_bind((struct dm_net *)pia, DM_OFI_NAME, qual);

    if (fd >= 0)
        close(fd);
    return fd == -1;
}

void dm_ofi_cm_handoff(void *any, DAT_CONN_QUAL qual)
{
    struct dm_ofi_conn *conn = any;

    if (dm_ofi_handshake_send(conn, DM_HANDSHAKE_HANDOFF, 0, qual, NULL, 0))
        dm_ofi_conn_linger(conn);
    else
        dm_ofi_conn_fail(conn, 0);
}
