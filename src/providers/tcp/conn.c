/*
 * Connections: the socket, its greetings, and the last words.
 */
#include "providers/tcp/conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "providers/tcp/recv.h"
#include "providers/tcp/stream.h"
#include "providers/tcp/transport/congestion.h"

/* ---- life ---- */

bool dm_tcp_conn_init(struct dm_net_conn *any)
{
    struct dm_tcp_conn *conn = (struct dm_tcp_conn *)any;

    conn->source = DM_SOURCE_CONN;
    conn->in.greeting = calloc(1, sizeof(*conn->in.greeting));
    /* So that no stream of another connection, or one that has lost its place, passes for ours. */
    if (getrandom(&conn->own_tag, sizeof(conn->own_tag), 0) != (ssize_t)sizeof(conn->own_tag))
        conn->own_tag = (uint16_t)(dm_futex_now() >> 4);
    dm_list_init(&conn->out.answers);
    dm_list_init(&conn->out.pinned);
    return conn->in.greeting != NULL;
}

void dm_tcp_conn_free(struct dm_net_conn *conn)
{
    free(((struct dm_tcp_conn *)conn)->in.greeting);
}

void dm_tcp_set_options(const struct dm_tcp_ia *ia, int fd)
{
    int buffer = (int)ia->buffer;
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (buffer > 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    }
}

/* From the interface that the instance is on. */
static bool conn_bind(const struct dm_tcp_conn *conn)
{
    struct sockaddr_storage own = conn->base.net->pia.addr.any;
    int on = 1;

    dm_net_addr_set_port(&own, 0);
    (void)setsockopt(conn->base.sock, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    return bind(conn->base.sock, (struct sockaddr *)&own,
                dm_net_addr_len((struct sockaddr *)&own)) == 0;
}

bool dm_tcp_conn_open(struct dm_tcp_conn *conn, int fd)
{
    struct dm_tcp_ia *ia = dm_tcp_conn_ia(conn);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &conn->source};
    bool is_active = fd < 0;

    if (is_active)
        fd = socket(ia->net.pia.addr.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    conn->base.sock = fd;
    if (fd < 0)
        return false;
    if (is_active) {
        dm_tcp_set_options(ia, fd);
        event.events |= EPOLLOUT; /* connected, or not */
    }
    conn->out.is_armed = is_active;
    if ((!is_active || conn_bind(conn)) && epoll_ctl(ia->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return true;
    dm_tcp_conn_close(&conn->base);
    return false;
}

/* What is not sent yet is memory of the consumer's, who may change it from now on. */
static void conn_take_back(const struct dm_tcp_conn *conn)
{
    const struct linger reset = {.l_onoff = 1};
    int n = 0;

    if (ioctl(conn->base.sock, SIOCOUTQ, &n) != 0 || n > 0)
        (void)setsockopt(conn->base.sock, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

void dm_tcp_conn_close(struct dm_net_conn *any)
{
    struct dm_tcp_conn *conn = (struct dm_tcp_conn *)any;
    int err = errno;

    if (conn->base.sock >= 0) {
        if (conn->has_pinned)
            conn_take_back(conn);
        /* Closing is not enough: a child that is being forked has it, too. */
        (void)epoll_ctl(dm_tcp_conn_ia(conn)->epoll_fd, EPOLL_CTL_DEL, conn->base.sock, NULL);
        close(conn->base.sock);
    }
    conn->base.sock = -1;
    conn->is_broken = false;
    conn->base.check_at = DM_FUTEX_FOREVER;
    conn->in.n_part = 0;
    if (conn->in.op != NULL) /* to be flushed with the others */
        dm_list_add_head(&any->ep->recvs, &conn->in.op->base.link);
    conn->in.op = NULL;
    dm_tcp_out_drop(conn);
    errno = err;
}

void dm_tcp_conn_arm(struct dm_tcp_conn *conn, bool is_out)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &conn->source};

    if (conn->out.is_armed == is_out)
        return;
    if (is_out)
        event.events |= EPOLLOUT;
    conn->out.is_armed = is_out;
    (void)epoll_ctl(dm_tcp_conn_ia(conn)->epoll_fd, EPOLL_CTL_MOD, conn->base.sock, &event);
}

void dm_tcp_conn_up(struct dm_net_conn *any)
{
    struct dm_tcp_conn *conn = (struct dm_tcp_conn *)any;
    struct dm_tcp_ia *ia = dm_tcp_conn_ia(conn);
    int segment = 0;
    socklen_t len = sizeof(segment);

    dm_tcp_in_frames(conn);
    if (getsockopt(conn->base.sock, IPPROTO_TCP, TCP_MAXSEG, &segment, &len) == 0)
        conn->segment = (uint32_t)segment;
    ia->n_up++;
    dm_tcp_recv_credit(conn);
    dm_tcp_out_push(conn);
}

void dm_tcp_conn_down(struct dm_net_conn *any)
{
    struct dm_tcp_conn *conn = (struct dm_tcp_conn *)any;
    struct dm_tcp_ia *ia = dm_tcp_conn_ia(conn);

    ia->n_up--;
    if (ia->hot == conn)
        ia->hot = NULL;
}

/* ---- connecting ---- */

static bool err_is_refused(int err)
{
    return err == ECONNREFUSED || err == ECONNRESET || err == ECONNABORTED;
}

int dm_tcp_conn_connect(struct dm_net_conn *any)
{
    struct dm_tcp_conn *conn = (struct dm_tcp_conn *)any;
    const struct sockaddr *to = (const struct sockaddr *)&any->active.to;

    dm_tcp_conn_close(any);
    if (!dm_tcp_conn_open(conn, -1))
        return errno;
    dm_tcp_congestion_connect(any->sock, &any->net->pia.addr.sa, to);
    if (connect(any->sock, to, dm_net_addr_len(to)) == 0 || errno == EINPROGRESS)
        return 0; /* epoll tells */
    return err_is_refused(errno) ? ECONNREFUSED : errno;
}

void dm_tcp_conn_connected(struct dm_tcp_conn *conn, int err)
{
    if (err_is_refused(err)) {
        dm_net_cm_connect_next(&conn->base);
    } else if (err != 0) {
        dm_net_cm_unreachable(&conn->base, err);
    } else {
        dm_tcp_conn_arm(conn, false);
        dm_net_conn_keepalive_start(&conn->base);
        dm_net_cm_connected(&conn->base);
    }
}

void dm_tcp_conn_shutdown(struct dm_tcp_conn *conn)
{
    if (conn->base.state == DM_CONN_CONNECTING || conn->base.state == DM_CONN_REQUESTED)
        dm_net_cm_next_port(&conn->base); /* it has gone, or is no listener of ours */
    else
        dm_net_cm_shutdown(&conn->base);
}

void dm_tcp_conn_incoming(struct dm_tcp_ia *ia, int fd)
{
    struct dm_net_conn *conn = dm_net_conn_half_open(&ia->net);

    if (conn == NULL) {
        close(fd);
        return;
    }
    if (!dm_tcp_conn_open((struct dm_tcp_conn *)conn, fd)) {
        dm_net_conn_fail(conn, 0);
        return;
    }
    dm_net_conn_watch(conn);                          /* its options are the listener's */
    (void)dm_tcp_in_read((struct dm_tcp_conn *)conn); /* it may be there already */
}

/* ---- greetings ---- */

bool dm_tcp_conn_handshake(struct dm_net_conn *any, enum dm_net_handshake_type type,
                           uint32_t status, DAT_CONN_QUAL qual, const void *data, uint32_t len)
{
    struct dm_tcp_conn *conn = (struct dm_tcp_conn *)any;
    struct dm_tcp_ep *ep = dm_tcp_conn_ep(conn);
    struct dm_tcp_greeting greeting = {.handshake = {.magic = DM_TCP_MAGIC,
                                                     .version = DM_TCP_VERSION,
                                                     .type = (uint8_t)type,
                                                     .status = (uint8_t)status,
                                                     .tag = conn->own_tag,
                                                     .data_len = (uint16_t)len,
                                                     .qual = qual}};

    if (ep != NULL) {
        greeting.handshake.own_qual = ep->base.ep.local_qual;
        greeting.handshake.is_shared = ep->base.srq != NULL;
        if (ep->base.srq == NULL)
            greeting.handshake.n_recvs = conn->base.credits.n_granted = ep->base.n_recvs;
    }
    memcpy(greeting.handshake.addr, &conn->base.net->pia.addr, sizeof(greeting.handshake.addr));
    if (len > 0)
        memcpy(greeting.data, data, len);
    dm_tcp_out_greeting(conn, &greeting);
    return true;
}

void dm_tcp_conn_greeted(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *from)
{
    const struct dm_tcp_handshake *handshake = &from->handshake;
    const struct dm_net_greeting greeting = {.type = handshake->type,
                                             .status = handshake->status,
                                             .qual = handshake->qual,
                                             .own_qual = handshake->own_qual,
                                             .addr = handshake->addr,
                                             .addr_len = sizeof(handshake->addr),
                                             .data_len = handshake->data_len,
                                             .data = from->data};

    conn->base.credits.n_peer_recvs = handshake->n_recvs;
    if (handshake->type != DM_HANDSHAKE_READY) {
        conn->peer_tag = handshake->tag;
        conn->base.credits.is_peer_shared = handshake->is_shared != 0;
    }
    if (!dm_net_cm_handshake(&conn->base, &greeting))
        dm_tcp_conn_shutdown(conn);
}

/* ---- the last words ---- */

void dm_tcp_conn_last(struct dm_net_conn *any, enum dm_net_last last)
{
    struct dm_tcp_conn *conn = (struct dm_tcp_conn *)any;
    struct dm_tcp_head head = {.type = DM_TCP_DISCONNECT};

    if (last == DM_NET_LAST_TERMINATE)
        head = (struct dm_tcp_head){.type = DM_TCP_TERMINATE, .value = conn->nak};
    if (last == DM_NET_LAST_ANSWER || !any->was_up) {
        conn->in.phase = DM_IN_DISCARD; /* no frames yet: what the other side sees is the end */
    } else {
        conn->out.last = head;
        conn->out.is_last_due = true;
    }
    dm_tcp_out_push(conn);
}

void dm_tcp_conn_nak(struct dm_tcp_conn *conn, enum dm_tcp_nak nak)
{
    conn->in.phase = DM_IN_DISCARD;
    conn->in.left = 0;
    if (conn->base.state != DM_CONN_UP)
        return;
    conn->nak = nak;
    dm_net_conn_nak(&conn->base);
}
