/*
 * Control messages: sending them, and what those of an established connection do.
 */
#include "providers/shm/ctrl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "providers/shm/dto.h"
#include "providers/shm/ext.h"
#include "providers/shm/srq.h"
#include "providers/shm/transport/inbox.h"
#include "providers/shm/transport/map.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/transport/stage.h"

/* A message that waits for space. */
struct dm_shm_out {
    struct dm_list link;
    int fd;
    struct dm_shm_ctrl msg;
};

enum { AGAIN_NS = 1000000 };

static bool ctrl_is_last(const struct dm_shm_ctrl *msg)
{
    return msg->type == DM_CTRL_DISCONNECT || msg->type == DM_CTRL_BROKEN;
}

/* 1 sent, or the peer is gone, 0 no space. */
static int ctrl_try(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg, int fd)
{
    if (!conn->was_up && conn->is_near)
        return dm_shm_inbox_send(conn, msg);
    if (!conn->was_up)
        return dm_shm_sock_send(conn->src.fd, NULL, msg, fd) != 0;
    if (fd >= 0)
        return dm_shm_ctrl_ring_send_fd(conn, msg, fd);
    return dm_shm_ctrl_ring_write(conn, msg, ctrl_is_last(msg));
}

/* Better no connection than a hanging one: the thread ends it. */
static void ctrl_abort(struct dm_shm_conn *conn)
{
    conn->is_aborted = true;
    dm_shm_kick(&conn->ia->pia);
}

static void ctrl_queue(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    size_t len = offsetof(struct dm_shm_ctrl, data) + msg->data_len;
    struct dm_shm_out *out = NULL;

    if (conn->out.n == 0)
        dm_shm_src_watch(conn->ia, &conn->src);
    if (conn->out.n < DM_CTRL_QUEUE_MAX)
        out = malloc(offsetof(struct dm_shm_out, msg) + len);
    if (out == NULL) {
        ctrl_abort(conn);
        return;
    }
    memcpy(&out->msg, msg, len);
    out->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    dm_list_add_tail(&conn->out.list, &out->link);
    conn->out.n++;
    if (dm_futex_now() + AGAIN_NS < conn->ia->wake_at)
        dm_shm_kick(&conn->ia->pia);
}

void dm_shm_ctrl_send(struct dm_shm_conn *conn, struct dm_shm_ctrl *msg, int fd)
{
    bool is_first = ctrl_is_last(msg) || dm_list_is_empty(&conn->out.list);

    if (conn->src.is_dead || conn->is_peer_gone || conn->is_aborted)
        return;
    if (conn->state == DM_CONN_ACCEPTED) /* the peer may have confirmed, and closed the socket */
        dm_shm_ep_check_up(conn->ep);
    /* The last one does not wait for others: the queue ends with the connection. */
    if (is_first && ctrl_try(conn, msg, fd) != 0)
        return;
    ctrl_queue(conn, msg, fd);
}

void dm_shm_ctrl_send_type(struct dm_shm_conn *conn, enum dm_shm_ctrl_type type)
{
    struct dm_shm_ctrl msg = {.type = type};

    dm_shm_ctrl_send(conn, &msg, -1);
}

static void ctrl_out_free(struct dm_shm_conn *conn, struct dm_shm_out *out)
{
    dm_list_del(&out->link);
    conn->out.n--;
    if (out->fd >= 0)
        close(out->fd);
    free(out);
}

void dm_shm_ctrl_flush(struct dm_shm_conn *conn)
{
    if (conn->is_aborted && !conn->is_peer_gone) {
        struct dm_shm_ctrl msg = {.type = DM_CTRL_BROKEN};

        dm_shm_ctrl_drop(conn);
        if (conn->was_up && conn->ep != NULL && conn->ep->peer_sh != NULL)
            (void)ctrl_try(conn, &msg, -1);
        dm_shm_conn_lost(conn);
    }
    while (!dm_list_is_empty(&conn->out.list)) {
        struct dm_shm_out *out = dm_container_of(conn->out.list.next, struct dm_shm_out, link);

        if (ctrl_try(conn, &out->msg, out->fd) == 0)
            return;
        ctrl_out_free(conn, out);
    }
}

void dm_shm_ctrl_drop(struct dm_shm_conn *conn)
{
    while (!dm_list_is_empty(&conn->out.list))
        ctrl_out_free(conn, dm_container_of(conn->out.list.next, struct dm_shm_out, link));
}

/* The peer has broken the connection because of an error in our memory. */
static void conn_terminated(struct dm_shm_conn *conn)
{
    struct dm_shm_ep *ep = conn->ep;

    if (ep->srq == NULL) /* else any end of a connection raises it */
        dm_evd_add_async(ep->ep.obj.ia->async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                         DAT_EP_TRANSFER_TO_ERROR);
    dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_CTRL_NONE);
}

/* A message of an established connection. */
void dm_shm_ctrl_arrived(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    struct dm_shm_ep *ep = conn->ep;

    switch (msg->type) {
    case DM_CTRL_DISCONNECT:
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_CTRL_NONE);
        break;
    case DM_CTRL_BROKEN:
        conn_terminated(conn);
        break;
    case DM_CTRL_NOTIFY:
        atomic_store(&conn->ia->has_agents, true);
        dm_shm_marks_check(ep);
        dm_shm_dto_push(ep);
        break;
    case DM_CTRL_MAP:
        dm_shm_map_execute(conn, msg);
        break;
    case DM_CTRL_MAP_FD:
        dm_shm_map_response(conn, msg, fd);
        break;
    case DM_CTRL_UNMAP:
        dm_shm_map_del(conn->peer, msg->serial);
        break;
    case DM_CTRL_STAGE:
        dm_shm_stage_execute(conn, msg);
        break;
    case DM_CTRL_ATOMIC:
        dm_shm_ext_atomic(conn, msg);
        break;
    case DM_CTRL_INVALIDATE:
        dm_shm_ext_invalidate(conn, msg);
        break;
    case DM_CTRL_STAGED:
        dm_shm_stage_response(ep, msg);
        break;
    case DM_CTRL_CONFIRM_LOST:
        dm_evd_overflow(ep->ep.connect_evd);
        break;
    case DM_CTRL_OVERFLOW:
        if (ep->ep.recv_evd != NULL)
            dm_evd_overflow(ep->ep.recv_evd);
        break;
    default:
        break; /* of a newer peer, or out of turn */
    }
}
