/*
 * Rendezvous: the sender offers a way by DATUM_RNDV, the receiver decides how the data move.
 *
 * It reads them by RDMA when the sender's buffer is registered, both sides are
 * contiguous and that is the faster way; or has them written to its own; otherwise it asks for them with CTS. Then they
 * come in DATA packets of PIECE bytes, so that other packets to the same
 * process get their turn, and each record of the pipe is copied straight to its place.
 * A request's `got` is what has come or gone: at first what the RTS carries.
 */
#include "mpi/pt2pt/p2p.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/match_inl.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

#define PIECE     ((size_t)1 << 20)
#define FIRST_MAX ((size_t)4096) /* bytes of a message in its RTS (DATUM_RNDV_INLINE) */

/* ---- sending ---- */

static void rts_done(struct dm_chan_send *send, int err)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    /* The answer completes it, or this. */
    if (err != DM_OK)
        dm_p2p_req_step(r, err);
}

/* The RTS and the first bytes of the message. */
static void rts_read(struct dm_chan_send *send, size_t offset, void *dst, size_t len)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);
    const struct dm_p2p_rts *rts = &r->rndv.head.rts;
    size_t n = 0;

    if (offset < sizeof(*rts)) {
        n = len < sizeof(*rts) - offset ? len : sizeof(*rts) - offset;
        memcpy(dst, (const char *)rts + offset, n);
    }
    if (n < len)
        dm_type_pack(r->buf, r->count, r->type, offset + n - sizeof(*rts), (char *)dst + n,
                     len - n);
}

/* How the message may be fetched, which needs its buffer registered or leaves it alone. */
static uint32_t offer(struct dm_p2p_req *r)
{
    int how = dm_chan_rndv(dm_world.chan, r->proc);

    /* A short one, that the receiver holds off, is not worth a registration. */
    if (how == DM_RNDV_PIPE || r->addr == NULL || r->rndv.got == r->len ||
        r->len <= dm_p2p.eager_limit ||
        dm_adapt_reg(dm_chan_adapt(dm_world.chan), r->addr, r->len, &r->rndv.mr) != DM_OK)
        return DM_RNDV_PIPE;
    return (uint32_t)how;
}

/* Make the request a rendezvous, with this header for its packet. */
static void ask(struct dm_p2p_req *r, const struct dm_mkey *key, struct dm_pkt_sync *h)
{
    struct dm_p2p_rts *rts = &r->rndv.head.rts;

    *h = (struct dm_pkt_sync){
        .pkt = {.type = DM_PKT_RTS, .version = DM_PKT_VERSION, .hdr_len = sizeof(*h)},
        .key = *key,
        .id = r->id,
        .sreq = (uintptr_t)r,
    };
    memset(rts, 0, sizeof(*rts));
    rts->len = r->len;
    if (dm_cfg()->rndv_inline && r->len > dm_p2p.eager_limit)
        rts->first_len = (uint32_t)(r->len < FIRST_MAX ? r->len : FIRST_MAX);
    r->rndv.got = rts->first_len;
    dm_p2p.flow.n_deferred += r->len <= dm_p2p.eager_limit;
    rts->how = offer(r);
    if (rts->how == DM_RNDV_READ) {
        dm_adapt_rkey(r->rndv.mr, &rts->key);
        rts->addr = (uintptr_t)r->addr;
    }
    DM_TRACE(RNDV, "rts to rank %d, tag %d, %zu bytes", r->proc, key->tag, r->len);
    dm_p2p.counts.n_rts++;
    h->pkt.data_len = (uint32_t)sizeof(*rts) + rts->first_len;
    r->io.send.done = rts_done;
    r->io.send.data = rts->first_len == 0 ? rts : NULL;
    r->io.send.read = rts_read;
    if (!r->is_active)
        dm_p2p_req_activate(r);
}

void dm_p2p_rndv_send(struct dm_p2p_req *r, const struct dm_mkey *key)
{
    struct dm_pkt_sync h;

    ask(r, key, &h);
    (void)dm_chan_send(dm_world.chan, r->proc, &h.pkt, &r->io.send);
}

void dm_p2p_rndv_instead(struct dm_p2p_req *r)
{
    struct dm_pkt_sync h;

    ask(r, &r->node.key, &h);
    memcpy(r->io.send.hdr, &h, sizeof(h));
    r->req.n_pending = 1; /* the answer */
}

static void push_data(struct dm_p2p_req *r);

static void data_done(struct dm_chan_send *send, int err)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    if (err == DM_OK && r->rndv.got < r->rndv.want)
        push_data(r);
    else
        dm_p2p_req_step(r, err);
}

/* Send the next piece. */
static void push_data(struct dm_p2p_req *r)
{
    size_t len = r->rndv.want - r->rndv.got < PIECE ? r->rndv.want - r->rndv.got : PIECE;
    struct dm_pkt_data h = {
        .pkt = {.type = DM_PKT_DATA,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(h),
                .data_len = (uint32_t)len},
        .rreq = r->rndv.peer_req,
        .offset = r->rndv.got,
    };

    dm_p2p.counts.n_data++;
    r->rndv.base = r->rndv.got;
    r->rndv.got += len;
    r->io.send.done = data_done;
    r->io.send.data = r->addr != NULL ? r->addr + r->rndv.base : NULL;
    r->io.send.read = dm_p2p_read;
    (void)dm_chan_send(dm_world.chan, r->proc, &h.pkt, &r->io.send);
}

/* Through the pipe. */
static void start_push(struct dm_p2p_req *r)
{
    /* From now on the channel's queue has it, which tells of a loss itself. */
    r->is_active = false;
    dm_list_del(&r->active);
    push_data(r);
}

static void send_fin(struct dm_p2p_req *r);

static void write_done(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    if (err == DM_OK && !r->rndv.head.cts.has_imm)
        send_fin(r);
    else if (err != DM_OK && !r->rndv.head.cts.has_imm &&
             !dm_chan_is_lost(dm_world.chan, r->proc)) {
        start_push(r); /* the way by RDMA is closed; the pipe may be open */
        return;
    }
    dm_p2p_req_step(r, err);
}

/* By RDMA to where the CTS says. */
static void start_write(struct dm_p2p_req *r)
{
    const struct dm_p2p_cts *cts = &r->rndv.head.cts;
    char *from = r->addr + r->rndv.got;
    uint64_t to = cts->addr + r->rndv.got;
    size_t len = r->rndv.want - r->rndv.got;
    int err;

    r->io.rdma.done = write_done;
    r->is_reading = true;
    if (cts->has_imm)
        err = dm_chan_rdma_write_imm(dm_world.chan, r->proc, &r->io.rdma, from, r->rndv.mr, to,
                                     &cts->key, len, cts->imm);
    else
        err = dm_chan_rdma_write(dm_world.chan, r->proc, &r->io.rdma, from, r->rndv.mr, to,
                                 &cts->key, len);
    if (err != DM_OK)
        write_done(&r->io.rdma, err);
}

static void cts_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_req *r = arg;

    memcpy((char *)&r->rndv.head.cts + offset, data, len);
}

static void cts_all(void *arg)
{
    start_write(arg);
}

static void on_cts(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_cts *cts = (const struct dm_pkt_cts *)(const void *)pkt;
    struct dm_p2p_req *r = (struct dm_p2p_req *)(uintptr_t)cts->sreq;

    (void)arg;
    (void)proc;
    r->rndv.peer_req = cts->rreq;
    r->rndv.want = cts->want < r->len ? cts->want : r->len;
    if (pkt->data_len == 0) {
        start_push(r);
    } else if (avail == sizeof(r->rndv.head.cts)) {
        memcpy(&r->rndv.head.cts, data, sizeof(r->rndv.head.cts));
        start_write(r);
    } else {
        *sink = (struct dm_chan_sink){.arg = r, .write = cts_write, .done = cts_all};
    }
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
        .sreq = r->rndv.peer_req,
    };

    dm_p2p.counts.n_fin++;
    if (dm_chan_send_ctl(dm_world.chan, r->proc, &fin.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a rendezvous packet");
}

/* where: NULL for the pipe. */
static void send_cts(struct dm_p2p_req *r, const struct dm_p2p_cts *where)
{
    struct dm_pkt_cts cts = {
        .pkt = {.type = DM_PKT_CTS,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(cts),
                .data_len = where != NULL ? sizeof(*where) : 0},
        .sreq = r->rndv.peer_req,
        .rreq = (uintptr_t)r,
        .want = r->rndv.want,
    };

    DM_TRACE(RNDV, "cts to rank %d, %zu bytes", r->proc, r->rndv.want);
    dm_p2p.counts.n_cts++;
    if (!r->is_active)
        dm_p2p_req_activate(r);
    if (dm_chan_send_small(dm_world.chan, r->proc, &cts.pkt, where) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a rendezvous packet");
}

void dm_p2p_rndv_measured(struct dm_p2p_req *r, size_t len)
{
    dm_adapt_rndv_end(r->rndv.select, r->is_piped ? DM_RNDV_PIPE : DM_RNDV_READ, len);
    r->rndv.select = NULL;
}

static void read_done(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    if (r->rndv.select != NULL)
        dm_p2p_rndv_measured(r, err == DM_OK ? r->rndv.want - r->rndv.got : 0);
    if (err == DM_OK) {
        send_fin(r);
    } else if (!dm_chan_is_lost(dm_world.chan, r->proc)) {
        /* The way by RDMA is closed; the pipe may be open. */
        send_cts(r, NULL);
        return;
    }
    dm_p2p_req_step(r, err);
}

static bool start_read(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    DM_TRACE(RNDV, "read from rank %d, %zu bytes", r->proc, r->rndv.want - r->rndv.got);
    r->io.rdma.done = read_done;
    r->is_reading = true;
    if (dm_chan_rdma_read(dm_world.chan, r->proc, &r->io.rdma, r->addr + r->rndv.got, NULL,
                          rts->addr + r->rndv.got, &rts->key, r->rndv.want - r->rndv.got) == DM_OK)
        return true;
    r->is_reading = false;
    return false;
}

static void value_came(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    dm_p2p_req_step(r, err);
}

/* Have the sender write to the buffer; a FIN or a value will tell. */
static bool ask_write(struct dm_p2p_req *r, uint32_t how)
{
    struct dm_p2p_cts where = {.addr = (uintptr_t)r->addr};

    if (dm_adapt_reg(dm_chan_adapt(dm_world.chan), r->addr, r->rndv.want, &r->rndv.mr) != DM_OK)
        return false;
    dm_adapt_rkey(r->rndv.mr, &where.key);
    r->io.rdma.done = value_came;
    if (how == DM_RNDV_IMM &&
        dm_chan_expect_imm(dm_world.chan, r->proc, &r->io.rdma, &where.imm) == DM_OK) {
        r->is_reading = true;
        where.has_imm = 1;
    }
    send_cts(r, &where);
    return true;
}

/* By the way that the sender offers, if it can be gone here. */
static bool start_rdma(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    int how;

    if (r->addr == NULL || rts->how == DM_RNDV_PIPE)
        return false;
    if (rts->how != DM_RNDV_READ)
        return ask_write(r, rts->how);
    how = dm_chan_rndv_begin(dm_world.chan, r->proc, r->rndv.want - r->rndv.got, &r->rndv.select);
    r->is_piped = how == DM_RNDV_PIPE;
    if (how != DM_RNDV_READ)
        return false;
    if (start_read(r, rts))
        return true;
    if (r->rndv.select != NULL)
        dm_p2p_rndv_measured(r, 0);
    return false;
}

void dm_p2p_rndv_recv(struct dm_p2p_req *r, int proc, const struct dm_p2p_unexp *u)
{
    const struct dm_p2p_rts *rts = &u->rts;

    r->rndv.peer_req = u->sreq;
    r->rndv.want = rts->len < r->len ? rts->len : r->len;
    r->rndv.got = rts->first_len < r->rndv.want ? rts->first_len : r->rndv.want;
    if (r->rndv.got > 0)
        dm_p2p_place(r, 0, u->data, r->rndv.got);
    if (r->rndv.got == r->rndv.want) {
        send_fin(r);
        dm_p2p_req_step(r, DM_OK);
        return;
    }
    if (start_rdma(r, rts))
        return;
    if (dm_chan_is_lost(dm_world.chan, proc))
        dm_p2p_req_step(r, DM_EPEER);
    else
        send_cts(r, NULL);
}

static void data_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_req *r = arg;

    dm_p2p_place(r, r->rndv.base + offset, data, len);
}

static void data_came(struct dm_p2p_req *r, size_t len)
{
    r->rndv.got += len;
    if (r->rndv.got == r->rndv.want)
        dm_p2p_req_step(r, DM_OK);
}

static void data_all(void *arg)
{
    struct dm_p2p_req *r = arg;
    size_t left = r->rndv.want - r->rndv.base;

    data_came(r, left < PIECE ? left : PIECE);
}

static void on_data(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    const struct dm_pkt_data *h = (const struct dm_pkt_data *)(const void *)pkt;
    struct dm_p2p_req *r = (struct dm_p2p_req *)(uintptr_t)h->rreq;

    (void)arg;
    (void)proc;
    r->rndv.base = h->offset;
    if (avail == pkt->data_len) {
        dm_p2p_place(r, r->rndv.base, data, avail);
        data_came(r, avail);
        return;
    }
    *sink = (struct dm_chan_sink){.arg = r, .write = data_write, .done = data_all};
}

/* ---- the request to send arrives ---- */

static void rts_arrived(struct dm_p2p_unexp *u)
{
    struct dm_mnode *node = dm_match_take(&dm_p2p.match, &u->nodes[0].key);

    dm_list_del(&u->arriving);
    u->len = u->rts.len;
    u->is_complete = true;
    if (node != NULL)
        dm_p2p_recv_unexp(dm_container_of(node, struct dm_p2p_req, node), u);
    else
        dm_match_add_unexp(&dm_p2p.match, u->nodes, &u->nodes[0].key);
}

/* The RTS, then the first bytes of the message. */
static void rts_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_unexp *u = arg;
    size_t n = 0;

    if (offset < sizeof(u->rts)) {
        n = len < sizeof(u->rts) - offset ? len : sizeof(u->rts) - offset;
        memcpy((char *)&u->rts + offset, data, n);
    }
    if (n < len)
        memcpy(u->data + (offset + n - sizeof(u->rts)), (const char *)data + n, len - n);
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
    if (!dm_p2p_unexp_buffer(u, pkt->data_len - sizeof(u->rts)))
        dm_p2p_fatal("no memory for the first bytes of a message");
    if (avail == pkt->data_len) {
        rts_write(u, 0, data, avail);
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

int dm_p2p_stats(struct dm_adapt_stat *stats, int max)
{
    const struct dm_p2p_counts *counts = &dm_p2p.counts;
    const struct dm_adapt_stat rows[] = {
        {"messages sent", "", counts->n_eager + counts->n_rts},
        {"  by rendezvous", "", counts->n_rts},
        {"rendezvous packets", "", counts->n_rts + counts->n_cts + counts->n_fin + counts->n_data},
        {"  RTS", "", counts->n_rts},
        {"  CTS", "", counts->n_cts},
        {"  FIN", "", counts->n_fin},
        {"  DATA", "", counts->n_data},
    };
    int n = 0;

    for (; n < max && n < (int)(sizeof(rows) / sizeof(rows[0])); n++)
        stats[n] = rows[n];
    return n;
}
