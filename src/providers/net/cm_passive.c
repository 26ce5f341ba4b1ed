/*
 * Service points and connection requests: the passive side. The ports are in listener.c.
 */
#include "providers/net/conn.h"

#include <string.h>
#include <unistd.h>

#include "providers/net/listener.h"

enum { ANY_TRIES = 64 };

/* ---- service points ---- */

static DAT_RETURN net_cm_listen(struct dm_sp *sp, DAT_CONN_QUAL qual,
                                struct dm_net_listener *listener)
{
    struct dm_net *net = (struct dm_net *)sp->obj.ia;
    struct dm_net_sp_port *port;
    DAT_RETURN ret = dm_net_sp_port_new(net, qual, listener, &port);

    if (ret != DAT_SUCCESS)
        return ret;
    sp->qual = qual;
    sp->listener = port;
    dm_net_kick(&net->pia); /* whoever sleeps has one more thing to sleep on */
    return DAT_SUCCESS;
}

DAT_RETURN dm_net_cm_listen(struct dm_sp *sp)
{
    return net_cm_listen(sp, sp->qual, NULL);
}

/* At a port that the system chooses. */
DAT_RETURN dm_net_cm_listen_any(struct dm_sp *sp)
{
    for (int i = 0; i < ANY_TRIES; i++) {
        struct dm_net_listener *listener;
        DAT_RETURN ret;

        if (dm_net_listener_new((struct dm_net *)sp->obj.ia, 0, &listener) != 0)
            return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
        listener->n_refs = 1;
        ret = net_cm_listen(sp, listener->port, listener);
        if (ret == DAT_SUCCESS)
            return ret;
        dm_net_listener_drop(listener);
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE) /* by somebody at another port */
            return ret;
    }
    return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

void dm_net_cm_unlisten(struct dm_sp *sp)
{
    struct dm_net *net = (struct dm_net *)sp->obj.ia;

    dm_list_for_each_safe (it, next, &net->conns) {
        struct dm_net_conn *conn = dm_container_of(it, struct dm_net_conn, link);

        if (conn->sp != sp)
            continue;
        conn->sp = NULL;
        if (conn->state == DM_CONN_HALF_OPEN)
            dm_net_conn_fail(conn, 0);
    }
    dm_net_sp_port_free(sp->listener);
}

bool dm_net_cm_is_listening(struct dm_pia *pia, DAT_CONN_QUAL qual)
{
    const struct dm_net *net = (const struct dm_net *)pia;
    int fd = dm_net_qual_name_bind(net, net->ops->name, qual);

    if (fd >= 0)
        close(fd);
    return fd == -1;
}

/* ---- requests ---- */

/* Answer a request in a way that ends the connection: the peer closes when it has received that. */
static void cm_answer_last(struct dm_net_conn *conn, const struct dm_net_greeting *answer)
{
    if (conn->net->ops->handshake(conn, answer->type, answer->status, answer->qual, answer->data,
                                  answer->data_len))
        dm_net_conn_linger(conn);
    else
        dm_net_conn_fail(conn, 0);
}

void dm_net_cm_reject(void *conn, bool is_by_consumer, DAT_COUNT len, const void *data)
{
    const struct dm_net_greeting answer = {.type = DM_HANDSHAKE_REJECT,
                                           .status = is_by_consumer,
                                           .data_len = (uint32_t)len,
                                           .data = data};

    cm_answer_last(conn, &answer);
}

void dm_net_cm_handoff(void *conn, DAT_CONN_QUAL qual)
{
    const struct dm_net_greeting answer = {.type = DM_HANDSHAKE_HANDOFF, .qual = qual};

    cm_answer_last(conn, &answer);
}

void dm_net_cm_request(struct dm_net_conn *conn, const struct dm_net_greeting *greeting)
{
    const struct dm_net_greeting nobody = {.type = DM_HANDSHAKE_NOBODY};
    union dm_addr addr;
    const struct dm_request request = {.conn = conn,
                                       .conn_cr = &conn->cr,
                                       .addr = &addr,
                                       .qual = greeting->own_qual,
                                       .data_len = greeting->data_len,
                                       .data = greeting->data};

    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, greeting->addr, greeting->addr_len);
    if (conn->sp == NULL)
        conn->sp = dm_net_sp_find(conn->net, greeting->qual);
    if (conn->sp == NULL) {
        cm_answer_last(conn, &nobody);
        return;
    }
    if (!dm_cr_arrived(conn->sp, &request)) {
        dm_net_cm_reject(conn, false, 0, NULL);
        return;
    }
    conn->state = DM_CONN_CR;
    conn->deadline = DM_FUTEX_FOREVER;
}

void dm_net_cm_accept(struct dm_ep *ep, void *any, DAT_COUNT len, const void *data)
{
    struct dm_net_conn *conn = any;

    if (conn == NULL || conn->state != DM_CONN_CR) {
        /* The other side has given up meanwhile. */
        atomic_store(&ep->state, DAT_EP_STATE_DISCONNECTED);
        dm_net_ep_flush((struct dm_net_ep *)ep);
        dm_evd_add_conn(ep->connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
                        (DAT_EP_HANDLE)ep, NULL, 0);
        return;
    }
    conn->state = DM_CONN_ACCEPTED; /* it waits for the confirmation now */
    conn->ep = (struct dm_net_ep *)ep;
    conn->ep->conn = conn;
    atomic_store(&ep->state, DAT_EP_STATE_COMPLETION_PENDING);
    dm_net_conn_timer(conn, dm_futex_now() + conn->net->timeout_ns);
    if (!conn->net->ops->handshake(conn, DM_HANDSHAKE_ACCEPT, 0, 0, data, (uint32_t)len))
        dm_net_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}
