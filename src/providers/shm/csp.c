/*
 * Common service points and common connects.
 *
 * A communicator (DAT_COMM: domain, type and protocol, as for socket()) and a
 * port name a meeting point on this node; different communicators never meet.
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
 * data. Then the meeting point is free again. Who waits waits for as long as
 * its timeout says; a service point cannot be created there meanwhile.
 *
 * Binding the socket's name decides who is first, so simultaneous calls are
 * no problem: one binds, the other finds it bound and connects.
 */
#include "providers/shm/cm.h"

#include "providers/shm/calls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAD_CSP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CSP)

/* The communicator with its defaults filled in. */
static DAT_RETURN get_comm(const DAT_COMM *comm, DAT_COMM *out)
{
    *out = *comm;
    if (out->domain == 0)
        out->domain = AF_INET;
    if (out->type == 0)
        out->type = SOCK_STREAM;
    if (out->domain != AF_INET || (out->type != SOCK_STREAM && out->type != SOCK_SEQPACKET))
        return DM_DAT(DAT_COMM_NOT_SUPPORTED, 0);
    return DAT_SUCCESS;
}

/* A port on this host; 0: it is none. */
static uint16_t get_port(const struct sockaddr *addr, bool is_any_ok)
{
    const struct sockaddr_in *in = (const void *)addr;

    if (addr->sa_family != AF_INET)
        return 0;
    if (!(is_any_ok && in->sin_addr.s_addr == INADDR_ANY) && !dm_ia_is_local_addr(addr))
        return 0;
    return ntohs(in->sin_port);
}

DAT_RETURN dm_shm_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
                             DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp_p)
{
    struct dm_shm_name name;
    struct dm_shm_ia *ia;
    struct dm_evd *evd;
    struct dm_sp *sp = NULL;
    DAT_COMM full;
    uint16_t port;
    DAT_RETURN ret = dm_shm_sp_args(ia_handle, evd_handle, &ia, &evd);

    if (ret != DAT_SUCCESS)
        return ret;
    if (comm == NULL)
        return DM_DAT_ARG(2);
    if (addr == NULL)
        return DM_DAT_ARG(3);
    if (csp_p == NULL)
        return DM_DAT_ARG(5);
    ret = get_comm(comm, &full);
    if (ret != DAT_SUCCESS)
        return ret;
    port = get_port(addr, true);
    if (port == 0)
        return DM_DAT(DAT_INVALID_ADDRESS, 0);
    dm_shm_cm_common_name(&full, port, &name);
    pthread_mutex_lock(&ia->pia.lock);
    ret = dm_shm_sp_new(ia, DAT_HANDLE_TYPE_CSP, &name, evd, &sp);
    if (ret == DAT_SUCCESS) {
        sp->qual = port;
        sp->comm = full;
        memcpy(&sp->addr.in, addr, sizeof(sp->addr.in));
        *csp_p = (DAT_CSP_HANDLE)sp;
    }
    pthread_mutex_unlock(&ia->pia.lock);
    return ret;
}

DAT_RETURN dm_shm_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
    struct dm_sp *sp = dm_obj_get(handle, DAT_HANDLE_TYPE_CSP);

    (void)mask;
    if (sp == NULL)
        return BAD_CSP;
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(sp->obj.ia);
    param->comm = &sp->comm; /* valid until the service point is freed */
    param->address_ptr = (DAT_IA_ADDRESS_PTR)&sp->addr;
    param->evd_handle = (DAT_EVD_HANDLE)sp->evd;
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_csp_free(DAT_CSP_HANDLE handle)
{
    struct dm_sp *sp = dm_obj_get(handle, DAT_HANDLE_TYPE_CSP);
    struct dm_pia *ia;

    if (sp == NULL)
        return BAD_CSP;
    ia = sp->obj.ia;
    pthread_mutex_lock(&ia->lock);
    dm_shm_sp_destroy(sp);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}

static DAT_RETURN connect_locked(struct dm_sep *ep, const struct sockaddr *addr,
                                 DAT_TIMEOUT timeout, DAT_COUNT len, const void *data)
{
    struct dm_shm_name name;
    DAT_COMM comm;
    uint16_t port;
    DAT_RETURN ret = dm_shm_cm_can_start(ep);

    if (ret == DAT_SUCCESS)
        ret = get_comm(&ep->ep.comm, &comm);
    if (ret != DAT_SUCCESS)
        return ret;
    if (addr->sa_family == AF_INET) {
        memcpy(&ep->ep.remote_addr.in, addr, sizeof(ep->ep.remote_addr.in));
        ep->ep.remote_qual = ntohs(ep->ep.remote_addr.in.sin_port);
    }
    port = get_port(addr, false);
    if (port == 0) {
        dm_shm_cm_give_up(ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    dm_shm_cm_common_name(&comm, port, &name);
    return dm_shm_cm_start(ep, &name, true, timeout, len, data);
}

DAT_RETURN dm_shm_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr,
                                    DAT_TIMEOUT timeout, DAT_COUNT len, const DAT_PVOID data)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_RETURN ret;

    if (ep == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
    if (addr == NULL)
        return DM_DAT_ARG(2);
    if (timeout == 0)
        return DM_DAT_ARG(3);
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(4);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(5);
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    ret = connect_locked(ep, addr, timeout, len, data);
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return ret;
}

bool dm_shm_common_wait(struct dm_shm_conn *conn)
{
    struct dm_shm_listener *listener;
    int fd;

    if (dm_shm_cm_listen(&conn->to, &fd) != DAT_SUCCESS)
        return false;
    listener = calloc(1, sizeof(*listener));
    if (listener == NULL) {
        close(fd);
        return false;
    }
    listener->src.kind = DM_SRC_LISTEN;
    listener->src.fd = fd;
    listener->host = conn;
    dm_list_add_tail(&conn->ia->srcs, &listener->src.link);
    if (!dm_shm_src_add(conn->ia, &listener->src)) {
        dm_shm_src_bury(conn->ia, &listener->src);
        return false;
    }
    conn->waiter = listener;
    return true;
}

void dm_shm_common_met(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    struct dm_shm_conn *host = conn->host;
    struct dm_sep *ep = host->ep;
    uint8_t data[DM_PRIVATE_MAX];
    DAT_COUNT len = host->request_len;

    (void)fd; /* the segment is mapped already */
    conn->host = NULL;
    conn->ia->n_embryos--;
    conn->deadline = DM_FUTEX_FOREVER;
    if (len > 0)
        memcpy(data, host->request, (size_t)len);
    memcpy(ep->ep.private_data, msg->data, msg->data_len);
    ep->ep.remote_qual = 0; /* nobody listens there */
    ep->sh->conn_data = msg->data_len > 0 ? (uint64_t)(uintptr_t)ep->ep.private_data : 0;
    ep->sh->conn_data_len = msg->data_len;
    dm_shm_conn_close(host);
    dm_shm_cm_answer(conn, ep, len, data);
}
