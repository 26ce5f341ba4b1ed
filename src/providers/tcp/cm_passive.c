/*
 * Service points and connection requests: the passive side. The ports are in listener.c.
 */
#include "providers/tcp/cm.h"

#include <string.h>
#include <unistd.h>

#include "providers/tcp/transport/listener.h"

enum { HALF_OPEN_MAX = 1024, ANY_TRIES = 64 };

/* ---- service points ---- */

DAT_RETURN dm_tcp_cm_listen(struct dm_sp *sp)
{
    struct dm_tcp_sp_port *port;
    DAT_RETURN ret = dm_tcp_sp_port_new((struct dm_tcp_ia *)sp->obj.ia, sp->qual, NULL, &port);

    if (ret == DAT_SUCCESS)
        sp->listener = port;
    return ret;
}

/* At a port that the system chooses. */
DAT_RETURN dm_tcp_cm_listen_any(struct dm_sp *sp)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)sp->obj.ia;

    for (int i = 0; i < ANY_TRIES; i++) {
        struct dm_tcp_listener *listener;
        struct dm_tcp_sp_port *port;
        DAT_RETURN ret;

        if (dm_tcp_listener_new(ia, 0, &listener) != 0)
            return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
        listener->n_refs = 1;
        ret = dm_tcp_sp_port_new(ia, listener->port, listener, &port);
        if (ret == DAT_SUCCESS) {
            sp->qual = listener->port;
            sp->listener = port;
            return ret;
        }
        dm_tcp_listener_drop(listener);
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE) /* by somebody at another port */
            return ret;
    }
    return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

/* The peer closes when it has received that. */
void dm_tcp_cm_reject(void *any, bool is_by_consumer, DAT_COUNT len, const void *data)
{
    struct dm_tcp_conn *conn = any;

    dm_tcp_out_handshake(conn, DM_HANDSHAKE_REJECT, is_by_consumer, 0, data, (uint32_t)len);
    dm_tcp_conn_linger(conn);
}

void dm_tcp_cm_unlisten(struct dm_sp *sp)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)sp->obj.ia;

    dm_list_for_each (it, &ia->conns) {
        struct dm_tcp_conn *conn = dm_container_of(it, struct dm_tcp_conn, link);

        if (conn->sp == sp)
            conn->sp = NULL;
    }
    dm_tcp_sp_port_free(sp->listener);
}

/* ---- requests ---- */

/* Half-open connections have a time limit, and their number has one: the oldest is closed. */
static void tcp_half_open_limit(struct dm_tcp_ia *ia)
{
    struct dm_tcp_conn *oldest = NULL;
    int n = 0;

    if (ia->n_setup < HALF_OPEN_MAX)
        return;
    dm_list_for_each (it, &ia->conns) {
        struct dm_tcp_conn *conn = dm_container_of(it, struct dm_tcp_conn, link);

        if (conn->state != DM_CONN_HALF_OPEN)
            continue;
        oldest = oldest != NULL ? oldest : conn;
        n++;
    }
    if (n >= HALF_OPEN_MAX)
        dm_tcp_conn_fail(oldest, 0);
}

void dm_tcp_cm_incoming(struct dm_tcp_ia *ia, int fd)
{
    struct dm_tcp_conn *conn;

    tcp_half_open_limit(ia);
    conn = dm_tcp_conn_new(ia, DM_CONN_HALF_OPEN);
    if (conn == NULL) {
        close(fd);
        return;
    }
    if (!dm_tcp_conn_open(conn, fd)) {
        dm_tcp_conn_fail(conn, 0);
        return;
    }
    dm_tcp_conn_keepalive_start(conn);
    dm_tcp_conn_timer(conn, dm_futex_now() + ia->net.timeout_ns);
    (void)dm_tcp_in_read(conn); /* it may be there already */
}

void dm_tcp_cm_request(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting)
{
    const struct dm_tcp_handshake *handshake = &greeting->handshake;
    union dm_addr addr;
    const struct dm_request request = {.conn = conn,
                                       .conn_cr = &conn->cr,
                                       .addr = &addr,
                                       .qual = handshake->own_qual,
                                       .data_len = handshake->data_len,
                                       .data = greeting->data};

    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, handshake->addr, sizeof(handshake->addr));
    dm_tcp_conn_peer_set(conn, handshake);
    conn->sp = dm_net_sp_find(&conn->ia->net, handshake->qual);
    if (conn->sp == NULL) {
        dm_tcp_out_handshake(conn, DM_HANDSHAKE_NOBODY, 0, 0, NULL, 0);
        dm_tcp_conn_linger(conn);
        return;
    }
    if (!dm_cr_arrived(conn->sp, &request)) {
        dm_tcp_cm_reject(conn, false, 0, NULL);
        return;
    }
    conn->state = DM_CONN_CR;
    conn->deadline = DM_FUTEX_FOREVER;
}

void dm_tcp_cm_accept(struct dm_ep *any, void *any_conn, DAT_COUNT len, const void *data)
{
    struct dm_tcp_ep *ep = (struct dm_tcp_ep *)any;
    struct dm_tcp_conn *conn = any_conn;

    if (conn == NULL || conn->state != DM_CONN_CR) {
        /* The other side has given up meanwhile. */
        atomic_store(&any->state, DAT_EP_STATE_DISCONNECTED);
        dm_tcp_ep_flush(ep);
        dm_evd_add_conn(any->connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
                        (DAT_EP_HANDLE)ep, NULL, 0);
        return;
    }
    conn->state = DM_CONN_ACCEPTED; /* it waits for the confirmation now */
    conn->ep = ep;
    ep->conn = conn;
    atomic_store(&ep->ep.state, DAT_EP_STATE_COMPLETION_PENDING);
    dm_tcp_conn_timer(conn, dm_futex_now() + conn->ia->net.timeout_ns);
    dm_tcp_out_handshake(conn, DM_HANDSHAKE_ACCEPT, 0, 0, data, (uint32_t)len);
}

bool dm_tcp_cm_is_listening(struct dm_pia *pia, DAT_CONN_QUAL qual)
{
    int fd = dm_net_qual_name_bind((struct dm_net *)pia, DM_TCP_NAME, qual);

    if (fd >= 0)
        close(fd);
    return fd == -1;
}

void dm_tcp_cm_handoff(void *any, DAT_CONN_QUAL qual)
{
    struct dm_tcp_conn *conn = any;

    dm_tcp_out_handshake(conn, DM_HANDSHAKE_HANDOFF, 0, qual, NULL, 0);
    dm_tcp_conn_linger(conn);
}
