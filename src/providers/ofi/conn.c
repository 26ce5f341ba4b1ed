/*
 * Connections: the fid_ep, what the fabric says of it, and the last words.
 */
#include "providers/ofi/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/ofi/ctrl.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/progress.h"
#include "providers/ofi/recv.h"
#include "providers/ofi/transport/handshake.h"
#include "providers/ofi/transport/listener.h"
#include "providers/ofi/transport/sock.h"

enum { INDEX_BITS = 16, INDEX_MASK = (1 << INDEX_BITS) - 1, GEN_MASK = 0xfff, GROW = 64 };

/* ---- life ---- */

/* An index in ia->numbers.conns, which is not given away again for long. */
static bool number_new(struct dm_ofi_conn *conn)
{
    struct dm_ofi_ia *ia = dm_ofi_conn_ia(conn);
    struct dm_ofi_conn **by;
    uint32_t index;

    for (uint32_t i = 0; i < ia->numbers.n; i++) {
        index = (ia->numbers.last + 1 + i) % ia->numbers.n;
        if (ia->numbers.conns[index] == NULL)
            goto found;
    }
    if (ia->numbers.n > INDEX_MASK)
        return false;
    by = realloc(ia->numbers.conns, (ia->numbers.n + GROW) * sizeof(struct dm_ofi_conn *));
    if (by == NULL)
        return false;
    memset(by + ia->numbers.n, 0, GROW * sizeof(struct dm_ofi_conn *));
    ia->numbers.conns = by;
    index = ia->numbers.n;
    ia->numbers.n += GROW;
found:
    ia->numbers.last = index;
    ia->numbers.gen = (ia->numbers.gen + 1) & GEN_MASK;
    conn->number = ia->numbers.gen << INDEX_BITS | index;
    ia->numbers.conns[index] = conn;
    return true;
}

struct dm_ofi_conn *dm_ofi_conn_by_number(struct dm_ofi_ia *ia, uint32_t number)
{
    uint32_t index = number & INDEX_MASK;

    if (index >= ia->numbers.n || ia->numbers.conns[index] == NULL ||
        ia->numbers.conns[index]->number != number)
        return NULL;
    return ia->numbers.conns[index];
}

void dm_ofi_conn_free(struct dm_net_conn *any)
{
    struct dm_ofi_conn *conn = (struct dm_ofi_conn *)any;
    struct dm_ofi_ia *ia = dm_ofi_conn_ia(conn);

    if (conn->ctrl.mr != NULL)
        fi_close(&conn->ctrl.mr->fid);
    if (dm_ofi_conn_by_number(ia, conn->number) == conn)
        ia->numbers.conns[conn->number & INDEX_MASK] = NULL;
    free(conn->ctrl.ring);
    free(conn->ctrl.copies);
}

bool dm_ofi_conn_init(struct dm_net_conn *any)
{
    struct dm_ofi_conn *conn = (struct dm_ofi_conn *)any;
    struct dm_ofi_ia *ia = dm_ofi_conn_ia(conn);

    conn->cqdata_ctx.done = dm_ofi_cqdata_done;
    conn->min_recv.peer = UINT64_MAX;
    conn->min_recv.own = UINT64_MAX;
    conn->min_recv.reported = UINT64_MAX;
    conn->ctrl.ring = calloc(DM_OFI_CTRL_SLOTS, sizeof(struct dm_ofi_ctrl));
    if (conn->ctrl.ring == NULL || !number_new(conn))
        goto err;
    /* Nobody else can have this key: the tokens of zones are not guessable. */
    conn->ctrl.key = (uint64_t)dm_ofi_ctrl_token(ia) << 32 | conn->number;
    if (fi_mr_reg(ia->fabric.domain, conn->ctrl.ring,
                  DM_OFI_CTRL_SLOTS * sizeof(struct dm_ofi_ctrl), FI_REMOTE_WRITE, 0,
                  conn->ctrl.key, 0, &conn->ctrl.mr, NULL) != 0)
        goto err;
    conn->ctrl.key = fi_mr_key(conn->ctrl.mr);
    return true;

err:
    dm_ofi_conn_free(any);
    return false;
}

void dm_ofi_conn_close(struct dm_net_conn *any)
{
    struct dm_ofi_conn *conn = (struct dm_ofi_conn *)any;

    if (conn->fid == NULL)
        return;
    any->sock = -1;
    fi_close(&conn->fid->fid);
    conn->fid = NULL;
    while (dm_ofi_read_cq(dm_ofi_conn_ia(conn)) > 0) /* what was outstanding */
        continue;
}

/* Give it a fid_ep, enabled, with a receive for the next message of the
 * handshake. info: of the request, or NULL for the active side. False: it cannot be. */
static bool ofi_conn_open(struct dm_ofi_conn *conn, struct fi_info *info)
{
    struct dm_ofi_ia *ia = dm_ofi_conn_ia(conn);

    if (fi_endpoint(ia->fabric.domain, info != NULL ? info : ia->fabric.info, &conn->fid, conn) !=
        0)
        return false;
    if (fi_ep_bind(conn->fid, &ia->fabric.eq->fid, 0) == 0 &&
        fi_ep_bind(conn->fid, &ia->fabric.cq->fid,
                   FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) == 0 &&
        fi_enable(conn->fid) == 0 && dm_ofi_handshake_expect(conn))
        return true;
    dm_ofi_conn_close(&conn->base);
    return false;
}

void dm_ofi_conn_up(struct dm_net_conn *conn)
{
    dm_ofi_dto_push((struct dm_ofi_ep *)conn->ep);
    dm_ofi_conn_credit((struct dm_ofi_conn *)conn);
}

/* ---- the active side ---- */

int dm_ofi_conn_connect(struct dm_net_conn *any)
{
    struct dm_ofi_conn *conn = (struct dm_ofi_conn *)any;
    struct dm_ofi_connect_data call = {
        .magic = DM_OFI_MAGIC, .version = DM_OFI_VERSION, .qual = any->active.qual};

    dm_ofi_conn_close(any);
    errno = 0;
    if (!ofi_conn_open(conn, NULL))
        return errno != 0 ? errno : FI_EOTHER;
    return -fi_connect(conn->fid, &any->active.to, &call, sizeof(call));
}

/* Nothing can be reached at this address. Other errors are of what listens at this port. */
static bool err_is_of_address(int err)
{
    return err == FI_EHOSTUNREACH || err == FI_ENETUNREACH || err == FI_ENETDOWN ||
           err == FI_EHOSTDOWN || err == FI_ETIMEDOUT || err == FI_EADDRNOTAVAIL ||
           err == FI_EMFILE || err == FI_EACCES || err == FI_EPERM || err == FI_ENOMEM;
}

void dm_ofi_conn_error(struct dm_ofi_conn *conn, int err)
{
    if (conn->base.state != DM_CONN_CONNECTING)
        dm_ofi_conn_shutdown(conn);
    else if (err_is_of_address(err))
        dm_net_cm_unreachable(&conn->base, err);
    else
        dm_net_cm_connect_next(&conn->base);
}

void dm_ofi_conn_connected(struct dm_ofi_conn *conn)
{
    conn->base.sock = dm_ofi_sock_find(conn->fid, &dm_ofi_conn_ia(conn)->sock_hint);
    dm_net_conn_keepalive_start(&conn->base);
    if (conn->base.state == DM_CONN_CONNECTING)
        dm_net_cm_connected(&conn->base);
}

void dm_ofi_conn_shutdown(struct dm_ofi_conn *conn)
{
    conn->is_shutdown = true;
    dm_net_cm_shutdown(&conn->base);
}

/* ---- the passive side ---- */

/*
 * fi_reject() needs the listener, which is closed: close the socket instead, or the peer would wait for ever.
 * What the fabric says of the request comes from that listener, too, and may be nonsense by now.
 */
static void connreq_refuse(struct dm_ofi_ia *ia, struct fi_info *info)
{
    struct fi_info *own = fi_dupinfo(ia->fabric.info);
    struct fid_ep *ep;

    if (own != NULL) {
        own->handle = info->handle;
        if (fi_endpoint(ia->fabric.domain, own, &ep, NULL) == 0)
            fi_close(&ep->fid);
        fi_freeinfo(own);
    }
    fi_freeinfo(info);
}

/* The service point that a request of the fabric is for; NULL: there is none. */
static struct dm_sp *connreq_sp(struct dm_ofi_ia *ia, const void *data, size_t len)
{
    struct dm_ofi_connect_data call = {0};

    if (len >= sizeof(call))
        memcpy(&call, data, sizeof(call));
    if (call.magic != DM_OFI_MAGIC || call.version != DM_OFI_VERSION)
        return NULL;
    return dm_net_sp_find(&ia->net, call.qual);
}

void dm_ofi_conn_incoming(struct dm_ofi_ia *ia, const struct fid *fid, struct fi_info *info,
                          const void *data, size_t len)
{
    struct dm_ofi_listener *listener = dm_ofi_listener_of(ia, fid);
    struct dm_sp *sp = connreq_sp(ia, data, len);
    struct dm_net_conn *conn = NULL;

    if (listener == NULL) {
        connreq_refuse(ia, info);
        return;
    }
    if (sp != NULL)
        conn = dm_net_conn_half_open(&ia->net);
    if (conn == NULL) {
        (void)fi_reject(listener->pep, info->handle, NULL, 0);
        fi_freeinfo(info);
        return;
    }
    conn->sp = sp;
    if (!ofi_conn_open((struct dm_ofi_conn *)conn, info)) {
        (void)fi_reject(listener->pep, info->handle, NULL, 0);
        dm_net_conn_fail(conn, 0);
    } else if (fi_accept(((struct dm_ofi_conn *)conn)->fid, NULL, 0) != 0) {
        dm_net_conn_fail(conn, 0);
    }
    fi_freeinfo(info);
}

/* ---- the handshake ---- */

bool dm_ofi_conn_handshake(struct dm_net_conn *any, enum dm_net_handshake_type type,
                           uint32_t status, DAT_CONN_QUAL qual, const void *data, uint32_t len)
{
    struct dm_ofi_conn *conn = (struct dm_ofi_conn *)any;

    if (type == DM_HANDSHAKE_REQUEST) /* for whom it is, the fabric has said */
        qual = any->ep->ep.local_qual;
    if (type == DM_HANDSHAKE_ACCEPT && !dm_ofi_handshake_expect(conn))
        return false;
    if (type == DM_HANDSHAKE_ACCEPT || type == DM_HANDSHAKE_READY)
        dm_ofi_recv_start(dm_ofi_conn_ep(conn));
    return dm_ofi_handshake_send(conn, type, status, qual, data, len);
}

void dm_ofi_conn_greeted(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake)
{
    const struct dm_net_greeting greeting = {.type = handshake->type,
                                             .status = handshake->status,
                                             .qual = handshake->qual,
                                             .own_qual = handshake->qual,
                                             .addr = handshake->addr,
                                             .addr_len = sizeof(handshake->addr),
                                             .data_len = handshake->data_len,
                                             .data = handshake->data};

    conn->base.credits.n_peer_recvs = handshake->n_recvs;
    conn->min_recv.peer = handshake->min_recv;
    if (handshake->type != DM_HANDSHAKE_READY) {
        conn->peer_number = handshake->number & DM_OFI_NUMBER_MAX;
        conn->base.credits.is_peer_shared = handshake->is_shared != 0;
        conn->ctrl.peer_addr = handshake->ctrl;
        conn->ctrl.peer_key = handshake->ctrl_key;
    }
    (void)dm_net_cm_handshake(&conn->base, &greeting);
}

/* ---- the last words ---- */

void dm_ofi_conn_last(struct dm_net_conn *conn, enum dm_net_last last)
{
    if (last == DM_NET_LAST_TERMINATE)
        dm_ofi_cqdata_post((struct dm_ofi_conn *)conn, DM_CQDATA_TERMINATE);
    if (last == DM_NET_LAST_DISCONNECT)
        dm_ofi_cqdata_post((struct dm_ofi_conn *)conn, DM_CQDATA_DISCONNECT);
}

void dm_ofi_conn_retry(struct dm_net_conn *any)
{
    struct dm_ofi_conn *conn = (struct dm_ofi_conn *)any;

    for (int kind = 0; kind < DM_CQDATA_N; kind++)
        if ((conn->cqdata_due & 1u << kind) != 0)
            dm_ofi_cqdata_post(conn, (enum dm_ofi_cqdata)kind);
}
