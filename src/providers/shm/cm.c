/*
 * Connecting and disconnecting: the active side, and the end of both.
 */
#include "providers/shm/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/dto.h"
#include "providers/shm/transport/csp.h"
#include "providers/shm/transport/inbox.h"
#include "providers/shm/transport/near.h"
#include "providers/shm/transport/peer.h"
#include "providers/shm/transport/quiesce.h"
#include "util/log.h"

/* How often, for how long in all, and how long in between, to look for a peer's dispatcher with space. */
enum { CONFIRM_TRIES = 10000, CONFIRM_WAIT_NS = 50000 };
#define CONFIRM_MOST_NS UINT64_C(2000000000)
enum { RETRY_NS = 1000000, QUIESCE_NS = 1000000, REDIRECTS_MAX = 64 };

void dm_shm_no_descriptor(struct dm_shm_ia *ia)
{
    if (!ia->is_files_reported)
        dm_log_warn("%s: this process may open no more descriptors (ulimit -n): connections to it "
                    "and from it have to wait",
                    ia->pia.obj.provider->device_name);
    ia->is_files_reported = true;
}

static bool is_out_of_files(int err)
{
    return err == EMFILE || err == ENFILE;
}

void dm_shm_cm_fail(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event, const void *data, uint32_t len)
{
    if (len > 0)
        memcpy(ep->ep.private_data, data, len);
    dm_shm_ep_down(ep, 0, DM_CTRL_NONE);
    dm_evd_add_conn(ep->ep.connect_evd, event, (DAT_EP_HANDLE)ep, ep->ep.private_data,
                    (DAT_COUNT)len);
}

/* Not the consumer's rejection. */
static void cm_no_listener(struct dm_shm_ep *ep)
{
    dm_shm_cm_fail(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

static void cm_send_request(struct dm_shm_conn *conn)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_REQUEST,
                              .data_len = (uint32_t)conn->active.request_len};

    dm_shm_conn_describe(conn, &msg);
    if (conn->active.request_len > 0)
        memcpy(msg.data, conn->active.request, (size_t)conn->active.request_len);
    conn->state = DM_CONN_REQUESTED;
    dm_shm_ctrl_send(conn, &msg, conn->ia->seg.fd);
}

static void cm_watch_deadline(struct dm_shm_conn *conn)
{
    if (dm_shm_cm_due(conn, dm_futex_now()) < conn->ia->wake_at)
        dm_shm_kick(&conn->ia->pia); /* there is an earlier deadline now */
}

/* Connect to the listener. */
static void cm_try_connect(struct dm_shm_conn *conn)
{
    struct dm_shm_ep *ep = conn->ep;
    bool is_full;

    if (connect(conn->src.fd, (const struct sockaddr *)&conn->active.to.addr,
                conn->active.to.len) == 0) {
        if (!dm_shm_sock_is_trusted(conn->src.fd, conn->ia->doorbell.uid, &conn->pid) ||
            !dm_shm_src_add(conn->ia, &conn->src)) {
            cm_no_listener(ep);
            return;
        }
        cm_send_request(conn);
    } else {
        is_full = errno == EAGAIN || errno == EINTR;
        if (!is_full && !conn->active.is_common) {
            cm_no_listener(ep);
            return;
        }
        conn->state = !is_full && dm_shm_csp_wait(conn) ? DM_CONN_CSP_WAIT : DM_CONN_RETRY;
    }
    cm_watch_deadline(conn);
}

/* Connect again soon, with a new socket: the request is redirected, or the
 * common connect that waited has been matched with another. */
static void cm_reconnect(struct dm_shm_conn *conn)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        if (is_out_of_files(errno))
            dm_shm_no_descriptor(conn->ia);
        cm_no_listener(conn->ep);
        return;
    }
    dm_shm_ctrl_drop(conn);
    if (conn->peer != NULL) /* of a near one */
        dm_shm_peer_put(conn->ia, conn->peer);
    conn->peer = NULL;
    conn->is_near = false;
    dm_shm_src_replace(conn->ia, &conn->src, fd);
    conn->is_peer_gone = false;
    conn->state = DM_CONN_RETRY;
}

void dm_shm_cm_apart(struct dm_shm_conn *conn)
{
    if (!conn->is_near || conn->state != DM_CONN_REQUESTED)
        return;
    dm_shm_inbox_take_back(conn);
    cm_reconnect(conn);
    cm_watch_deadline(conn);
}

/* The consumer that listens has handed the request off. */
static void shm_cm_redirected(struct dm_shm_conn *conn, DAT_CONN_QUAL qual)
{
    conn->ep->ep.remote_qual = qual;
    conn->active.is_common = false;
    dm_shm_sock_name(qual, &conn->active.to);
    if (++conn->active.n_redirects > REDIRECTS_MAX) /* in circles */
        cm_no_listener(conn->ep);
    else
        cm_reconnect(conn);
}

/* Begin with what there is: a socket, or the peer's segment. Takes both over. */
static DAT_RETURN cm_begin(struct dm_shm_ep *ep, int fd, struct dm_shm_peer *peer,
                           const struct dm_shm_active *active, const struct dm_connect *how)
{
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);
    uint8_t *request = malloc((size_t)how->len + 1);
    struct dm_shm_conn *conn = request != NULL ? dm_shm_conn_new(ia, fd, DM_CONN_RETRY) : NULL;

    if (conn == NULL) {
        free(request);
        return DM_DAT_NOMEM;
    }
    if (how->len > 0)
        memcpy(request, how->data, (size_t)how->len);
    conn->active = *active;
    conn->active.request = request;
    conn->active.request_len = how->len;
    conn->deadline = dm_futex_deadline(how->timeout);
    dm_list_add_tail(&ia->srcs, &conn->src.link);
    dm_shm_ep_attach(ep, conn);
    atomic_store(&ep->sh->link, dm_shm_link_word(conn->id, DM_LINK_WAIT));
    atomic_store(&ep->ep.state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    conn->is_near = peer != NULL;
    if (conn->is_near) {
        conn->peer = peer;
        conn->pid = peer->pid;
        cm_send_request(conn);
        cm_watch_deadline(conn);
    } else {
        cm_try_connect(conn);
    }
    return DAT_SUCCESS;
}

DAT_RETURN dm_shm_cm_start(struct dm_shm_ep *ep, const struct dm_shm_name *to, bool is_common,
                           const struct dm_connect *how)
{
    const struct dm_shm_active active = {.to = *to, .is_common = is_common, .qual = how->qual};
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);
    struct dm_shm_peer *peer = NULL;
    int fd = -1;
    DAT_RETURN ret;

    if (!is_common && dm_shm_inbox_has_space(ia))
        peer = dm_shm_near_find(ia, how->qual);
    if (peer == NULL) {
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 && is_out_of_files(errno))
            dm_shm_no_descriptor(ia);
        if (fd < 0)
            return DM_DAT_NOMEM;
    }
    ret = cm_begin(ep, fd, peer, &active, how);
    if (ret != DAT_SUCCESS && peer != NULL)
        dm_shm_peer_put(ia, peer);
    else if (ret != DAT_SUCCESS)
        close(fd);
    return ret;
}

DAT_RETURN dm_shm_ep_connect(struct dm_ep *ep, const struct dm_connect *how)
{
    const struct sockaddr_in *in = (const void *)how->addr;
    struct dm_pia *ia = ep->obj.ia;
    struct dm_shm_name to;

    ep->remote_addr = ia->addr;
    ep->remote_qual = how->qual;
    if (in->sin_family == AF_INET)
        ep->remote_addr.in.sin_addr = in->sin_addr;
    if (!(in->sin_family == AF_INET && in->sin_addr.s_addr == ia->addr.in.sin_addr.s_addr) &&
        !dm_ia_is_local_addr(how->addr)) {
        dm_shm_cm_fail((struct dm_shm_ep *)ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    dm_shm_sock_name(how->qual, &to);
    return dm_shm_cm_start((struct dm_shm_ep *)ep, &to, false, how);
}

enum confirm { CONFIRM_NO, CONFIRM_MOVING, CONFIRM_FULL, CONFIRM_UP };

/* The passive side waits, and so does its memory: its event is there before anything that we may send. */
static enum confirm confirm_waiting(struct dm_shm_ep *ep, uint64_t wait, bool is_last)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    struct dm_evd_ring *ring = dm_shm_peer_ring(ep->peer, atomic_load(&peer->conn_ring));
    struct dm_evd_slot *slot;
    uint64_t pos;

    if (ring == NULL)
        return CONFIRM_MOVING;
    peer->up_busy = ep->busy + 1;
    slot = dm_evd_ring_claim(ring, ep->peer_owner, &pos);
    if (slot == NULL && !is_last)
        return CONFIRM_FULL;
    if (!atomic_compare_exchange_strong(&peer->link, &wait, ep->peer_up)) {
        if (slot != NULL)
            dm_evd_ring_skip(ring, pos);
        return CONFIRM_NO;
    }
    if (slot == NULL)
        return CONFIRM_FULL;
    slot->item = dm_evd_item_conn(DAT_CONNECTION_EVENT_ESTABLISHED, peer->handle, peer->conn_data,
                                  (DAT_COUNT)peer->conn_data_len);
    (void)dm_evd_ring_publish(ring, slot, pos, ep->peer_owner, false);
    return CONFIRM_UP;
}

/* Confirm to the passive side, in its own memory, that we are connected. Or: it has given up;
 * its dispatcher is being moved; or is full, and with is_last it gets no event. */
static enum confirm confirm_once(struct dm_shm_ep *ep, bool is_last)
{
    uint64_t wait = dm_shm_link_word(ep->peer_up, DM_LINK_WAIT);
    enum confirm how = CONFIRM_NO;

    dm_shm_busy_begin(ep);
    if (atomic_load(&ep->peer_sh->link) == wait)
        how = confirm_waiting(ep, wait, is_last);
    dm_shm_busy_end(ep);
    return how;
}

/* CONFIRM_FULL: the peer is connected, but without its event. */
static enum confirm confirm(struct dm_shm_ep *ep)
{
    struct timespec wait = {.tv_nsec = CONFIRM_WAIT_NS};
    uint64_t last = dm_futex_now() + CONFIRM_MOST_NS;
    enum confirm how = CONFIRM_MOVING;
    bool is_last = false;

    for (int i = 1; !is_last && how != CONFIRM_UP && how != CONFIRM_NO; i++) {
        if (i > 1)
            nanosleep(&wait, NULL);
        is_last = i == CONFIRM_TRIES || dm_futex_now() >= last;
        how = confirm_once(ep, is_last);
    }
    return how == CONFIRM_MOVING ? CONFIRM_NO : how;
}

bool dm_shm_cm_can_confirm(const struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg)
{
    struct dm_shm_link_ep *peer;
    struct dm_evd_ring *ring;

    if (conn->state != DM_CONN_REQUESTED || !dm_shm_peer_ep_ok(conn->peer, msg->ep))
        return true; /* it fails at once */
    peer = (struct dm_shm_link_ep *)(void *)((char *)conn->peer->hdr + msg->ep);
    ring = dm_shm_peer_ring(conn->peer, atomic_load(&peer->conn_ring));
    return ring != NULL && dm_evd_ring_has_space(ring);
}

static void shm_cm_accepted(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    struct dm_shm_ep *ep = conn->ep;
    enum confirm how;

    if (!dm_shm_conn_peer_set(conn, msg, fd)) {
        cm_no_listener(ep);
        return;
    }
    dm_shm_ep_attach(ep, conn);
    conn->deadline = DM_FUTEX_FOREVER;
    memcpy(ep->ep.private_data, msg->data, msg->data_len);
    atomic_store(&ep->sh->link, dm_shm_link_word(conn->id, DM_LINK_UP));
    dm_evd_add_conn(ep->ep.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_EP_HANDLE)ep,
                    ep->ep.private_data, (DAT_COUNT)msg->data_len);
    how = confirm(ep);
    if (how == CONFIRM_NO) {
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_BROKEN, DM_CTRL_NONE);
        return;
    }
    if (how == CONFIRM_FULL)
        dm_shm_ctrl_send_type(conn, DM_CTRL_CONFIRM_LOST);
    dm_shm_ep_established(ep);
    if (conn->is_near)
        dm_shm_inbox_confirm(conn);
    else
        dm_shm_src_close(conn->ia, &conn->src); /* by this the other side's thread hears of it */
}

void dm_shm_cm_response(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg, int fd)
{
    switch (msg->type) {
    case DM_CTRL_ACCEPT:
        shm_cm_accepted(conn, msg, fd);
        break;
    case DM_CTRL_REJECT:
        dm_shm_cm_fail(conn->ep,
                       msg->status == 1 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                        : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                       msg->data, msg->data_len);
        break;
    case DM_CTRL_HANDOFF:
        shm_cm_redirected(conn, msg->qual);
        break;
    default:
        break;
    }
}

void dm_shm_cm_lost(struct dm_shm_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_REQUESTED:
        if (conn->active.is_common)
            cm_reconnect(conn); /* the one that waited is matched already */
        else
            cm_no_listener(conn->ep);
        break;
    case DM_CONN_ACCEPTED:
        dm_shm_ep_down(conn->ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DM_CTRL_NONE);
        break;
    default: /* a request that nobody has answered: its CR finds no connection */
        dm_shm_conn_close(conn);
        break;
    }
}

void dm_shm_cm_timeout(struct dm_shm_conn *conn)
{
    if (conn->state == DM_CONN_QUIESCING)
        (void)dm_shm_ep_down_retry(conn->ep);
    else if (conn->state == DM_CONN_HALF_OPEN)
        dm_shm_conn_close(conn); /* it has had its time */
    else if (conn->deadline <= dm_futex_now())
        dm_shm_cm_fail(conn->ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
    else if (conn->state == DM_CONN_RETRY)
        cm_try_connect(conn);
}

uint64_t dm_shm_cm_due(const struct dm_shm_conn *conn, uint64_t now)
{
    bool is_again = conn->state == DM_CONN_RETRY || !dm_list_is_empty(&conn->out.list);

    if (conn->state == DM_CONN_QUIESCING)
        return now + QUIESCE_NS;
    if (is_again && now + RETRY_NS < conn->deadline)
        return now + RETRY_NS;
    return conn->deadline;
}

void dm_shm_ep_disconnect(struct dm_ep *any)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;
    uint64_t wait = ep->conn != NULL ? dm_shm_link_word(ep->conn->id, DM_LINK_WAIT) : DM_LINK_WAIT;

    /* The active side may be confirming at this moment. */
    if (atomic_load(&any->state) == DAT_EP_STATE_COMPLETION_PENDING &&
        !atomic_compare_exchange_strong(&ep->sh->link, &wait, DM_LINK_DOWN))
        dm_shm_ep_check_up(ep);
    dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_CTRL_DISCONNECT);
    /* Have the receives flushed when this returns, if that is possible. */
    if (ep->conn != NULL && dm_shm_quiesce(dm_shm_ia_of(ep), ep))
        (void)dm_shm_ep_down_retry(ep);
}
