/*
 * Connecting and disconnecting: the active side, and the end of both.
 *
 * A qualifier is looked for in the places where its listener may be, one after
 * the other (dm_ofi_qual_port()); who is there and does not know it refuses
 * the call.
 */
#include "providers/ofi/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

enum { MOVES_MAX = 64, PLACES = 16, PORT_FIRST = 20000, PORT_N = 12000, PORT_LAST = 65535 };

socklen_t dm_ofi_addr_len(const struct sockaddr *addr)
{
    return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void dm_ofi_addr_set_port(struct sockaddr_storage *any, uint16_t port)
{
    union dm_addr *addr = (void *)any;

    if (addr->sa.sa_family == AF_INET6)
        addr->in6.sin6_port = htons(port);
    else
        addr->in.sin_port = htons(port);
}

uint16_t dm_ofi_qual_port(DAT_CONN_QUAL qual, uint32_t n)
{
    uint64_t x = qual;

    if (qual > 0 && qual <= PORT_LAST) {
        if (n == 0)
            return (uint16_t)qual;
        n--;
    }
    if (n >= PLACES)
        return 0;
    x = (x + n) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return (uint16_t)(PORT_FIRST + x % PORT_N);
}

/* The attempt has failed: one event, and the endpoint needs a reset. */
static void give_up(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event, const void *data,
                    uint32_t len)
{
    if (len > 0)
        memcpy(conn->ep->ep.private_data, data, len);
    conn->last_len = (DAT_COUNT)len;
    dm_ofi_conn_fail(conn, event);
}

/* What this process is short of looks to it like an address that cannot be reached: say so once. */
static void unreachable(struct dm_ofi_conn *conn, int err)
{
    struct dm_ofi_ia *ia = conn->ia;
    const char *name = ia->pia.obj.provider->device_name;
    bool is_short = err == FI_EADDRNOTAVAIL || err == FI_EMFILE;

    if (is_short && !ia->is_short_told && err == FI_EMFILE)
        dm_log_warn("%s: this process may open no more descriptors (ulimit -n): no connection can "
                    "be made",
                    name);
    else if (is_short && !ia->is_short_told)
        dm_log_warn("%s: no local port is free (sysctl net.ipv4.ip_local_port_range), or the "
                    "address of %s is gone: no connection can be made",
                    name, ia->iface);
    ia->is_short_told = ia->is_short_told || is_short;
    give_up(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
}

/* Call at the next place; nobody there: no consumer has said no. */
static void call_next(struct dm_ofi_conn *conn)
{
    struct dm_ofi_call call = {
        .magic = DM_OFI_MAGIC, .version = DM_OFI_VERSION, .qual = conn->qual};
    uint16_t port;
    int err;

    conn->state = DM_CONN_CALLING;
    while ((port = dm_ofi_qual_port(conn->qual, conn->n_candidate++)) != 0) {
        dm_ofi_addr_set_port(&conn->to, port);
        dm_ofi_conn_close_fid(conn);
        errno = 0;
        if (!dm_ofi_conn_open(conn, NULL)) {
            unreachable(conn, errno);
            return;
        }
        err = fi_connect(conn->fid, &conn->to, &call, sizeof(call));
        if (err == 0)
            return;
        if (err != -FI_ECONNREFUSED) {
            unreachable(conn, -err);
            return;
        }
    }
    give_up(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

void dm_ofi_cm_error(struct dm_ofi_conn *conn, int err)
{
    if (conn->state != DM_CONN_CALLING)
        dm_ofi_cm_shutdown(conn);
    else if (err == FI_ECONNREFUSED || err == FI_ECONNRESET || err == FI_ECONNABORTED)
        call_next(conn);
    else
        unreachable(conn, err);
}

void dm_ofi_cm_connected(struct dm_ofi_conn *conn)
{
    dm_ofi_conn_watch(conn);
    if (conn->state != DM_CONN_CALLING)
        return;
    conn->state = DM_CONN_ASKED;
    if (!dm_ofi_hello_send(conn, DM_HELLO_REQUEST, 0, conn->ep->ep.local_qual, conn->request,
                           (uint32_t)conn->request_len))
        give_up(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
}

void dm_ofi_cm_shutdown(struct dm_ofi_conn *conn)
{
    conn->is_shut = true;
    switch (conn->state) {
    case DM_CONN_CALLING:
    case DM_CONN_ASKED:
        give_up(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    case DM_CONN_UP:
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
        break;
    default: /* a request that nobody has answered: its CR finds no connection */
        dm_ofi_conn_fail(conn, 0);
        break;
    }
}

void dm_ofi_cm_timeout(struct dm_ofi_conn *conn)
{
    switch (conn->state) {
    case DM_CONN_CALLING:
    case DM_CONN_ASKED:
        give_up(conn, DAT_CONNECTION_EVENT_TIMED_OUT, NULL, 0);
        break;
    case DM_CONN_EMBRYO:
        dm_ofi_conn_fail(conn, 0);
        break;
    case DM_CONN_ACCEPTED:
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        break;
    default:
        break;
    }
}

static void accepted(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello)
{
    struct dm_ofi_ep *ep = conn->ep;

    dm_ofi_conn_meet(conn, hello);
    conn->deadline = DM_FUTEX_FOREVER;
    dm_ofi_ep_hand_over(ep);
    if (!dm_ofi_hello_send(conn, DM_HELLO_READY, 0, 0, NULL, 0)) {
        give_up(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    memcpy(ep->ep.private_data, hello->data, hello->data_len);
    dm_ofi_conn_up(conn, (DAT_COUNT)hello->data_len);
}

/* Ask somewhere else; after the round, as the endpoint is to be closed. */
static void handed_off(struct dm_ofi_conn *conn, DAT_CONN_QUAL qual)
{
    conn->ep->ep.remote_qual = qual;
    conn->qual = qual;
    conn->n_candidate = 0;
    if (++conn->n_moves > MOVES_MAX) { /* in circles */
        give_up(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL, 0);
        return;
    }
    conn->state = DM_CONN_MOVING;
    conn->ia->n_moving++;
}

void dm_ofi_cm_move(struct dm_ofi_ia *ia)
{
    ia->n_moving = 0;
    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->state == DM_CONN_MOVING)
            call_next(conn);
    }
}

void dm_ofi_cm_hello(struct dm_ofi_conn *conn, const struct dm_ofi_hello *hello)
{
    if (conn->state == DM_CONN_EMBRYO && hello->type == DM_HELLO_REQUEST) {
        dm_ofi_cm_asked(conn, hello);
    } else if (conn->state == DM_CONN_ACCEPTED && hello->type == DM_HELLO_READY) {
        conn->n_peer_recvs = hello->n_recvs;
        conn->peer_floor = hello->floor;
        dm_ofi_conn_up(conn, 0);
    } else if (conn->state == DM_CONN_ASKED && hello->type == DM_HELLO_ACCEPT) {
        accepted(conn, hello);
    } else if (conn->state == DM_CONN_ASKED && hello->type == DM_HELLO_REJECT) {
        give_up(conn,
                hello->status == 1 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                   : DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                hello->data, hello->data_len);
    } else if (conn->state == DM_CONN_ASKED && hello->type == DM_HELLO_HANDOFF) {
        handed_off(conn, hello->qual);
    }
}

/* ---- calls ---- */

static bool is_loopback(const struct sockaddr *sa)
{
    const union dm_addr *addr = (const void *)sa;

    return sa->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr)
                                     : ntohl(addr->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Where to call: whoever says "this host" means our address. */
static void set_target(struct dm_ofi_conn *conn, const struct sockaddr *to)
{
    const union dm_addr *own = &conn->ia->pia.addr;
    struct sockaddr_in6 *in6 = (void *)&conn->to;

    if (is_loopback(to) && !is_loopback(&own->sa))
        to = &own->sa;
    memcpy(&conn->to, to, dm_ofi_addr_len(to));
    if (to->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
        in6->sin6_scope_id = own->in6.sin6_scope_id; /* the peer's number of it is not ours */
}

DAT_RETURN dm_ofi_ep_connect(struct dm_ep *any, const struct dm_connect *how)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)any->obj.ia;
    struct dm_ofi_ep *ep = (struct dm_ofi_ep *)any;
    struct dm_ofi_conn *conn = dm_ofi_conn_new(ia, DM_CONN_CALLING);

    memset(&any->remote_addr, 0, sizeof(any->remote_addr));
    memcpy(&any->remote_addr, how->addr, dm_ofi_addr_len(how->addr));
    any->remote_qual = how->qual;
    if (conn == NULL)
        return DM_DAT_NOMEM;
    conn->request = malloc((size_t)how->len + 1);
    if (conn->request == NULL) {
        dm_ofi_conn_fail(conn, 0);
        return DM_DAT_NOMEM;
    }
    if (how->len > 0)
        memcpy(conn->request, how->data, (size_t)how->len);
    conn->request_len = how->len;
    conn->qual = how->qual;
    conn->ep = ep;
    ep->conn = conn;
    atomic_store(&any->state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
    if (how->addr->sa_family != ia->pia.addr.sa.sa_family) {
        give_up(conn, DAT_CONNECTION_EVENT_UNREACHABLE, NULL, 0);
        return DAT_SUCCESS;
    }
    set_target(conn, how->addr);
    dm_ofi_conn_timer(conn, dm_futex_deadline(how->timeout));
    call_next(conn);
    dm_ofi_conns_end(ia);
    dm_ofi_kick(&ia->pia);
    return DAT_SUCCESS;
}

void dm_ofi_ep_disconnect(struct dm_ep *any)
{
    struct dm_ofi_conn *conn = ((struct dm_ofi_ep *)any)->conn;

    if (atomic_load(&any->state) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
    else if (conn != NULL)
        dm_ofi_conn_bye(conn, DAT_CONNECTION_EVENT_DISCONNECTED);
}
