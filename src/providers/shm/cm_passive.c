/*
 * Service points and connection requests: the passive side.
 *
 * A qualifier is a listening socket in the abstract name space, which all
 * processes of the node share; binding it twice fails, and it is gone at once
 * when its process dies.
 */
#include "providers/shm/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/transport/csp.h"
#include "providers/shm/transport/inbox.h"
#include "providers/shm/transport/near.h"
#include "providers/shm/transport/peer.h"

enum { ANY_FIRST = 0x10000, ANY_TRIES = 100000 };
enum { HALF_OPEN_MAX = 64, PAUSE_NS = 10000000 };
#define HALF_OPEN_NS 5000000000u

static DAT_RETURN cm_listen_at(struct dm_sp *sp, const struct dm_shm_name *name)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)sp->obj.ia;
    struct dm_shm_listener *listener;
    int fd = -1;
    DAT_RETURN ret = dm_shm_sock_listen(name, &fd);

    if (ret != DAT_SUCCESS)
        return ret;
    listener = calloc(1, sizeof(*listener));
    if (listener == NULL) {
        close(fd);
        return DM_DAT_NOMEM;
    }
    listener->src.kind = DM_SRC_LISTEN;
    listener->src.fd = fd;
    listener->sp = sp;
    dm_list_add_tail(&ia->srcs, &listener->src.link);
    sp->listener = listener;
    if (dm_shm_src_add(ia, &listener->src))
        return DAT_SUCCESS;
    dm_shm_src_defer_free(ia, &listener->src);
    return DM_DAT_NOMEM;
}

DAT_RETURN dm_shm_cm_listen(struct dm_sp *sp)
{
    struct dm_shm_name name;

    if (sp->obj.type == DAT_HANDLE_TYPE_CSP)
        dm_shm_sock_common_name(&sp->comm, (uint16_t)sp->qual, &name);
    else
        dm_shm_sock_name(sp->qual, &name);
    return cm_listen_at(sp, &name);
}

DAT_RETURN dm_shm_cm_listen_any(struct dm_sp *sp)
{
    /* One by which others find the segment; else start somewhere else in every process, so that they
     * rarely collide. */
    DAT_CONN_QUAL first = ANY_FIRST + (DAT_CONN_QUAL)(uint32_t)getpid() * 256u;

    for (DAT_CONN_QUAL i = 0; i < ANY_TRIES; i++) {
        DAT_CONN_QUAL near = dm_shm_near_qual((struct dm_shm_ia *)sp->obj.ia, (unsigned)i);
        DAT_RETURN ret;

        sp->qual = near != 0 ? near : first + i;
        ret = dm_shm_cm_listen(sp);
        if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
            return ret;
    }
    return DM_DAT(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

void dm_shm_cm_unlisten(struct dm_sp *sp)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)sp->obj.ia;
    struct dm_shm_listener *listener = sp->listener;

    dm_shm_half_open_close(ia, sp, NULL);
    dm_shm_src_defer_free(ia, &listener->src);
}

void dm_shm_cm_reject(void *any, bool is_by_consumer, DAT_COUNT len, const void *data)
{
    struct dm_shm_conn *conn = any;
    struct dm_shm_ctrl msg = {
        .type = DM_CTRL_REJECT, .status = is_by_consumer, .data_len = (uint32_t)len};

    if (len > 0)
        memcpy(msg.data, data, (size_t)len);
    dm_shm_ctrl_send(conn, &msg, -1);
    dm_shm_conn_close(conn);
}

/* Half-open connections have a time limit, and their number has one: the oldest is closed. */
static void shm_half_open_limit(struct dm_shm_ia *ia)
{
    if (ia->n_half_open < HALF_OPEN_MAX)
        return;
    dm_list_for_each (it, &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_conn *conn = (struct dm_shm_conn *)src;

        if (src->kind == DM_SRC_CONN && conn->state == DM_CONN_HALF_OPEN) {
            dm_shm_conn_close(conn);
            return;
        }
    }
}

static void half_open_new(struct dm_shm_ia *ia, const struct dm_shm_listener *listener, int fd)
{
    struct dm_shm_conn *conn = NULL;
    pid_t pid;

    if (dm_shm_sock_is_trusted(fd, ia->doorbell.uid, &pid))
        conn = dm_shm_conn_new(ia, fd, DM_CONN_HALF_OPEN);
    if (conn == NULL) {
        close(fd);
        return;
    }
    conn->pid = pid;
    shm_half_open_limit(ia);
    ia->n_half_open++;
    conn->sp = listener->sp;
    conn->csp_waiter = listener->csp_waiter;
    conn->deadline = dm_futex_now() + HALF_OPEN_NS;
    dm_list_add_tail(&ia->srcs, &conn->src.link);
    if (dm_shm_src_add(ia, &conn->src))
        dm_shm_conn_ready(conn); /* the request is here already, as a rule */
    else
        dm_shm_conn_close(conn);
}

void dm_shm_listener_ready(struct dm_shm_ia *ia, struct dm_shm_listener *listener)
{
    int fd;

    if (listener->paused != 0)
        dm_shm_src_poll(ia, &listener->src, EPOLLIN);
    listener->paused = 0;
    do
        fd = accept4(listener->src.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && (errno == ECONNABORTED || errno == EINTR));
    if (fd >= 0) /* if others have come, the socket stays readable */
        half_open_new(ia, listener, fd);
    if (fd >= 0 || errno == EAGAIN)
        return;
    if (errno == EMFILE || errno == ENFILE)
        dm_shm_no_descriptor(ia);
    /* Out of descriptors or memory: requests wait in the backlog. */
    listener->paused = dm_futex_now() + PAUSE_NS;
    dm_shm_src_poll(ia, &listener->src, 0);
}

void dm_shm_cm_request(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    struct dm_shm_ia *ia = conn->ia;
    union dm_addr addr = ia->pia.addr;
    const struct dm_request request = {.conn = conn,
                                       .conn_cr = &conn->cr,
                                       .addr = &addr,
                                       .qual = msg->qual,
                                       .data_len = msg->data_len,
                                       .data = msg->data};

    if (msg->type != DM_CTRL_REQUEST || !dm_shm_conn_peer_set(conn, msg, fd)) {
        dm_shm_cm_reject(conn, false, 0, NULL);
        return;
    }
    if (conn->csp_waiter != NULL) {
        dm_shm_csp_match(conn, msg);
        return;
    }
    addr.in.sin_addr.s_addr = msg->addr;
    if (!dm_cr_arrived(conn->sp, &request)) {
        dm_shm_cm_reject(conn, false, 0, NULL);
        return;
    }
    conn->state = DM_CONN_CR;
    conn->deadline = DM_FUTEX_FOREVER;
    ia->n_half_open--;
}

static struct dm_sp *cm_find_sp(const struct dm_shm_ia *ia, DAT_CONN_QUAL qual)
{
    dm_list_for_each (it, &ia->srcs) {
        struct dm_shm_src *src = dm_container_of(it, struct dm_shm_src, link);
        struct dm_shm_listener *listener = (struct dm_shm_listener *)src;

        if (src->kind == DM_SRC_LISTEN && listener->sp != NULL && listener->sp->qual == qual &&
            listener->sp->obj.type != DAT_HANDLE_TYPE_CSP)
            return listener->sp;
    }
    return NULL;
}

bool dm_shm_cm_request_near(struct dm_shm_ia *ia, const struct dm_shm_letter *letter)
{
    const struct dm_shm_who who = {.id = letter->msg.id, .mask = UINT64_MAX, .pid = letter->pid};
    struct dm_shm_peer *peer = dm_shm_near_open(ia, letter->fd, &who);
    struct dm_shm_conn *conn;

    if (peer == NULL && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        dm_shm_no_descriptor(ia);
        return false;
    }
    if (peer == NULL)
        return dm_shm_near_refuse(ia, letter);
    if (peer->is_gone) { /* it has asked, and died */
        dm_shm_peer_put(ia, peer);
        return true;
    }
    conn = dm_shm_conn_new(ia, -1, DM_CONN_HALF_OPEN);
    if (conn == NULL) {
        dm_shm_peer_put(ia, peer);
        return false;
    }
    ia->n_half_open++;
    dm_list_add_tail(&ia->srcs, &conn->src.link);
    conn->is_near = true;
    conn->peer = peer;
    conn->pid = peer->pid;
    conn->peer_id = letter->msg.conn;
    conn->reply = letter->reply;
    conn->sp = cm_find_sp(ia, letter->qual);
    if (conn->sp != NULL)
        dm_shm_cm_request(conn, &letter->msg, -1);
    else
        dm_shm_cm_reject(conn, false, 0, NULL);
    return true;
}

void dm_shm_cm_accept_conn(struct dm_shm_conn *conn, struct dm_shm_ep *ep, DAT_COUNT len,
                           const void *data)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_ACCEPT, .data_len = (uint32_t)len};

    conn->state = DM_CONN_ACCEPTED;
    dm_shm_ep_attach(ep, conn);
    atomic_store(&ep->ep.state, DAT_EP_STATE_COMPLETION_PENDING);
    atomic_store(&ep->sh->link, dm_shm_link_word(conn->id, DM_LINK_WAIT));
    dm_shm_conn_describe(conn, &msg);
    if (len > 0)
        memcpy(msg.data, data, (size_t)len);
    dm_shm_ctrl_send(conn, &msg, conn->ia->seg.fd);
}

void dm_shm_cm_accept(struct dm_ep *any, void *conn, DAT_COUNT len, const void *data)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;

    ep->sh->conn_data_len = 0;
    if (conn != NULL)
        dm_shm_cm_accept_conn(conn, ep, len, data);
    else
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DM_CTRL_NONE);
}

bool dm_shm_cm_is_listening(struct dm_pia *ia, DAT_CONN_QUAL qual)
{
    struct dm_shm_name name;

    (void)ia;
    dm_shm_sock_name(qual, &name);
    return dm_shm_sock_is_there(&name, SOCK_SEQPACKET);
}

void dm_shm_cm_handoff(void *conn, DAT_CONN_QUAL qual)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_HANDOFF, .qual = qual};

    dm_shm_ctrl_send(conn, &msg, -1);
    dm_shm_conn_close(conn);
}
