/*
 * Connections, and what arrives for them.
 */
#include "providers/shm/conn.h"

#include <stdlib.h>
#include <unistd.h>

#include "providers/shm/cm.h"
#include "providers/shm/ctrl.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/transport/seg.h"
#include "util/err.h"

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
    conn->id = dm_shm_doorbell_new_id(ia);
    dm_list_init(&conn->out.list);
    dm_list_init(&conn->src.link);
    if (dm_hash_put(&ia->doorbell.conns, conn->id, conn) == DM_OK)
        return conn;
    free(conn);
    return NULL;
}

void dm_shm_conn_close(struct dm_shm_conn *conn)
{
    if (conn->src.is_dead)
        return;
    if (conn->ep != NULL)
        conn->ep->conn = NULL;
    conn->ep = NULL;
    dm_cr_lost(&conn->cr);
    (void)dm_hash_del(&conn->ia->doorbell.conns, conn->id);
    dm_shm_ctrl_drop(conn);
    if (conn->peer != NULL)
        dm_shm_peer_put(conn->ia, conn->peer);
    conn->peer = NULL;
    if (conn->state == DM_CONN_HALF_OPEN)
        conn->ia->n_half_open--;
    if (conn->csp_listener != NULL) {
        dm_shm_src_defer_free(conn->ia, &conn->csp_listener->src);
        dm_shm_half_open_close(conn->ia, NULL, conn);
    }
    conn->csp_listener = NULL;
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
    msg->conn = conn->id;
    msg->owner = conn->owner;
    msg->addr = ia->pia.addr.in.sin_addr.s_addr;
    msg->qual = conn->ep->ep.local_qual;
    msg->ep = dm_shm_seg_offset(&ia->seg, conn->ep->sh);
}

bool dm_shm_conn_peer_set(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    const struct dm_shm_who who = {.id = msg->id, .mask = UINT64_MAX, .pid = conn->pid};

    if (msg->version != DM_SHM_VERSION)
        return false;
    if (conn->peer == NULL)
        conn->peer = dm_shm_peer_get(conn->ia, fd, &who);
    if (conn->peer == NULL || conn->peer->id != msg->id)
        return false;
    if (!dm_shm_peer_ep_ok(conn->peer, msg->ep))
        return false;
    conn->peer_ep = msg->ep;
    conn->peer_id = msg->conn;
    conn->peer_owner = msg->owner & DM_EVD_OWNER_MAX;
    return true;
}

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
            dm_shm_conn_lost(conn); /* it has not confirmed in our memory first */
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

void dm_shm_conn_lost(struct dm_shm_conn *conn)
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

/* The socket closed: the other side has confirmed that we are connected, and needs it no more. Or
 * it has died or given up, or broken the rules. */
static void conn_hung_up(struct dm_shm_conn *conn)
{
    if (conn->state == DM_CONN_ACCEPTED)
        dm_shm_ep_check_up(conn->ep);
    if (!conn->was_up) {
        dm_shm_conn_lost(conn);
        return;
    }
    atomic_store(&conn->ia->has_agents, true); /* of the event that the other side has put there */
    dm_shm_src_close(conn->ia, &conn->src);
}

void dm_shm_conn_ready(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl msg;
    int got;
    int fd;

    if (conn->src.is_dead || conn->is_peer_gone || conn->state <= DM_CONN_RETRY || conn->src.fd < 0)
        return;
    got =
        dm_shm_sock_recv(conn->src.fd, &msg, &fd, NULL); /* if there are more, it stays readable */
    if (got < 0)
        conn_hung_up(conn);
    if (got <= 0)
        return;
    if (fd == DM_SOCK_FD_LOST)
        dm_shm_no_descriptor(conn->ia);
    conn_dispatch(conn, &msg, fd);
    if (fd >= 0)
        close(fd);
}

void dm_shm_conn_answered(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg)
{
    if (!conn->src.is_dead && !conn->is_peer_gone)
        conn_dispatch(conn, msg, -1);
}

static bool conn_may_hear(const struct dm_shm_conn *conn)
{
    return !conn->src.is_dead && !conn->is_peer_gone &&
           (conn->state == DM_CONN_ACCEPTED || conn->state == DM_CONN_UP);
}

void dm_shm_conn_hear(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    if (conn_may_hear(conn))
        conn_dispatch(conn, msg, fd);
}

void dm_shm_conn_look(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl msg;
    int got = 1;

    /* One that writes all the time does not keep the others from being looked at. */
    for (int i = 0; i <= DM_SHM_CTRL_SLOTS && got > 0 && conn_may_hear(conn); i++) {
        got = dm_shm_ctrl_ring_read(conn, &msg);
        if (got > 0)
            conn_dispatch(conn, &msg, -1);
        else if (got < 0)
            dm_shm_conn_lost(conn);
    }
    if (conn_may_hear(conn))
        dm_shm_ctrl_flush(conn);
    if (got > 0 && conn_may_hear(conn)) {
        atomic_store(&conn->ia->seg.hdr->is_look_due, 1);
        dm_shm_kick(&conn->ia->pia);
    }
}
