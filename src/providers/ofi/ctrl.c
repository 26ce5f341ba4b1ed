/*
 * What goes between the two providers of a connection beside the handshake: remote CQ data (32 bits
 * of an empty RDMA write, which takes no receive), and control messages, RDMA writes to the peer's
 * control ring.
 */
#include "providers/ofi/ctrl.h"

#include <stdlib.h>
#include <string.h>

#include "providers/net/srq.h"
#include "providers/net/transport.h"
#include "providers/ofi/dto.h"
#include "providers/ofi/ext.h"
#include "providers/ofi/recv.h"
#include "providers/ofi/rkey.h"

enum { RETRY_MS = 1 };

#define CTRL_DUE (DM_OFI_CTRL_SLOTS / 4)

/* ---- remote CQ data ---- */

void dm_ofi_cqdata_done(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    (void)ctx; /* an error ends the connection in other ways */
    (void)done;
}

uint64_t dm_ofi_cqdata_word(const struct dm_ofi_conn *conn, enum dm_ofi_cqdata kind, uint32_t value)
{
    return (uint64_t)kind << 60 | (uint64_t)conn->peer_number << 32 | value;
}

bool dm_ofi_cqdata_send(struct dm_ofi_conn *conn, enum dm_ofi_cqdata kind, uint32_t value)
{
    if (conn->fid == NULL || conn->is_shutdown)
        return false;
    return fi_writedata(conn->fid, conn->ctrl.ring, 0, NULL, dm_ofi_cqdata_word(conn, kind, value),
                        0, conn->ctrl.peer_addr, conn->ctrl.peer_key, &conn->cqdata_ctx) == 0;
}

void dm_ofi_cqdata_post(struct dm_ofi_conn *conn, enum dm_ofi_cqdata kind)
{
    uint32_t value = conn->base.end.is_nak_sent;

    if (kind == DM_CQDATA_CTRL_ACK)
        value = conn->ctrl.n_read;
    else if (kind == DM_CQDATA_CREDITS)
        value = conn->base.credits.n_granted;
    else if (kind == DM_CQDATA_RECV_ACK)
        value = conn->base.credits.n_arrived;
    if (dm_ofi_cqdata_send(conn, kind, value))
        conn->cqdata_due &= ~(1u << kind);
    else
        conn->cqdata_due |= 1u << kind;
    if (conn->cqdata_due != 0)
        dm_net_conn_timer(&conn->base, dm_futex_now() + RETRY_MS * 1000000u);
}

/* Half of what there is at least. */
void dm_ofi_conn_credit(struct dm_ofi_conn *conn)
{
    uint32_t n;

    if (conn->base.state != DM_CONN_UP || conn->base.ep == NULL || conn->base.ep->srq != NULL)
        return;
    dm_ofi_recv_report_min(dm_ofi_conn_ep(conn));
    if (!dm_list_is_empty(&dm_ofi_conn_ep(conn)->ctrls))
        return; /* which come first; called again then */
    n = conn->base.credits.n_arrived + conn->base.ep->n_recvs;
    if ((int32_t)(n - conn->base.credits.n_granted) <=
        (int32_t)(conn->base.credits.n_granted - conn->base.credits.n_arrived))
        return;
    conn->base.credits.n_granted = n;
    dm_ofi_cqdata_post(conn, DM_CQDATA_CREDITS);
}

void dm_ofi_conn_ack(struct dm_ofi_conn *conn)
{
    if (conn->base.state == DM_CONN_UP)
        dm_ofi_cqdata_post(conn, DM_CQDATA_RECV_ACK);
}

/* ---- control messages ---- */

bool dm_ofi_ctrl_send(struct dm_ofi_conn *conn, const struct dm_ofi_ctrl *ctrl)
{
    uint32_t slot = conn->ctrl.n_sent % DM_OFI_CTRL_SLOTS;

    if (conn->fid == NULL || conn->ctrl.n_sent - conn->ctrl.n_acked >= DM_OFI_CTRL_SLOTS)
        return false;
    /* Small enough for the fabric to copy: the caller keeps its buffer. */
    if (fi_inject_writedata(conn->fid, ctrl, sizeof(*ctrl),
                            dm_ofi_cqdata_word(conn, DM_CQDATA_CTRL, conn->ctrl.n_sent + 1), 0,
                            conn->ctrl.peer_addr + slot * sizeof(*ctrl), conn->ctrl.peer_key) != 0)
        return false;
    conn->ctrl.n_sent++;
    return true;
}

bool dm_ofi_ctrl_send_with_data(struct dm_ofi_conn *conn, const struct dm_ofi_ctrl *ctrl,
                                const struct iovec *data, const struct fi_rma_iov *remote,
                                size_t n_remote)
{
    const struct fi_tx_attr *tx = dm_ofi_conn_ia(conn)->fabric.info->tx_attr;
    uint32_t slot = conn->ctrl.n_sent % DM_OFI_CTRL_SLOTS;
    uint64_t flags = FI_REMOTE_CQ_DATA;
    struct fi_rma_iov places[3];
    struct iovec vec[2] = {*data};
    struct fi_msg_rma msg = {.msg_iov = vec,
                             .iov_count = 2,
                             .rma_iov = places,
                             .rma_iov_count = n_remote + 1,
                             .context = &conn->cqdata_ctx,
                             .data =
                                 dm_ofi_cqdata_word(conn, DM_CQDATA_CTRL, conn->ctrl.n_sent + 1)};

    if (conn->fid == NULL || conn->ctrl.n_sent - conn->ctrl.n_acked >= DM_OFI_CTRL_SLOTS ||
        tx->iov_limit < 2 || tx->rma_iov_limit <= n_remote)
        return false;
    /* A copy that stays until the peer has read it. */
    if (conn->ctrl.copies == NULL)
        conn->ctrl.copies = calloc(DM_OFI_CTRL_SLOTS, sizeof(*conn->ctrl.copies));
    if (conn->ctrl.copies == NULL)
        return false;
    conn->ctrl.copies[slot] = *ctrl;
    vec[1] = (struct iovec){.iov_base = &conn->ctrl.copies[slot], .iov_len = sizeof(*ctrl)};
    memcpy(places, remote, n_remote * sizeof(*remote));
    places[n_remote] = (struct fi_rma_iov){.addr = conn->ctrl.peer_addr + slot * sizeof(*ctrl),
                                           .len = sizeof(*ctrl),
                                           .key = conn->ctrl.peer_key};
    if (data->iov_len + sizeof(*ctrl) <= tx->inject_size)
        flags |= FI_INJECT;
    if (fi_writemsg(conn->fid, &msg, flags) != 0)
        return false;
    if ((flags & FI_INJECT) == 0)
        conn->unsignalled.is_any = true;
    conn->ctrl.n_sent++;
    return true;
}

void dm_ofi_ctrl_post(struct dm_ofi_ep *ep, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_ctrl_entry *entry;

    if (ep->base.conn == NULL ||
        (dm_list_is_empty(&ep->ctrls) && dm_ofi_ctrl_send(dm_ofi_ep_conn(ep), ctrl)))
        return;
    entry = malloc(sizeof(*entry));
    if (entry == NULL) {
        dm_net_conn_fail(ep->base.conn, DAT_CONNECTION_EVENT_BROKEN);
        return;
    }
    entry->ctrl = *ctrl;
    dm_list_add_tail(&ep->ctrls, &entry->link);
    dm_net_ep_wait(&ep->base);
}

/* Part of a request of the peer's consumer: the first write or read asks for its key. */
static bool ctrl_is_of_request(uint32_t type)
{
    return type == DM_CTRL_ATOMIC_REQ || type == DM_CTRL_RECV_REQ || type == DM_CTRL_KEY_REQ ||
           type == DM_CTRL_IMMED_LEN || type == DM_CTRL_READ_REQ;
}

static void ctrl_arrived(struct dm_ofi_conn *conn, const struct dm_ofi_ctrl *ctrl)
{
    struct dm_ofi_ep *ep = dm_ofi_conn_ep(conn);

    if (ep == NULL)
        return;
    conn->is_asked |= ctrl_is_of_request(ctrl->type);
    switch ((enum dm_ofi_ctrl_type)ctrl->type) {
    case DM_CTRL_ATOMIC_REQ:
        dm_ofi_ext_atomic_request(ep, ctrl);
        break;
    case DM_CTRL_ATOMIC_RSP:
        dm_ofi_ext_atomic_response(ep, ctrl);
        break;
    case DM_CTRL_RECV_REQ:
        if (ep->base.srq != NULL)
            dm_net_srq_asked(&ep->base, ctrl->id, ctrl->value[0]);
        else
            dm_transport_recv_answer(&ep->base, ctrl->id,
                                     !dm_transport_recv_fits(&ep->base, ctrl->value[0]));
        break;
    case DM_CTRL_RECV_RSP:
        dm_ofi_ext_recv_response(ep, ctrl);
        break;
    case DM_CTRL_KEY_REQ:
        dm_ofi_rkey_request(ep, ctrl->key);
        break;
    case DM_CTRL_KEY_RSP:
        dm_ofi_rkey_response(ep, ctrl);
        break;
    case DM_CTRL_KEY_INVAL:
        dm_ofi_rkey_invalidated(ep, ctrl->key);
        break;
    case DM_CTRL_INVAL_ACK:
        dm_ofi_rkey_acked(ep, ctrl->value[0]);
        break;
    case DM_CTRL_IMMED_LEN:
        ep->immed_len = ctrl->value[0];
        break;
    case DM_CTRL_READ_REQ:
        dm_ofi_read_request(ep, ctrl);
        break;
    case DM_CTRL_READ_RSP:
        dm_ofi_read_response(ep, ctrl);
        break;
    case DM_CTRL_MIN_RECV:
        conn->min_recv.peer = ctrl->value[0];
        break;
    default:
        break; /* of a newer peer */
    }
}

static void ctrl_read(struct dm_ofi_conn *conn, uint32_t n)
{
    if (n - conn->ctrl.n_read > DM_OFI_CTRL_SLOTS)
        return; /* malformed */
    while (conn->ctrl.n_read != n && conn->base.state == DM_CONN_UP) {
        struct dm_ofi_ctrl ctrl = conn->ctrl.ring[conn->ctrl.n_read % DM_OFI_CTRL_SLOTS];

        conn->ctrl.n_read++;
        ctrl_arrived(conn, &ctrl);
    }
    if (conn->ctrl.n_read - conn->ctrl.n_reported >= CTRL_DUE) {
        conn->ctrl.n_reported = conn->ctrl.n_read;
        dm_ofi_cqdata_post(conn, DM_CQDATA_CTRL_ACK);
    }
}

void dm_ofi_cqdata_arrived(struct dm_ofi_ia *ia, uint64_t word)
{
    struct dm_ofi_conn *conn =
        dm_ofi_conn_by_number(ia, (uint32_t)(word >> 32) & DM_OFI_NUMBER_MAX);
    uint32_t value = (uint32_t)word;

    if (conn == NULL || conn->base.state < DM_CONN_UP || conn->base.state == DM_CONN_CLOSED)
        return;
    switch ((enum dm_ofi_cqdata)(word >> 60)) {
    case DM_CQDATA_DISCONNECT:
        dm_net_conn_fail(&conn->base, DAT_CONNECTION_EVENT_DISCONNECTED);
        break;
    case DM_CQDATA_TERMINATE:
        conn->base.end.is_nak_received = value != 0;
        if (conn->base.end.is_nak_received && conn->base.ep != NULL)
            dm_ofi_dto_nak(dm_ofi_conn_ep(conn));
        conn->base.end.is_peer_terminated = true;
        dm_net_conn_fail(&conn->base, conn->base.end.is_nak_received
                                          ? DAT_CONNECTION_EVENT_BROKEN
                                          : DAT_CONNECTION_EVENT_DISCONNECTED);
        break;
    case DM_CQDATA_CTRL:
        ctrl_read(conn, value);
        break;
    case DM_CQDATA_CTRL_ACK:
        conn->ctrl.n_acked = value;
        break;
    case DM_CQDATA_RECV_ACK:
        if (conn->base.ep != NULL)
            dm_ofi_dto_ack(dm_ofi_conn_ep(conn), value);
        break;
    case DM_CQDATA_CREDITS:
        conn->base.credits.n_peer_recvs = value;
        if (conn->base.ep != NULL)
            dm_ofi_dto_push(dm_ofi_conn_ep(conn));
        break;
    default:
        break; /* of a newer peer */
    }
}
