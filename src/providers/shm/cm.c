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

#include "providers/shm/calls.h"
#include "providers/shm/msg.h"
#include "util/log.h"

/* How often, and how long in between, to look for a peer's dispatcher with room. */
enum { CONFIRM_TRIES = 10000, CONFIRM_NAP_NS = 50000 };
enum { RETRY_NS = 1000000, DYING_NS = 1000000, MOVES_MAX = 64, BACKLOG = 4096 };

void dm_shm_no_descriptor(struct dm_shm_ia *ia)
{
    if (!ia->is_files_told)
        dm_log_warn("%s: this process may open no more descriptors (ulimit -n): connections to it "
                    "and from it have to wait",
                    ia->pia.obj.provider->device_name);
    ia->is_files_told = true;
}

static bool is_short(int err)
{
    return err == EMFILE || err == ENFILE;
}

/* A zero, which means the abstract name space, then the text. */
static void set_name(struct dm_shm_name *name, const char *prefix, const uint64_t *values, int n)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = strlen(prefix);
    char *at;

    memset(name, 0, sizeof(*name));
    name->addr.sun_family = AF_UNIX;
    at = name->addr.sun_path + 1;
    memcpy(at, prefix, len);
    at += len;
    for (int i = 0; i < n; i++)
        for (int shift = 60; shift >= 0; shift -= 4)
            *at++ = digits[values[i] >> shift & 15];
    name->len = (socklen_t)(at - (char *)&name->addr);
}

void dm_shm_cm_name(DAT_CONN_QUAL qual, struct dm_shm_name *name)
{
    uint64_t value = qual;

    set_name(name, "datum-shm.", &value, 1);
}

void dm_shm_cm_common_name(const DAT_COMM *comm, uint16_t port, struct dm_shm_name *name)
{
    uint64_t values[3] = {(uint64_t)(uint32_t)comm->domain << 32 | (uint32_t)comm->type,
                          (uint64_t)(uint32_t)comm->protocol, port};

    set_name(name, "datum-csp.", values, 3);
}

DAT_RETURN dm_shm_sock_listen(const struct dm_shm_name *name, int *fd_p)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return DM_DAT_NOMEM;
    if (bind(fd, (const struct sockaddr *)&name->addr, name->len) != 0 ||
        listen(fd, BACKLOG) != 0) {
        DAT_RETURN ret = errno == EADDRINUSE ? DM_DAT_BARE(DAT_CONN_QUAL_IN_USE) : DM_DAT_NOMEM;

        close(fd);
        return ret;
    }
    *fd_p = fd;
    return DAT_SUCCESS;
}

bool dm_shm_sock_is_there(const struct dm_shm_name *name)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_there;

    if (fd < 0)
        return false;
    is_there = connect(fd, (const struct sockaddr *)&name->addr, name->len) == 0 || errno == EAGAIN;
    close(fd);
    return is_there;
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
    msg->addr = ia->pia.addr.in.sin_addr.s_addr;
    msg->qual = conn->ep->ep.local_qual;
    msg->ep = dm_shm_seg_offset(&ia->seg, conn->ep->sh);
}

bool dm_shm_cm_meet(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    pid_t pid;

    if (msg->version != DM_SHM_VERSION || !dm_shm_cm_trusted(conn->src.fd, &pid))
        return false;
    conn->peer = dm_shm_peer_get(conn->ia, conn->src.fd, fd, msg->id, pid);
    if (conn->peer == NULL)
        return false;
    if (!dm_shm_peer_ep_ok(conn->peer, msg->ep))
        return false;
    conn->peer_ep = msg->ep;
    conn->peer_owner = msg->owner & DM_EVD_OWNER_MAX;
    return true;
}

void dm_shm_cm_give_up(struct dm_shm_ep *ep, DAT_EVENT_NUMBER event, const void *data, uint32_t len)
{
    if (len > 0)
        memcpy(ep->ep.private_data, data, len);
    dm_shm_ep_down(ep, 0, DM_MSG_NONE);
    dm_evd_add_conn(ep->ep.connect_evd, event, (DAT_EP_HANDLE)ep, ep->ep.private_data,
                    (DAT_COUNT)len);
}

/* No consumer has said no. */
static void not_there(struct dm_shm_ep *ep)
{
    dm_shm_cm_give_up(ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
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
    struct dm_shm_ep *ep = conn->ep;
    bool is_full;
    pid_t pid;

    if (connect(conn->src.fd, (const struct sockaddr *)&conn->to.addr, conn->to.len) == 0) {
        if (!dm_shm_cm_trusted(conn->src.fd, &pid) || !dm_shm_src_add(conn->ia, &conn->src)) {
            not_there(ep);
            return;
        }
        send_request(conn);
    } else {
        is_full = errno == EAGAIN || errno == EINTR;
        if (!is_full && !conn->is_common) {
            not_there(ep);
            return;
        }
        conn->state = !is_full && dm_shm_common_wait(conn) ? DM_CONN_WAIT : DM_CONN_RETRY;
    }
    dm_shm_kick(&conn->ia->pia); /* there is a deadline now */
}

/* Ask again soon, with a new socket: the listener has sent us elsewhere, or it
 * did not wait for us. */
static void ask_again(struct dm_shm_conn *conn)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        if (is_short(errno))
            dm_shm_no_descriptor(conn->ia);
        not_there(conn->ep);
        return;
    }
    dm_shm_msg_drop_queue(conn);
    dm_shm_src_replace(conn->ia, &conn->src, fd);
    conn->has_out = false;
    conn->is_peer_gone = false;
    conn->state = DM_CONN_RETRY;
}

/* The consumer who listens wants somebody else to answer. */
static void handed_off(struct dm_shm_conn *conn, DAT_CONN_QUAL qual)
{
    conn->ep->ep.remote_qual = qual;
    conn->is_common = false;
    dm_shm_cm_name(qual, &conn->to);
    if (++conn->n_moves > MOVES_MAX) /* in circles */
        not_there(conn->ep);
    else
        ask_again(conn);
}

DAT_RETURN dm_shm_cm_start(struct dm_shm_ep *ep, const struct dm_shm_name *to, bool is_common,
                           const struct dm_connect *how)
{
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_out = fd < 0 && is_short(errno);
    struct dm_shm_conn *conn = fd >= 0 ? dm_shm_conn_new(ia, fd, DM_CONN_RETRY) : NULL;
    uint8_t *request = malloc((size_t)how->len + 1);

    if (is_out)
        dm_shm_no_descriptor(ia);
    if (conn == NULL || request == NULL) {
        free(request);
        free(conn);
        if (fd >= 0)
            close(fd);
        return DM_DAT_NOMEM;
    }
    if (how->len > 0)
        memcpy(request, how->data, (size_t)how->len);
    conn->request = request;
    conn->request_len = how->len;
    conn->to = *to;
    conn->is_common = is_common;
    conn->deadline = dm_futex_deadline(how->timeout);
    dm_list_add_tail(&ia->srcs, &conn->src.link);
    dm_shm_ep_attach(ep, conn);
    atomic_store(&ep->sh->link, DM_LINK_WAIT);
    atomic_store(&ep->ep.state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    try_connect(conn);
    return DAT_SUCCESS;
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
        dm_shm_cm_give_up((struct dm_shm_ep *)ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    dm_shm_cm_name(how->qual, &to);
    return dm_shm_cm_start((struct dm_shm_ep *)ep, &to, false, how);
}

enum confirm { CONFIRM_NO, CONFIRM_MOVING, CONFIRM_FULL, CONFIRM_UP };

/* Tell the passive side, in its own memory, that we are connected: its event
 * is there before anything that we may send. Or: it has given up; its
 * dispatcher is just being moved; or is full, and is_last says that it goes without. */
static enum confirm confirm_once(struct dm_shm_ep *ep, bool is_last)
{
    struct dm_shm_link_ep *peer = ep->peer_sh;
    enum confirm how = CONFIRM_MOVING;
    uint32_t wait = DM_LINK_WAIT;
    struct dm_evd_slot *slot = NULL;
    struct dm_evd_ring *ring;
    uint64_t pos;

    dm_shm_busy_begin(ep);
    ring = dm_shm_peer_ring(ep->peer, atomic_load(&peer->conn_ring));
    if (ring != NULL) {
        slot = dm_evd_ring_claim(ring, ep->peer_owner, &pos);
        how = slot != NULL ? CONFIRM_UP : CONFIRM_FULL;
    }
    if (slot == NULL && !(is_last && ring != NULL))
        how = atomic_load(&peer->link) == DM_LINK_WAIT ? how : CONFIRM_NO;
    else if (!atomic_compare_exchange_strong(&peer->link, &wait, DM_LINK_UP))
        how = CONFIRM_NO;
    if (slot != NULL && how == CONFIRM_UP) {
        slot->item = dm_evd_item_conn(DAT_CONNECTION_EVENT_ESTABLISHED, peer->handle,
                                      peer->conn_data, (DAT_COUNT)peer->conn_data_len);
        (void)dm_evd_ring_publish(ring, slot, pos, ep->peer_owner, false);
    } else if (slot != NULL) {
        dm_evd_ring_skip(ring, pos);
    }
    dm_shm_busy_end(ep);
    return how;
}

/* CONFIRM_FULL: the peer is connected, but without its event. */
static enum confirm confirm(struct dm_shm_ep *ep)
{
    struct timespec nap = {.tv_nsec = CONFIRM_NAP_NS};
    enum confirm how = CONFIRM_MOVING;

    for (int i = 0; i < CONFIRM_TRIES && how != CONFIRM_UP && how != CONFIRM_NO; i++) {
        if (i > 0)
            nanosleep(&nap, NULL);
        how = confirm_once(ep, i + 1 == CONFIRM_TRIES);
    }
    return how == CONFIRM_MOVING ? CONFIRM_NO : how;
}

static void accepted(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    struct dm_shm_ep *ep = conn->ep;
    enum confirm how;

    if (!dm_shm_cm_meet(conn, msg, fd)) {
        not_there(ep);
        return;
    }
    dm_shm_ep_attach(ep, conn);
    conn->deadline = DM_FUTEX_FOREVER;
    memcpy(ep->ep.private_data, msg->data, msg->data_len);
    atomic_store(&ep->sh->link, DM_LINK_UP);
    dm_evd_add_conn(ep->ep.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_EP_HANDLE)ep,
                    ep->ep.private_data, (DAT_COUNT)msg->data_len);
    how = confirm(ep);
    if (how == CONFIRM_NO) {
        dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_BROKEN, DM_MSG_NONE);
        return;
    }
    dm_shm_ep_established(ep);
    dm_shm_msg_simple(conn, how == CONFIRM_UP ? DM_MSG_CONFIRM : DM_MSG_UNHEARD);
}

void dm_shm_conn_answer(struct dm_shm_conn *conn, const struct dm_shm_msg *msg, int fd)
{
    switch (msg->type) {
    case DM_MSG_ACCEPT:
        accepted(conn, msg, fd);
        break;
    case DM_MSG_REJECT:
        dm_shm_cm_give_up(conn->ep,
                          msg->status == 1 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                           : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                          msg->data, msg->data_len);
        break;
    case DM_MSG_HANDOFF:
        handed_off(conn, msg->qual);
        break;
    default:
        break;
    }
}

void dm_shm_conn_lost(struct dm_shm_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_ASKED:
        if (conn->is_common)
            ask_again(conn); /* who waited there has met somebody else */
        else
            not_there(conn->ep);
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
    if (conn->state == DM_CONN_DYING)
        (void)dm_shm_ep_dying(conn->ep);
    else if (conn->state == DM_CONN_EMBRYO)
        dm_shm_conn_close(conn); /* it has had its time */
    else if (conn->deadline <= dm_futex_now())
        dm_shm_cm_give_up(conn->ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
    else if (conn->state == DM_CONN_RETRY)
        try_connect(conn);
}

uint64_t dm_shm_conn_due(const struct dm_shm_conn *conn)
{
    uint64_t now = dm_futex_now();

    if (conn->state == DM_CONN_DYING)
        return now + DYING_NS;
    if (conn->state == DM_CONN_RETRY && now + RETRY_NS < conn->deadline)
        return now + RETRY_NS;
    return conn->deadline;
}

void dm_shm_ep_disconnect(struct dm_ep *any)
{
    struct dm_shm_ep *ep = (struct dm_shm_ep *)any;
    uint32_t wait = DM_LINK_WAIT;

    /* The active side may be confirming at this moment. */
    if (atomic_load(&any->state) == DAT_EP_STATE_COMPLETION_PENDING &&
        !atomic_compare_exchange_strong(&ep->sh->link, &wait, DM_LINK_DOWN))
        dm_shm_ep_check_up(ep);
    dm_shm_ep_down(ep, DAT_CONNECTION_EVENT_DISCONNECTED, DM_MSG_BYE);
    /* Have the receives flushed when this returns, if that is possible. */
    if (ep->conn != NULL && dm_shm_quiesce(dm_shm_ia_of(ep), ep))
        (void)dm_shm_ep_dying(ep);
}
