/*
 * The handshake: messages on a new endpoint until both sides know of each other.
 */
#include "providers/ofi/transport/handshake.h"

#include <stdlib.h>
#include <string.h>

#include "providers/ofi/conn.h"

/* A message of the handshake, under way. */
struct handshake_packet {
    struct dm_ofi_ctx ctx;
    struct dm_ofi_conn *conn;
    struct dm_ofi_handshake handshake;
};

static void handshake_sent(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct handshake_packet *packet = dm_container_of(ctx, struct handshake_packet, ctx);

    (void)done;
    free(packet);
}

static void handshake_arrived(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct handshake_packet *packet = dm_container_of(ctx, struct handshake_packet, ctx);
    const struct dm_ofi_handshake *handshake = &packet->handshake;
    struct dm_ofi_conn *conn = packet->conn;
    const size_t head = offsetof(struct dm_ofi_handshake, data);

    if (done->err == 0 && conn->base.state < DM_CONN_UP) {
        if (done->len >= head && handshake->magic == DM_OFI_MAGIC &&
            handshake->version == DM_OFI_VERSION && handshake->data_len <= DM_PRIVATE_MAX &&
            done->len >= head + handshake->data_len)
            dm_ofi_conn_greeted(conn, handshake);
        else
            dm_ofi_conn_shutdown(conn); /* malformed */
    }
    free(packet);
}

bool dm_ofi_handshake_expect(struct dm_ofi_conn *conn)
{
    struct handshake_packet *packet = calloc(1, sizeof(*packet));
    struct iovec vec;
    struct fi_msg msg = {.msg_iov = &vec, .iov_count = 1};

    if (packet == NULL)
        return false;
    packet->ctx.done = handshake_arrived;
    packet->conn = conn;
    vec.iov_base = &packet->handshake;
    vec.iov_len = sizeof(packet->handshake);
    msg.context = &packet->ctx;
    if (fi_recvmsg(conn->fid, &msg, FI_COMPLETION) == 0)
        return true;
    free(packet);
    return false;
}

bool dm_ofi_handshake_send(struct dm_ofi_conn *conn, enum dm_net_handshake_type type,
                           uint32_t status, DAT_CONN_QUAL qual, const void *data, uint32_t len)
{
    struct handshake_packet *packet = calloc(1, sizeof(*packet));
    struct dm_ofi_ia *ia = dm_ofi_conn_ia(conn);
    struct dm_ofi_handshake *handshake;
    struct iovec vec;
    struct fi_msg msg = {.msg_iov = &vec, .iov_count = 1};

    if (packet == NULL)
        return false;
    packet->ctx.done = handshake_sent;
    packet->conn = conn;
    handshake = &packet->handshake;
    handshake->magic = DM_OFI_MAGIC;
    handshake->version = DM_OFI_VERSION;
    handshake->type = type;
    handshake->status = status;
    handshake->number = conn->number;
    handshake->qual = qual;
    handshake->ctrl = (uint64_t)(uintptr_t)conn->ctrl.ring;
    handshake->ctrl_key = conn->ctrl.key;
    handshake->is_split = ia->fabric.is_split;
    handshake->is_shared = conn->base.ep != NULL && conn->base.ep->srq != NULL;
    if (conn->base.ep != NULL && conn->base.ep->srq == NULL)
        handshake->n_recvs = conn->base.credits.n_granted = conn->base.ep->n_recvs;
    handshake->min_recv = conn->min_recv.reported = conn->min_recv.own;
    memcpy(handshake->addr, &ia->net.pia.addr, sizeof(handshake->addr));
    handshake->data_len = len;
    if (len > 0)
        memcpy(handshake->data, data, len);
    vec.iov_base = handshake;
    vec.iov_len = offsetof(struct dm_ofi_handshake, data) + len;
    msg.context = &packet->ctx;
    if (fi_sendmsg(conn->fid, &msg, FI_COMPLETION) == 0)
        return true;
    free(packet);
    return false;
}
