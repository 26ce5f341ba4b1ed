/*
 * Connections: one socket each, and what arrives on it.
 */
#include "providers/shm/shm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/shm/msg.h"

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
    dm_list_init(&conn->out);
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
        dm_shm_peer_put(conn->ia, conn->peer);
    conn->peer = NULL;
    if (conn->state == DM_CONN_EMBRYO)
        conn->ia->n_embryos--;
    if (conn->waiter != NULL) {
        dm_shm_src_bury(conn->ia, &conn->waiter->src);
        dm_shm_embryos_close(conn->ia, NULL, conn);
    }
    conn->waiter = NULL;
    dm_shm_msg_drop_queue(conn);
    free(conn->request);
    conn->request = NULL;
    dm_shm_src_bury(conn->ia, &conn->src);
}

void dm_shm_embryos_close(struct dm_shm_ia *ia, const struct dm_sp *sp,
                          const struct dm_shm_conn *host)
{
    dm_list_for_each_safe (it, next, &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

        if (src->kind == DM_SRC_CONN && conn->state == DM_CONN_EMBRYO && conn->sp == sp &&
            conn->host == host)
            dm_shm_conn_close(conn);
    }
}

/* The peer asks for the descriptor of a region. */
static void serve_map(struct dm_shm_conn *conn, const struct dm_shm_msg *ask)
{
    struct dm_shm_lmr *lmr = dm_shm_lmr_find(conn->ia, ask->key);
    struct dm_shm_msg msg = {.type = DM_MSG_MAP_FD, .key = ask->key, .serial = ask->serial};
    int fd = -1;

    if (lmr != NULL && lmr->fd >= 0 && conn->ep != NULL && lmr->lmr.pz == conn->ep->ep.pz) {
        fd = lmr->fd;
        msg.status = 1;
        msg.offset = lmr->fd_offset;
        msg.size = lmr->lmr.len;
        msg.va = lmr->lmr.addr;
        lmr->is_exported = true;
    }
    dm_shm_msg_send(conn, &msg, fd);
}

static void got_map(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    if (!conn->ep->is_map_asked || conn->ep->map_serial != msg->serial)
        return;
    dm_shm_peer_map_add(conn->peer, msg->serial, msg->status == 1 ? fd : -1, msg->offset, msg->size,
                        msg->va);
    conn->ep->is_map_asked = false;
    dm_shm_drain(conn->ep);
}

/* The peer has broken the connection because of an error in our memory. */
static void got_broken(struct dm_shm_conn *conn)
{
    struct dm_shm_ep *ep = conn->ep;

    if (ep->srq == NULL) /* else any end of a connection says so */
        dm_evd_add_async(ep->ep.obj.ia->async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                         DAT_EP_TRANSFER_TO_ERROR);
    dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_MSG_NONE);
}

/* A message of an established connection. */
static void handle_up(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    struct dm_shm_ep *ep = conn->ep;

    switch (msg->type) {
    case DM_MSG_BYE:
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_MSG_NONE);
        break;
    case DM_MSG_BROKEN:
        got_broken(conn);
        break;
    case DM_MSG_POKE:
        atomic_store(&conn->ia->has_agents, true);
        dm_shm_marks_check(ep);
        dm_shm_drain(ep);
        break;
    case DM_MSG_MAP:
        serve_map(conn, msg);
        break;
    case DM_MSG_MAP_FD:
        got_map(conn, msg, fd);
        break;
    case DM_MSG_UNMAP:
        dm_shm_peer_map_del(conn->peer, msg->serial);
        break;
    case DM_MSG_STAGE:
        dm_shm_stage_serve(conn, msg);
        break;
    case DM_MSG_ATOMIC:
        dm_shm_atomic_serve(conn, msg);
        break;
    case DM_MSG_INVALIDATE:
        dm_shm_invalidate_serve(conn, msg);
        break;
    case DM_MSG_STAGED:
        dm_shm_stage_answer(ep, msg);
        break;
    case DM_MSG_UNHEARD:
        dm_evd_overflow(ep->ep.connect_evd);
        break;
    case DM_MSG_OVERFLOW:
        if (ep->ep.recv_evd != NULL)
            dm_evd_overflow(ep->ep.recv_evd);
        break;
    default:
        break; /* of a newer peer, or out of turn */
    }
}

static void lost(struct dm_shm_conn *conn);

static void handle(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    switch (conn->state) {
    case DM_CONN_EMBRYO:
        dm_shm_conn_request(conn, msg, fd);
        return;
    case DM_CONN_ASKED:
        dm_shm_conn_answer(conn, msg, fd);
        return;
    case DM_CONN_ACCEPTED:
        /* Whatever comes, the peer has seen our acceptance. */
        dm_shm_ep_check_up(conn->ep);
        if (conn->state != DM_CONN_UP) {
            lost(conn); /* it has not confirmed in our memory first */
            return;
        }
        atomic_store(&conn->ia->has_agents, true);
        break;
    case DM_CONN_UP:
        break;
    default:
        return;
    }
    handle_up(conn, msg, fd);
}

/* The socket closed: the peer has died, or given up, or broken the rules. */
static void lost(struct dm_shm_conn *conn)
{
    conn->is_peer_gone = true;
    if (conn->state == DM_CONN_ACCEPTED)
        dm_shm_ep_check_up(conn->ep);
    if (conn->state == DM_CONN_DYING)
        (void)dm_shm_ep_dying(conn->ep);
    else if (conn->state == DM_CONN_UP)
        dm_shm_ep_down(conn->ep, DAT_CONNECTION_EVENT_BROKEN, DM_MSG_NONE);
    else
        dm_shm_conn_lost(conn);
}

void dm_shm_conn_ready(struct dm_shm_conn *conn, uint32_t events)
{
    struct dm_shm_msg msg;
    int fd;
    int got = 1;

    if ((events & EPOLLOUT) != 0)
        dm_shm_msg_flush(conn);
    while (!conn->src.is_dead && !conn->is_peer_gone && conn->state > DM_CONN_RETRY) {
        got = dm_shm_msg_recv(conn->src.fd, &msg, &fd);
        if (got <= 0)
            break;
        if (fd == DM_MSG_FD_LOST)
            dm_shm_no_descriptor(conn->ia);
        handle(conn, &msg, fd);
        if (fd >= 0)
            close(fd);
    }
    if (got < 0)
        lost(conn);
}

void dm_shm_peer_died(struct dm_shm_ia *ia, struct dm_shm_peer *peer)
{
    dm_shm_peer_hold(peer); /* the last connection would take it along */
    dm_shm_src_bury(ia, &peer->death->src);
    peer->death = NULL;
    dm_list_for_each_safe (it, next, &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

        if (src->kind != DM_SRC_CONN || conn->peer != peer)
            continue;
        dm_shm_conn_ready(conn, 0);
        if (!src->is_dead && !conn->is_peer_gone)
            lost(conn);
    }
    dm_shm_peer_put(ia, peer);
}
