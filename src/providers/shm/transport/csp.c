/*
 * Common service points and common connects.
 *
 * A communicator (DAT_COMM: domain, type and protocol, as for socket()) and a
 * port name a rendezvous on this node; different communicators never match.
 * An endpoint's communicator is set by dat_ep_modify (DAT_EP_FIELD_COMM).
 * Domain 0 stands for AF_INET, which is the only one there is; type 0 for
 * SOCK_STREAM; SOCK_SEQPACKET is another one; any protocol will do.
 *
 * dat_csp_create(address) listens at the address's port. A common connect to
 * that address raises a connection request there, like dat_ep_connect() at a
 * public service point.
 *
 * Where nobody listens, the endpoint that comes first waits, and the second
 * one that comes with the same communicator and port is connected with it,
 * without a connection request: both get ESTABLISHED with the other's private
 * data. Then the name is free again. The first one waits for as long as
 * its timeout says; a service point cannot be created there meanwhile.
 *
 * Binding the socket's name decides who is first, so simultaneous calls are
 * no problem: one binds, the other finds it bound and connects.
 */
#include "providers/shm/transport/csp.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "providers/shm/cm.h"

/* A port on this host; 0: it is none. */
static uint16_t local_port(const struct sockaddr *addr)
{
    const struct sockaddr_in *in = (const void *)addr;

    if (addr->sa_family != AF_INET || !dm_ia_is_local_addr(addr))
        return 0;
    return ntohs(in->sin_port);
}

DAT_RETURN dm_shm_ep_common_connect(struct dm_ep *ep, const DAT_COMM *comm,
                                    const struct dm_connect *how)
{
    struct dm_shm_name name;
    uint16_t port;

    if (how->addr->sa_family == AF_INET) {
        memcpy(&ep->remote_addr.in, how->addr, sizeof(ep->remote_addr.in));
        ep->remote_qual = ntohs(ep->remote_addr.in.sin_port);
    }
    port = local_port(how->addr);
    if (port == 0) {
        dm_shm_cm_fail((struct dm_shm_ep *)ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    dm_shm_sock_common_name(comm, port, &name);
    return dm_shm_cm_start((struct dm_shm_ep *)ep, &name, true, how);
}

bool dm_shm_csp_wait(struct dm_shm_conn *conn)
{
    struct dm_shm_listener *listener;
    int fd;

    if (dm_shm_sock_listen(&conn->active.to, &fd) != DAT_SUCCESS)
        return false;
    listener = calloc(1, sizeof(*listener));
    if (listener == NULL) {
        close(fd);
        return false;
    }
    listener->src.kind = DM_SRC_LISTEN;
    listener->src.fd = fd;
    listener->csp_waiter = conn;
    dm_list_add_tail(&conn->ia->srcs, &listener->src.link);
    if (!dm_shm_src_add(conn->ia, &listener->src)) {
        dm_shm_src_defer_free(conn->ia, &listener->src);
        return false;
    }
    conn->csp_listener = listener;
    return true;
}

void dm_shm_csp_match(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg)
{
    struct dm_shm_conn *host = conn->csp_waiter;
    struct dm_shm_ep *ep = host->ep;
    uint8_t data[DM_PRIVATE_MAX];
    DAT_COUNT len = host->active.request_len;

    conn->csp_waiter = NULL;
    conn->ia->n_half_open--;
    conn->deadline = DM_FUTEX_FOREVER;
    if (len > 0)
        memcpy(data, host->active.request, (size_t)len);
    DM_DMA_BEGIN(); /* the peer's event makes it known */
    memcpy(ep->ep.private_data, msg->data, msg->data_len);
    DM_DMA_END();
    ep->ep.remote_qual = 0; /* nobody listens there */
    ep->sh->conn_data = msg->data_len > 0 ? (uint64_t)(uintptr_t)ep->ep.private_data : 0;
    ep->sh->conn_data_len = msg->data_len;
    dm_shm_conn_close(host);
    dm_shm_cm_accept_conn(conn, ep, len, data);
}
