/*
 * Connections: one socket each, and what arrives on it.
 */
#include "providers/shm/conn.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/shm/cm.h"
#include "providers/shm/ctrl.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/transport/seg.h"

struct dm_shm_conn *dm_shm_conn_new(struct dm_shm_ia *ia, int fd, enum dm_shm_conn_state state)
{
    struct dm_shm_conn *conn = calloc(1, sizeof(*conn));

    if (conn == NULL)
        return NULL;
    conn->src.kind = DM_SRC_CONN;
    conn->src.fd = fd;
    conn->ia = ia;
    conn->state = state;
    conn->deadline = DM_FUTEX_FOREVER;
    ia->last_owner = ia->last_owner % DM_EVD_OWNER_MAX + 1;
    conn->owner = ia->last_owner;
    dm_list_init(&conn->out.list);
    dm_list_init(&conn->src.link);
    return conn;
}

void dm_shm_conn_close(struct dm_shm_conn *conn)
{
    if (conn->src.is_dead)
        return;
    if (conn->ep != NULL)
        conn->ep->conn = NULL;
    conn->ep = NULL;
    dm_cr_lost(&conn->cr);
    if (conn->peer != NULL)
        dm_shm_peer_put(conn->peer);
    conn->peer = NULL;
    if (conn->state == DM_CONN_HALF_OPEN)
        conn->ia->n_half_open--;
    if (conn->csp_listener != NULL) {
        dm_shm_src_defer_free(conn->ia, &conn->csp_listener->src);
        dm_shm_half_open_close(conn->ia, NULL, conn);
    }
    conn->csp_listener = NULL;
    dm_shm_ctrl_drop(conn);
    free(conn->active.request);
    conn->active.request = NULL;
    dm_shm_src_defer_free(conn->ia, &conn->src);
}

void dm_shm_half_open_close(struct dm_shm_ia *ia, const struct dm_sp *sp,
                            const struct dm_shm_conn *host)
{
    dm_list_for_each_safe (it, next, &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

        if (src->kind == DM_SRC_CONN && conn->state == DM_CONN_HALF_OPEN && conn->sp == sp &&
            conn->csp_waiter == host)
            dm_shm_conn_close(conn);
    }
}

void dm_shm_conn_describe(const struct dm_shm_conn *conn, struct dm_shm_ctrl *msg)
{
    struct dm_shm_ia *ia = conn->ia;

    msg->version = DM_SHM_VERSION;
    msg->id = ia->seg.hdr->id;
    msg->owner = conn->owner;
    msg->addr = ia->pia.addr.in.sin_addr.s_addr;
    msg->qual = conn->ep->ep.local_qual;
    msg->ep = dm_shm_seg_offset(&ia->seg, conn->ep->sh);
}

bool dm_shm_conn_peer_set(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    if (msg->version != DM_SHM_VERSION)
        return false;
    conn->peer = dm_shm_peer_get(conn->ia, fd, msg->id, conn->pid);
    if (conn->peer == NULL)
        return false;
    if (!dm_shm_peer_ep_ok(conn->peer, msg->ep))
        return false;
    conn->peer_ep = msg->ep;
    conn->peer_owner = msg->owner & DM_EVD_OWNER_MAX;
    return true;
}

static void conn_lost(struct dm_shm_conn *conn);

static void conn_dispatch(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    switch (conn->state) {
    case DM_CONN_HALF_OPEN:
        dm_shm_cm_request(conn, msg, fd);
        return;
    case DM_CONN_REQUESTED:
        dm_shm_cm_response(conn, msg, fd);
        return;
    case DM_CONN_ACCEPTED:
        /* Whatever comes, the peer has seen our acceptance. */
        dm_shm_ep_check_up(conn->ep);
        if (conn->state != DM_CONN_UP) {
            conn_lost(conn); /* it has not confirmed in our memory first */
            return;
        }
        atomic_store(&conn->ia->has_agents, true);
        break;
    case DM_CONN_UP:
        break;
    default:
        return;
    }
    dm_shm_ctrl_arrived(conn, msg, fd);
}

/* The socket closed: the peer has died, or given up, or broken the rules. */
static void conn_lost(struct dm_shm_conn *conn)
{
    conn->is_peer_gone = true;
    if (conn->state == DM_CONN_ACCEPTED)
        dm_shm_ep_check_up(conn->ep);
    if (conn->state == DM_CONN_QUIESCING)
        (void)dm_shm_ep_down_retry(conn->ep);
    else if (conn->state == DM_CONN_UP)
        dm_shm_ep_down(conn->ep, DAT_CONNECTION_EVENT_BROKEN, DM_CTRL_NONE);
    else
        dm_shm_cm_lost(conn);
}

/* Receive a message, if there is one, and do what it says. */
static void conn_receive(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl msg;
    int got;
    int fd;

    if (conn->src.is_dead || conn->is_peer_gone || conn->state <= DM_CONN_RETRY)
        return;
    got = dm_shm_ctrl_recv(conn->src.fd, &msg, &fd);
    if (got < 0)
        conn_lost(conn);
    if (got <= 0)
        return;
    if (fd == DM_CTRL_FD_LOST)
        dm_shm_no_descriptor(conn->ia);
    conn_dispatch(conn, &msg, fd);
    if (fd >= 0)
        close(fd);
}

void dm_shm_conn_ready(struct dm_shm_conn *conn, uint32_t events)
{
    if ((events & EPOLLOUT) != 0)
        dm_shm_ctrl_flush(conn);
    conn_receive(conn); /* if there are more, the socket stays readable */
}
