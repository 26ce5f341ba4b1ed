/*
 * Connections: the fid_ep, its timers, and the end.
 *
 * A connection that is over is put on ia->ending, and closed after the round:
 * then the fabric reports what was outstanding, the endpoint flushes the rest,
 * and the consumer gets the one event that ends it.
 */
#include "providers/ofi/conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/ofi/cm.h"
#include "providers/ofi/ctrl.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/progress.h"
#include "providers/ofi/transport/handshake.h"
#include "providers/ofi/transport/listener.h"
#include "providers/ofi/transport/sock.h"

enum { INDEX_BITS = 16, INDEX_MASK = (1 << INDEX_BITS) - 1, GEN_MASK = 0xfff, GROW = 64 };
enum { CHECKS = 8 };

#define LINGER_NS    2000000000u /* for the peer to close */
#define CLOSE_ALL_NS 500000000u

/* ---- life ---- */

/* An index in ia->numbers.conns, which is not given away again for long. */
static bool number_new(struct dm_ofi_conn *conn)
{
    struct dm_ofi_ia *ia = conn->ia;
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

struct dm_ofi_conn *dm_ofi_conn_new(struct dm_ofi_ia *ia, enum dm_ofi_conn_state state)
{
    struct dm_ofi_conn *conn = calloc(1, sizeof(*conn));

    if (conn == NULL)
        return NULL;
    conn->ia = ia;
    conn->state = state;
    conn->keepalive.sock = -1;
    conn->deadline = DM_FUTEX_FOREVER;
    conn->keepalive.check_at = DM_FUTEX_FOREVER;
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
                  conn->ctrl.key, 0, &conn->ctrl.mr, NULL) != 0) {
        ia->numbers.conns[conn->number & INDEX_MASK] = NULL;
        goto err;
    }
    conn->ctrl.key = fi_mr_key(conn->ctrl.mr);
    dm_list_add_tail(&ia->conns, &conn->link);
    ia->n_setup++;
    return conn;

err:
    free(conn->ctrl.ring);
    free(conn->ctrl.copies);
    free(conn);
    return NULL;
}

bool dm_ofi_conn_open(struct dm_ofi_conn *conn, struct fi_info *info)
{
    struct dm_ofi_ia *ia = conn->ia;

    if (fi_endpoint(ia->fabric.domain, info != NULL ? info : ia->fabric.info, &conn->fid, conn) !=
        0)
        return false;
    if (fi_ep_bind(conn->fid, &ia->fabric.eq->fid, 0) == 0 &&
        fi_ep_bind(conn->fid, &ia->fabric.cq->fid,
                   FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) == 0 &&
        fi_enable(conn->fid) == 0 && dm_ofi_handshake_expect(conn))
        return true;
    dm_ofi_conn_close_fid(conn);
    return false;
}

void dm_ofi_conn_close_fid(struct dm_ofi_conn *conn)
{
    if (conn->fid == NULL)
        return;
    conn->keepalive.sock = -1;
    fi_close(&conn->fid->fid);
    conn->fid = NULL;
    while (dm_ofi_read_cq(conn->ia) > 0) /* what was outstanding */
        continue;
}

void dm_ofi_conn_timer(struct dm_ofi_conn *conn, uint64_t deadline)
{
    conn->deadline = deadline;
    dm_net_timer_at(&conn->ia->net, deadline);
}

void dm_ofi_conn_peer_set(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake)
{
    conn->peer_number = handshake->number & DM_OFI_NUMBER_MAX;
    conn->credits.is_peer_shared = handshake->is_shared != 0;
    conn->credits.n_peer_recvs = handshake->n_recvs;
    conn->min_recv.peer = handshake->min_recv;
    conn->ctrl.peer_addr = handshake->ctrl;
    conn->ctrl.peer_key = handshake->ctrl_key;
}

void dm_ofi_conn_up(struct dm_ofi_conn *conn, DAT_COUNT len)
{
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_ofi_ep *ep = conn->ep;

    conn->state = DM_CONN_UP;
    conn->was_up = true;
    conn->deadline = DM_FUTEX_FOREVER;
    ia->n_setup--;
    atomic_store(&ep->ep.state, DAT_EP_STATE_CONNECTED);
    dm_evd_add_conn(ep->ep.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_EP_HANDLE)ep,
                    ep->ep.private_data, len);
    dm_ofi_dto_push(ep);
    dm_ofi_conn_credit(conn);
}

/* ---- the end ---- */

void dm_ofi_conn_fail(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event)
{
    struct dm_ofi_ia *ia = conn->ia;

    if (conn->state == DM_CONN_CLOSED)
        return;
    if (conn->state == DM_CONN_UP)
        ia->n_setup++;
    if (conn->state != DM_CONN_LINGERING) /* else the event is known */
        conn->end.event = event;
    conn->state = DM_CONN_CLOSED;
    if (conn->ep != NULL && atomic_load(&conn->ep->ep.state) == DAT_EP_STATE_CONNECTED)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    dm_list_del(&conn->link);
    dm_list_add_tail(&ia->ending, &conn->link);
    if (!ia->is_in_round)
        dm_net_kick(&ia->net.pia);
}

/* Send a disconnect or terminate (DM_CQDATA_N: the peer has been answered already), and wait for
 * the peer to close, for a while. */
static void conn_close_begin(struct dm_ofi_conn *conn, enum dm_ofi_cqdata kind,
                             DAT_EVENT_NUMBER event)
{
    if (conn->state >= DM_CONN_LINGERING)
        return;
    if (conn->state == DM_CONN_UP)
        conn->ia->n_setup++;
    conn->end.event = event;
    conn->state = DM_CONN_LINGERING;
    if (conn->ep != NULL)
        atomic_store(&conn->ep->ep.state, DAT_EP_STATE_DISCONNECT_PENDING);
    if (kind != DM_CQDATA_N)
        dm_ofi_cqdata_post(conn, kind);
    conn->end.linger_until = dm_futex_now() + LINGER_NS;
    dm_ofi_conn_timer(conn, conn->cqdata_due != 0 ? conn->deadline : conn->end.linger_until);
}

void dm_ofi_conn_terminate(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event)
{
    conn_close_begin(conn, DM_CQDATA_TERMINATE, event);
}

void dm_ofi_conn_disconnect(struct dm_ofi_conn *conn, DAT_EVENT_NUMBER event)
{
    conn_close_begin(conn, DM_CQDATA_DISCONNECT, event);
}

void dm_ofi_conn_linger(struct dm_ofi_conn *conn)
{
    conn_close_begin(conn, DM_CQDATA_N, 0);
}

void dm_ofi_conns_disconnect(struct dm_ofi_ia *ia)
{
    uint64_t until = dm_futex_now() + CLOSE_ALL_NS;
    bool is_any = true;

    dm_list_for_each_safe (it, next, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        if (conn->ep != NULL && (conn->state == DM_CONN_UP || conn->state == DM_CONN_ACCEPTED))
            dm_ofi_conn_disconnect(conn, 0);
    }
    while (is_any && dm_futex_now() < until) {
        is_any = false;
        dm_net_progress_wait(&ia->net);
        dm_list_for_each (it, &ia->conns)
            is_any |= dm_container_of(it, struct dm_ofi_conn, link)->state == DM_CONN_LINGERING;
    }
}

/* The fid_ep is closed and nothing is outstanding. */
static void conn_finish(struct dm_ofi_conn *conn)
{
    struct dm_ofi_ia *ia = conn->ia;
    struct dm_ofi_ep *ep = conn->ep;

    dm_cr_lost(&conn->cr);
    if (ep != NULL) {
        ep->conn = NULL;
        conn->ep = NULL;
        ep->ep.is_draining = false;
        atomic_store(&ep->ep.state, DAT_EP_STATE_DISCONNECTED);
        dm_ofi_ep_flush(ep);
        if ((conn->end.is_peer_terminated && !conn->end.is_nak_received) ||
            (ep->ep.srq != NULL && conn->end.event != 0 && conn->was_up &&
             !conn->end.is_nak_sent)) /* reported then */
            dm_evd_add_async(ia->net.pia.async_evd, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep,
                             DAT_EP_TRANSFER_TO_ERROR);
        if (conn->end.event != 0)
            dm_evd_add_conn(ep->ep.connect_evd, conn->end.event, (DAT_EP_HANDLE)ep,
                            ep->ep.private_data, conn->end.event_len);
    }
    fi_close(&conn->ctrl.mr->fid);
    ia->numbers.conns[conn->number & INDEX_MASK] = NULL;
    ia->n_setup--;
    free(conn->ctrl.ring);
    free(conn->ctrl.copies);
    free(conn->active.request);
    free(conn);
}

void dm_ofi_conns_end(struct dm_ofi_ia *ia)
{
    if (ia->is_in_round)
        return;
    while (!dm_list_is_empty(&ia->ending)) {
        struct dm_ofi_conn *conn = dm_container_of(ia->ending.next, struct dm_ofi_conn, link);

        dm_ofi_conn_close_fid(conn); /* may bring more */
        dm_list_del(&conn->link);
        conn_finish(conn);
    }
}

/* Does the network still carry it? It does not when at every look for so long
 * something was on its way and nothing had been received since the look before. */
static void conn_check_alive(struct dm_ofi_conn *conn, uint64_t now)
{
    uint64_t interval = conn->ia->net.timeout_ns / CHECKS;

    if (conn->keepalive.check_at > now)
        return;
    conn->keepalive.check_at = now + interval;
    if (conn->keepalive.sock < 0 || !dm_net_is_stuck(conn->keepalive.sock, interval))
        conn->keepalive.stuck_since = 0;
    else if (conn->keepalive.stuck_since == 0)
        conn->keepalive.stuck_since = now;
    else if (now - conn->keepalive.stuck_since + interval < conn->ia->net.timeout_ns)
        return;
    else if (conn->state < DM_CONN_UP && conn->state != DM_CONN_CR)
        dm_ofi_cm_timeout(conn); /* it has not been there yet */
    else
        dm_ofi_conn_fail(conn, DAT_CONNECTION_EVENT_BROKEN);
}

void dm_ofi_conn_keepalive_start(struct dm_ofi_conn *conn)
{
    struct dm_ofi_ia *ia = conn->ia;

    conn->keepalive.sock = dm_ofi_sock_find(conn->fid, &ia->sock_hint);
    if (conn->keepalive.sock < 0)
        return;
    dm_net_keep_alive(conn->keepalive.sock, ia->net.timeout_ns);
    conn->keepalive.check_at = dm_futex_now() + ia->net.timeout_ns / CHECKS;
    dm_net_timer_at(&ia->net, conn->keepalive.check_at);
}

static void conn_run_timer(struct dm_ofi_conn *conn, uint64_t now)
{
    conn_check_alive(conn, now);
    if (conn->state == DM_CONN_CLOSED || conn->deadline > now)
        return;
    conn->deadline = conn->state == DM_CONN_LINGERING ? conn->end.linger_until : DM_FUTEX_FOREVER;
    for (int kind = 0; kind < DM_CQDATA_N; kind++)
        if ((conn->cqdata_due & 1u << kind) != 0)
            dm_ofi_cqdata_post(conn, (enum dm_ofi_cqdata)kind);
    if (conn->state == DM_CONN_LINGERING && now >= conn->end.linger_until)
        dm_ofi_conn_fail(conn, 0);
    else if (conn->state < DM_CONN_UP)
        dm_ofi_cm_timeout(conn);
}

void dm_ofi_conns_timers(struct dm_ofi_ia *ia, uint64_t now)
{
    uint64_t next;

    ia->net.next_timer = DM_FUTEX_FOREVER;
    next = dm_ofi_listeners_timers(ia, now);
    dm_list_for_each_safe (it, after, &ia->conns)
        conn_run_timer(dm_container_of(it, struct dm_ofi_conn, link), now);
    dm_list_for_each (it, &ia->conns) {
        struct dm_ofi_conn *conn = dm_container_of(it, struct dm_ofi_conn, link);

        next = conn->deadline < next ? conn->deadline : next;
        next = conn->keepalive.check_at < next ? conn->keepalive.check_at : next;
    }
    ia->net.next_timer = next;
}

void dm_ofi_conns_close(struct dm_ofi_ia *ia)
{
    while (!dm_list_is_empty(&ia->conns))
        dm_ofi_conn_fail(dm_container_of(ia->conns.next, struct dm_ofi_conn, link), 0);
    dm_ofi_conns_end(ia);
    (void)dm_ofi_listeners_timers(ia, DM_FUTEX_FOREVER);
    free(ia->numbers.conns);
    ia->numbers.conns = NULL;
    ia->numbers.n = 0;
}
