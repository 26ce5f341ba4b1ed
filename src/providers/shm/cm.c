/*
 * Connecting and disconnecting: the active side, and the end of both.
 */
#include "providers/shm/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/shm/calls.h"
#include "providers/shm/msg.h"

#define BAD_EP DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

enum { RETRY_NS = 1000000 };

socklen_t dm_shm_cm_name(DAT_CONN_QUAL qual, struct sockaddr_un *name)
{
    static const char prefix[] = "datum-shm.";
    static const char digits[] = "0123456789abcdef";
    char *at;

    memset(name, 0, sizeof(*name));
    at = name->sun_path + 1; /* after a zero: the abstract name space */
    name->sun_family = AF_UNIX;
    memcpy(at, prefix, sizeof(prefix) - 1);
    at += sizeof(prefix) - 1;
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = digits[qual >> shift & 15];
    return (socklen_t)(at - (char *)name);
}

bool dm_shm_cm_trusted(int fd, pid_t *pid_p)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
        return false;
    *pid_p = cred.pid;
    return cred.uid == geteuid() || cred.uid == 0;
}

void dm_shm_cm_describe(const struct dm_shm_conn *conn, struct dm_shm_msg *msg)
{
    struct dm_shm_ia *ia = conn->ia;

    msg->version = DM_SHM_VERSION;
    msg->id = ia->seg.hdr->id;
    msg->owner = conn->owner;
    msg->addr = ia->pia.addr.sin_addr.s_addr;
    msg->qual = conn->ep->ep.local_qual;
    msg->ep = dm_shm_seg_offset(&ia->seg, conn->ep->sh);
}

bool dm_shm_cm_meet(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    pid_t pid;

    if (msg->version != DM_SHM_VERSION || !dm_shm_cm_trusted(conn->src.fd, &pid))
        return false;
    conn->peer = dm_shm_peer_get(conn->ia, fd, msg->id, pid);
    if (conn->peer == NULL)
        return false;
    if (msg->ep % 64 != 0 || msg->ep > conn->peer->size - sizeof(struct dm_shm_link_ep))
        return false;
    conn->peer_ep = msg->ep;
    conn->peer_owner = msg->owner;
    return true;
}

/* The attempt has failed: one event, and the endpoint needs a reset. */
static void give_up(struct dm_sep *ep, DAT_EVENT_NUMBER event, const void *data, uint32_t len)
{
    if (len > 0)
        memcpy(ep->ep.private_data, data, len);
    dm_shm_ep_down(ep, 0, DM_MSG_NONE);
    dm_evd_add_conn(ep->ep.connect_evd, event, (DAT_EP_HANDLE)ep, ep->ep.private_data,
                    (DAT_COUNT)len);
}

static void send_request(struct dm_shm_conn *conn)
{
    struct dm_shm_msg msg = {.type = DM_MSG_REQUEST, .data_len = (uint32_t)conn->request_len};

    dm_shm_cm_describe(conn, &msg);
    if (conn->request_len > 0)
        memcpy(msg.data, conn->request, (size_t)conn->request_len);
    conn->state = DM_CONN_ASKED;
    dm_shm_msg_send(conn, &msg, conn->ia->seg.fd);
}

/* Reach for the listener. */
static void try_connect(struct dm_shm_conn *conn)
{
    struct sockaddr_un name;
    socklen_t len = dm_shm_cm_name(conn->ep->ep.remote_qual, &name);
    struct dm_sep *ep = conn->ep;
    pid_t pid;

    if (connect(conn->src.fd, (struct sockaddr *)&name, len) != 0) {
        if (errno == EAGAIN || errno == EINTR) {
            conn->state = DM_CONN_RETRY; /* the backlog is full */
            dm_shm_kick(&conn->ia->pia);
            return;
        }
        give_up(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    if (!dm_shm_cm_trusted(conn->src.fd, &pid) || !dm_shm_src_add(conn->ia, &conn->src)) {
        give_up(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    send_request(conn);
    dm_shm_kick(&conn->ia->pia); /* there is a deadline now */
}

static DAT_RETURN start(struct dm_sep *ep, DAT_TIMEOUT timeout, DAT_COUNT len, const void *data)
{
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct dm_shm_conn *conn = fd >= 0 ? dm_shm_conn_new(ia, fd, DM_CONN_RETRY) : NULL;
    uint8_t *request = malloc((size_t)len + 1);

    if (conn == NULL || request == NULL) {
        free(request);
        free(conn);
        if (fd >= 0)
            close(fd);
        return DM_DAT_NOMEM;
    }
    if (len > 0)
        memcpy(request, data, (size_t)len);
    conn->request = request;
    conn->request_len = len;
    conn->deadline = dm_futex_deadline(timeout);
    dm_list_add_tail(&ia->srcs, &conn->src.link);
    dm_shm_ep_attach(ep, conn);
    atomic_store(&ep->sh->link, DM_LINK_WAIT);
    atomic_store(&ep->ep.state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    try_connect(conn);
    return DAT_SUCCESS;
}

static DAT_RETURN connect_locked(struct dm_sep *ep, const struct sockaddr *addr, DAT_CONN_QUAL qual,
                                 DAT_TIMEOUT timeout, DAT_COUNT len, const void *data)
{
    const struct sockaddr_in *in = (const void *)addr;
    struct dm_pia *ia = ep->ep.obj.ia;
    int state = atomic_load(&ep->ep.state);

    if (state != DAT_EP_STATE_UNCONNECTED)
        return dm_ep_bad_state(state);
    if (ep->ep.connect_evd == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_CONNECT);
    if (ep->ep.pz == NULL)
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
    ep->ep.remote_addr = ia->addr;
    ep->ep.remote_qual = qual;
    if (in->sin_family == AF_INET)
        ep->ep.remote_addr.sin_addr = in->sin_addr;
    if (!(in->sin_family == AF_INET && in->sin_addr.s_addr == ia->addr.sin_addr.s_addr) &&
        !dm_ia_is_local_addr(addr)) {
        give_up(ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    return start(ep, timeout, len, data);
}

DAT_RETURN dm_shm_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR addr, DAT_CONN_QUAL qual,
                             DAT_TIMEOUT timeout, DAT_COUNT len, const DAT_PVOID data, DAT_QOS qos,
                             DAT_CONNECT_FLAGS flags)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_RETURN ret;

    if (ep == NULL)
        return BAD_EP;
    if (addr == NULL)
        return DM_DAT_ARG(2);
    if (timeout == 0)
        return DM_DAT_ARG(4);
    if (len < 0 || len > DM_PRIVATE_MAX)
        return DM_DAT_ARG(5);
    if (len > 0 && data == NULL)
        return DM_DAT_ARG(6);
    if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    ret = connect_locked(ep, addr, qual, timeout, len, data);
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return ret;
}

DAT_RETURN dm_shm_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle,
                                 DAT_TIMEOUT timeout, DAT_COUNT len, const DAT_PVOID data,
                                 DAT_QOS qos)
{
    struct dm_sep *dup = dm_obj_get(dup_handle, DAT_HANDLE_TYPE_EP);
    struct sockaddr_in addr;

    if (dup == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE2);
    if (atomic_load(&dup->ep.state) != DAT_EP_STATE_CONNECTED || dup->ep.remote_qual == 0)
        return dm_ep_bad_state(atomic_load(&dup->ep.state));
    addr = dup->ep.remote_addr;
    return dm_shm_ep_connect(handle, (DAT_IA_ADDRESS_PTR)&addr, dup->ep.remote_qual, timeout, len,
                             data, qos, DAT_CONNECT_DEFAULT_FLAG);
}

/* Tell the passive side, in its own memory, that we are connected: its event
 * is there before anything that we may send. False: it has given up. */
static bool confirm(struct dm_sep *ep)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    uint32_t wait = DM_LINK_WAIT;
    uint64_t ring;
    struct dm_evd_item item;
    bool is_up;

    dm_shm_busy_begin(ep);
    is_up = atomic_compare_exchange_strong(&peer->link, &wait, DM_LINK_UP);
    ring = atomic_load(&peer->conn_ring);
    if (is_up && ring != 0) {
        item = dm_evd_item_conn(DAT_CONNECTION_EVENT_ESTABLISHED, peer->handle, 0, 0);
        (void)dm_evd_ring_add((struct dm_evd_ring *)(void *)((char *)ep->peer->hdr + ring),
                              ep->peer_owner, &item);
    }
    dm_shm_busy_end(ep);
    return is_up;
}

static void accepted(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    struct dm_sep *ep = conn->ep;

    if (!dm_shm_cm_meet(conn, msg, fd)) {
        give_up(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    dm_shm_ep_attach(ep, conn);
    conn->deadline = DM_FUTEX_FOREVER;
    memcpy(ep->ep.private_data, msg->data, msg->data_len);
    atomic_store(&ep->sh->link, DM_LINK_UP);
    dm_evd_add_conn(ep->ep.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_EP_HANDLE)ep,
                    ep->ep.private_data, (DAT_COUNT)msg->data_len);
    if (!confirm(ep)) {
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_BROKEN, DM_MSG_NONE);
        return;
    }
    dm_shm_ep_established(ep);
    dm_shm_msg_simple(conn, DM_MSG_CONFIRM);
}

void dm_shm_conn_answer(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    if (msg->type == DM_MSG_ACCEPT)
        accepted(conn, msg, fd);
    else if (msg->type == DM_MSG_REJECT)
        give_up(conn->ep,
                msg->status == 1 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                 : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                msg->data, msg->data_len);
}

void dm_shm_conn_lost(struct dm_shm_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_ASKED:
        give_up(conn->ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_shm_ep_down(conn->ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DM_MSG_NONE);
        break;
    default: /* a request that nobody has answered: its CR finds no connection */
        dm_shm_conn_close(conn);
        break;
    }
}

void dm_shm_conn_timeout(struct dm_shm_conn *conn)
{
    if (conn->deadline <= dm_futex_now())
        give_up(conn->ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
    else if (conn->state == DM_CONN_RETRY)
        try_connect(conn);
}

uint64_t dm_shm_conn_due(const struct dm_shm_conn *conn)
{
    uint64_t retry = dm_futex_now() + RETRY_NS;

    if (conn->state == DM_CONN_RETRY && retry < conn->deadline)
        return retry;
    return conn->deadline;
}

static DAT_RETURN disconnect_locked(struct dm_sep *ep, DAT_CLOSE_FLAGS flags)
{
    uint32_t wait = DM_LINK_WAIT;
    int state;

    dm_shm_ep_check_up(ep);
    state = atomic_load(&ep->ep.state);
    switch (state) {
    case DAT_EP_STATE_DISCONNECTED:
        return DAT_SUCCESS;
    case DAT_EP_STATE_DISCONNECT_PENDING:
        if (flags == DAT_CLOSE_GRACEFUL_FLAG)
            return DAT_SUCCESS;
        break;
    case DAT_EP_STATE_CONNECTED:
        if (flags == DAT_CLOSE_GRACEFUL_FLAG && ep->n_queued > 0) {
            ep->is_draining_out = true;
            atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
            dm_shm_ep_set_sync(ep);
            return DAT_SUCCESS;
        }
        break;
    case DAT_EP_STATE_COMPLETION_PENDING:
        /* The active side may be confirming at this moment. */
        if (!atomic_compare_exchange_strong(&ep->sh->link, &wait, DM_LINK_DOWN))
            dm_shm_ep_check_up(ep);
        break;
    case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
        break;
    default:
        return dm_ep_bad_state(state);
    }
    dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_MSG_BYE);
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
    struct dm_sep *ep = dm_obj_get(handle, DAT_HANDLE_TYPE_EP);
    DAT_RETURN ret;

    if (ep == NULL)
        return BAD_EP;
    if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
        return DM_DAT_ARG(2);
    pthread_mutex_lock(&ep->ep.obj.ia->lock);
    ret = disconnect_locked(ep, flags);
    pthread_mutex_unlock(&ep->ep.obj.ia->lock);
    return ret;
}
