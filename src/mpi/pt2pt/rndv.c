/*
 * Rendezvous: the receiver decides how the data move.
 *
 * It reads them by RDMA when the sender's buffer is registered, both sides are
 * contiguous and that is the faster way; otherwise it asks for them with CTS. They
 * come in DATA packets of PIECE bytes, so that other packets to the same
 * process get their turn, and each record of the pipe is copied straight to its place.
 */
#include "mpi/pt2pt/p2p.h"

#include <string.h>

#include "mpi/pt2pt/match_inl.h"
#include "util/err.h"
#include "util/log.h"

#define PIECE ((size_t)1 << 20)

/* ---- sending ---- */

static void rts_done(struct dm_chan_send *send, int err)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    /* The answer completes it, or this. */
    if (err != DM_OK)
        dm_p2p_req_step(r, err);
}

void dm_p2p_rndv_send(struct dm_p2p_req *r, const struct dm_mkey *key)
{
    struct dm_pkt_sync h = {
        .pkt = {.type = DM_PKT_RTS,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(h),
                .data_len = sizeof(r->rts)},
        .key = *key,
        .id = r->id,
        .sreq = (uintptr_t)r,
    };

    memset(&r->rts, 0, sizeof(r->rts));
    r->rts.len = r->len;
    if (r->addr != NULL && r->len > 0 && !dm_chan_prefers_pipe(dm_world.chan, r->proc) &&
        dm_adapt_reg(dm_chan_adapt(dm_world.chan), r->addr, r->len, &r->mr) == DM_OK) {
        dm_adapt_rkey(r->mr, &r->rts.key);
        r->rts.addr = (uintptr_t)r->addr;
        r->rts.has_key = 1;
    }
    DM_TRACE(RNDV, "rts to rank %d, tag %d, %zu bytes", r->proc, key->tag, r->len);
    r->io.send.done = rts_done;
    r->io.send.data = &r->rts;
    dm_p2p_req_activate(r);
    (void)dm_chan_send(dm_world.chan, r->proc, &h.pkt, &r->io.send);
}

static void push_data(struct dm_p2p_req *r);

static void data_done(struct dm_chan_send *send, int err)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    if (err == DM_OK && r->got < r->want)
        push_data(r);
    else
        dm_p2p_req_step(r, err);
}

/* Send the next piece. */
static void push_data(struct dm_p2p_req *r)
{
    size_t len = r->want - r->got < PIECE ? r->want - r->got : PIECE;
    struct dm_pkt_data h = {
        .pkt = {.type = DM_PKT_DATA,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(h),
                .data_len = (uint32_t)len},
        .rreq = r->peer_req,
        .offset = r->got,
    };

    r->base = r->got;
    r->got += len;
    r->io.send.done = data_done;
    r->io.send.data = r->addr != NULL ? r->addr + r->base : NULL;
    r->io.send.read = dm_p2p_read;
    (void)dm_chan_send(dm_world.chan, r->proc, &h.pkt, &r->io.send);
}

static void on_cts(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_cts *cts = (const struct dm_pkt_cts *)(const void *)pkt;
    struct dm_p2p_req *r = (struct dm_p2p_req *)(uintptr_t)cts->sreq;

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    r->peer_req = cts->rreq;
    r->want = cts->want < r->len ? cts->want : r->len;
    r->got = 0;
    /* From now on the channel's queue has it, which tells of a loss itself. */
    r->is_active = false;
    dm_list_del(&r->active);
    push_data(r);
}

static void on_fin(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_answer *fin = (const struct dm_pkt_answer *)(const void *)pkt;

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    dm_p2p_req_step((struct dm_p2p_req *)(uintptr_t)fin->sreq, DM_OK);
}

/* ---- receiving ---- */

static void send_fin(struct dm_p2p_req *r)
{
    struct dm_pkt_answer fin = {
        .pkt = {.type = DM_PKT_FIN, .version = DM_PKT_VERSION, .hdr_len = sizeof(fin)},
        .sreq = r->peer_req,
    };

    if (dm_chan_send_ctl(dm_world.chan, r->proc, &fin.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a rendezvous packet");
}

static void send_cts(struct dm_p2p_req *r)
{
    struct dm_pkt_cts cts = {
        .pkt = {.type = DM_PKT_CTS, .version = DM_PKT_VERSION, .hdr_len = sizeof(cts)},
        .sreq = r->peer_req,
        .rreq = (uintptr_t)r,
        .want = r->want,
    };

    DM_TRACE(RNDV, "cts to rank %d, %zu bytes", r->proc, r->want);
    if (!r->is_active)
        dm_p2p_req_activate(r);
    if (dm_chan_send_ctl(dm_world.chan, r->proc, &cts.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a rendezvous packet");
}

static void read_done(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    if (err == DM_OK) {
        send_fin(r);
    } else if (!dm_chan_is_lost(dm_world.chan, r->proc)) {
        /* The way by RDMA is closed; the pipe may be open. */
        send_cts(r);
        return;
    }
    dm_p2p_req_step(r, err);
}

void dm_p2p_rndv_recv(struct dm_p2p_req *r, int proc, const struct dm_p2p_rts *rts, uint64_t sreq)
{
    int err;

    r->peer_req = sreq;
    r->want = rts->len < r->len ? rts->len : r->len;
    r->got = 0;
    if (r->want == 0) {
        send_fin(r);
        dm_p2p_req_step(r, DM_OK);
        return;
    }
    if (rts->has_key && r->addr != NULL && !dm_chan_prefers_pipe(dm_world.chan, proc)) {
        DM_TRACE(RNDV, "read from rank %d, %zu bytes", proc, r->want);
        r->io.rdma.done = read_done;
        r->is_reading = true;
        err = dm_chan_rdma_read(dm_world.chan, proc, &r->io.rdma, r->addr, NULL, rts->addr,
                                &rts->key, r->want);
        if (err == DM_OK)
            return;
        r->is_reading = false;
    }
    if (dm_chan_is_lost(dm_world.chan, proc))
        dm_p2p_req_step(r, DM_EPEER);
    else
        send_cts(r);
}

static void data_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_req *r = arg;

    dm_p2p_place(r, r->base + offset, data, len);
}

static void data_came(struct dm_p2p_req *r, size_t len)
{
    r->got += len;
    if (r->got == r->want)
        dm_p2p_req_step(r, DM_OK);
}

static void data_all(void *arg)
{
    struct dm_p2p_req *r = arg;
    size_t left = r->want - r->base;

    data_came(r, left < PIECE ? left : PIECE);
}

static void on_data(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    const struct dm_pkt_data *h = (const struct dm_pkt_data *)(const void *)pkt;
    struct dm_p2p_req *r = (struct dm_p2p_req *)(uintptr_t)h->rreq;

    (void)arg;
    (void)proc;
    r->base = h->offset;
    if (avail == pkt->data_len) {
        dm_p2p_place(r, r->base, data, avail);
        data_came(r, avail);
        return;
    }
    *sink = (struct dm_chan_sink){.arg = r, .write = data_write, .done = data_all};
}

/* ---- the request to send arrives ---- */

static void rts_arrived(struct dm_p2p_unexp *u)
{
    struct dm_mnode *node = dm_match_take(&dm_p2p.match, &u->key);

    dm_list_del(&u->arriving);
    u->len = u->rts.len;
    u->is_complete = true;
    if (node != NULL)
        dm_p2p_recv_unexp(dm_container_of(node, struct dm_p2p_req, node), u);
    else
        dm_match_add_unexp(&dm_p2p.match, u->nodes, &u->key);
}

static void rts_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_unexp *u = arg;

    memcpy((char *)&u->rts + offset, data, len);
}

static void rts_all(void *arg)
{
    rts_arrived(arg);
}

static void on_rts(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_eager *h = (const struct dm_pkt_eager *)(const void *)pkt;
    struct dm_p2p_unexp *u = dm_p2p_unexp_new(proc, h, 0);

    (void)arg;
    if (avail == sizeof(u->rts)) {
        memcpy(&u->rts, data, sizeof(u->rts));
        rts_arrived(u);
        return;
    }
    /* Matching can wait for it: nothing of this sender comes in between. */
    *sink = (struct dm_chan_sink){.arg = u, .write = rts_write, .done = rts_all};
}

void dm_p2p_rndv_start(void)
{
    dm_chan_on_packet(dm_world.chan, DM_PKT_RTS, on_rts, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_CTS, on_cts, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_DATA, on_data, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_FIN, on_fin, NULL);
}
