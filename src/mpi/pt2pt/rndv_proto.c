/*
 * The protocols of large messages: a table, the choice, and a section for each.
 *
 * The sender offers one, by DATUM_RNDV and by what dapl_adapt has measured. The receiver takes it if
 * its buffer allows, else the pipe, which always works: DATA packets of RNDV_PIECE bytes, so that
 * other packets to the same process get their turn. RDMA that fails while the peer is not lost
 * is done again by the pipe. A request's `got` is what has come or gone, at first with the RTS.
 */
#include "mpi/pt2pt/rndv_proto.h"

#include <string.h>

#include "mpi/pt2pt/rndv_split.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"
#include "util/rndv.h"

#define RNDV_PIECE ((size_t)1 << 20)

struct rndv_row {
    /* Sender: can it be offered? Registers the buffer. NULL: always. */
    bool (*offer)(struct dm_p2p_req *r, struct dm_p2p_rts *rts);
    /* Receiver: is it good for this buffer, and still the best? NULL: always. */
    bool (*is_usable)(struct dm_p2p_req *r);
    /* Receiver: begin. False: it cannot. */
    bool (*start)(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
    /* Sender, when the CTS has come: move the data. NULL: there is none. */
    void (*send)(struct dm_p2p_req *r);
};

static bool rndv_offer_key(struct dm_p2p_req *r, struct dm_p2p_rts *rts);
static bool rndv_offer_buffer(struct dm_p2p_req *r, struct dm_p2p_rts *rts);
static bool rndv_is_contig(struct dm_p2p_req *r);
static bool rndv_is_read_better(struct dm_p2p_req *r);
static bool rndv_read_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
static bool rndv_write_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
static bool rndv_value_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
static bool rndv_pipe_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts);
static void rndv_write_send(struct dm_p2p_req *r);
static void rndv_value_send(struct dm_p2p_req *r);
static void rndv_pipe_send(struct dm_p2p_req *r);
static void rndv_serial_send(struct dm_p2p_req *r);

/* clang-format off */
static const struct rndv_row rndv_rows[DM_N_RNDV] = {
    /* protocol         offer              is_usable            start              send */
    [DM_RNDV_READ]   = {rndv_offer_key,    rndv_is_read_better, rndv_read_start,   NULL},
    [DM_RNDV_PIPE]   = {NULL,              NULL,                rndv_pipe_start,   rndv_pipe_send},
    [DM_RNDV_WRITE]  = {rndv_offer_buffer, rndv_is_contig,      rndv_write_start,  rndv_write_send},
    [DM_RNDV_IMM]    = {rndv_offer_buffer, rndv_is_contig,      rndv_value_start,  rndv_value_send},
    [DM_RNDV_SERIAL] = {NULL,              NULL,                rndv_pipe_start,   rndv_serial_send},
    [DM_RNDV_SPLIT]  = {rndv_offer_key,    rndv_is_contig,      dm_p2p_split_start, dm_p2p_split_send},
    [DM_RNDV_ZEROCOPY] = {NULL,            NULL,                rndv_pipe_start,   rndv_pipe_send},
};
/* clang-format on */

/* ---- the choice ---- */

void dm_p2p_rndv_offer(struct dm_p2p_req *r, struct dm_p2p_rts *rts)
{
    enum dm_rndv proto = dm_chan_rndv(dm_world.chan, r->proc);
    const struct rndv_row *row = &rndv_rows[proto];

    rts->how = (uint16_t)(row->offer == NULL || row->offer(r, rts) ? proto : DM_RNDV_PIPE);
}

void dm_p2p_rndv_fetch(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    /* What the peer says without naming a protocol goes by the pipe. */
    unsigned how = rts->how > DM_RNDV_AUTO && rts->how < DM_N_RNDV ? rts->how : DM_RNDV_PIPE;
    const struct rndv_row *row;

    row = &rndv_rows[how];
    r->rndv.head.rts.how = (uint16_t)how;
    r->rndv.head.rts.fetches = rts->fetches;
    if ((row->is_usable == NULL || row->is_usable(r)) && row->start(r, rts))
        return;
    (void)rndv_pipe_start(r, rts);
}

static bool rndv_offer_buffer(struct dm_p2p_req *r, struct dm_p2p_rts *rts)
{
    /* A short one, that the receiver holds off, is not worth a registration. */
    return r->addr != NULL && rts->first_len < r->len && r->len > dm_p2p.eager_limit &&
           dm_adapt_reg(dm_chan_adapt(dm_world.chan), r->addr, r->len, &r->rndv.mr) == DM_OK;
}

static bool rndv_offer_key(struct dm_p2p_req *r, struct dm_p2p_rts *rts)
{
    if (!rndv_offer_buffer(r, rts))
        return false;
    dm_adapt_rkey(r->rndv.mr, &rts->key);
    rts->addr = (uintptr_t)r->addr;
    return true;
}

static bool rndv_is_contig(struct dm_p2p_req *r)
{
    return r->addr != NULL;
}

/*
 * In an exchange both sides have to change the protocol together: one of them decides, the other one does as it does.
 * A lower rank decides; round a ring of ranks that is the first one.
 */
static enum dm_rndv rndv_agreed(const struct dm_p2p_req *r)
{
    unsigned fetches = r->rndv.head.rts.fetches;

    return r->proc < dm_world.rank && (fetches == DM_RNDV_READ || fetches == DM_RNDV_PIPE)
               ? (enum dm_rndv)fetches
               : DM_RNDV_AUTO;
}

/* Asks dapl_adapt, which may want the transfer timed, whether the pipe is faster now. */
static bool rndv_is_read_better(struct dm_p2p_req *r)
{
    size_t len = r->rndv.want - r->rndv.got;
    enum dm_rndv proto;

    if (r->addr == NULL)
        return false;
    if (dm_p2p.n_offers > 0)
        proto = dm_chan_rndv_exchange(dm_world.chan, r->proc, len, rndv_agreed(r), &r->rndv.select);
    else
        proto = dm_chan_rndv_begin(dm_world.chan, r->proc, len, &r->rndv.select);
    r->timed = (unsigned char)proto;
    return proto == DM_RNDV_READ;
}

void dm_p2p_rndv_measured(struct dm_p2p_req *r, size_t len)
{
    dm_adapt_rndv_end(r->rndv.select, (enum dm_rndv)r->timed, len);
    r->rndv.select = NULL;
}

/* ---- control messages ---- */

void dm_p2p_rndv_answer(struct dm_p2p_req *r, unsigned type, unsigned flags)
{
    struct dm_pkt_answer answer = {
        .pkt = {.type = (uint8_t)type,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(answer),
                .flags = (uint8_t)flags},
        .sreq = r->rndv.peer_req,
    };

    dm_p2p.counts.n_fin += type == DM_PKT_FIN;
    if (dm_chan_send_ctl(dm_world.chan, r->proc, &answer.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a rendezvous packet");
}

void dm_p2p_rndv_fin(struct dm_p2p_req *r)
{
    dm_p2p_rndv_answer(r, DM_PKT_FIN, 0);
}

static void on_fin(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_answer *fin = (const struct dm_pkt_answer *)(const void *)pkt;
    struct dm_p2p_req *r = (struct dm_p2p_req *)(uintptr_t)fin->sreq;

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    if (r->rndv.n_parts > 0)
        dm_p2p_split_step(r, pkt->flags != 0 ? DM_EPROVIDER : DM_OK);
    else
        dm_p2p_req_step(r, DM_OK);
}

void dm_p2p_rndv_cts(struct dm_p2p_req *r, const struct dm_p2p_cts *where)
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

static void rndv_cts_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_req *r = arg;

    memcpy((char *)&r->rndv.head.cts + offset, data, len);
}

/* All of where to write to is there. */
static void rndv_cts_done(void *arg)
{
    struct dm_p2p_req *r = arg;
    const struct dm_p2p_cts *cts = &r->rndv.head.cts;

    rndv_rows[cts->part > 0 || cts->is_invitation ? DM_RNDV_SPLIT
              : cts->has_value                    ? DM_RNDV_IMM
                                                  : DM_RNDV_WRITE]
        .send(r);
}

/* At either end: was it offered so? */
static bool rndv_is_serial(const struct dm_p2p_req *r)
{
    return r->rndv.head.rts.how == DM_RNDV_SERIAL;
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
        rndv_rows[rndv_is_serial(r) ? DM_RNDV_SERIAL : DM_RNDV_PIPE].send(r);
    } else if (avail == sizeof(r->rndv.head.cts)) {
        memcpy(&r->rndv.head.cts, data, sizeof(r->rndv.head.cts));
        rndv_cts_done(r);
    } else {
        *sink = (struct dm_chan_sink){.arg = r, .write = rndv_cts_write, .done = rndv_cts_done};
    }
}

/* ---- read: the receiver fetches the data, or a part of them (split), a FIN ends the send ---- */

static void rndv_read_done(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    dm_p2p.n_reads--;
    if (r->rndv.select != NULL)
        dm_p2p_rndv_measured(r, err == DM_OK ? r->rndv.want - r->rndv.got : 0);
    if (err == DM_OK) {
        dm_p2p_rndv_fin(r);
    } else if (!dm_chan_is_lost(dm_world.chan, r->proc)) {
        dm_p2p_rndv_cts(r, NULL);
        return;
    }
    dm_p2p_req_step(r, err);
}

static bool rndv_read_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    size_t len = r->rndv.want - r->rndv.got;

    if (dm_p2p_split_begin(r, rts))
        return true;
    DM_TRACE(RNDV, "read from rank %d, %zu bytes", r->proc, len);
    r->io.rdma.done = rndv_read_done;
    r->is_reading = true;
    dm_p2p.n_reads++;
    if (dm_chan_rdma_read(dm_world.chan, r->proc, &r->io.rdma, r->addr + r->rndv.got, NULL,
                          rts->addr + r->rndv.got, &rts->key, r->rndv.want - r->rndv.got) == DM_OK)
        return true;
    r->is_reading = false;
    dm_p2p.n_reads--;
    if (r->rndv.select != NULL)
        dm_p2p_rndv_measured(r, 0);
    return false;
}

/* ---- write: the CTS says where to, a FIN ends the receive (DATUM_FIN=chained: see imm) ---- */

bool dm_p2p_rndv_describe(struct dm_p2p_req *r, struct dm_p2p_cts *where)
{
    if (dm_adapt_reg(dm_chan_adapt(dm_world.chan), r->addr, r->rndv.want, &r->rndv.mr) != DM_OK)
        return false;
    *where = (struct dm_p2p_cts){.addr = (uintptr_t)r->addr};
    dm_adapt_rkey(r->rndv.mr, &where->key);
    return true;
}

static bool rndv_write_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    struct dm_p2p_cts where;

    if (dm_cfg()->fin == DM_FIN_CHAINED)
        return rndv_value_start(r, rts);
    if (!dm_p2p_rndv_describe(r, &where))
        return false;
    dm_p2p_rndv_cts(r, &where);
    return true;
}

static void rndv_write_done(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    if (err == DM_OK) {
        dm_p2p_rndv_fin(r);
    } else if (!dm_chan_is_lost(dm_world.chan, r->proc)) {
        rndv_pipe_send(r);
        return;
    }
    dm_p2p_req_step(r, err);
}

static void rndv_write_send(struct dm_p2p_req *r)
{
    const struct dm_p2p_cts *cts = &r->rndv.head.cts;
    size_t at = r->rndv.got;
    int err;

    r->io.rdma.done = rndv_write_done;
    r->is_reading = true;
    err = dm_chan_rdma_write(dm_world.chan, r->proc, &r->io.rdma, r->addr + at, r->rndv.mr,
                             cts->addr + at, &cts->key, r->rndv.want - at);
    if (err != DM_OK)
        rndv_write_done(&r->io.rdma, err);
}

/* ---- imm: the CTS names a value, too; the write ends with it, and that ends the receive ---- */

static void rndv_value_done(struct dm_rdma *rdma, int err)
{
    struct dm_p2p_req *r = dm_container_of(rdma, struct dm_p2p_req, io.rdma);

    r->is_reading = false;
    dm_p2p_req_step(r, err);
}

/* When all values are in use it is a plain write. */
static bool rndv_value_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    struct dm_p2p_cts where;

    (void)rts;
    if (!dm_p2p_rndv_describe(r, &where))
        return false;
    r->io.rdma.done = rndv_value_done;
    where.has_value =
        dm_chan_expect_value(dm_world.chan, r->proc, &r->io.rdma, &where.value) == DM_OK;
    r->is_reading = where.has_value;
    dm_p2p_rndv_cts(r, &where);
    return true;
}

static void rndv_value_send(struct dm_p2p_req *r)
{
    const struct dm_p2p_cts *cts = &r->rndv.head.cts;
    size_t at = r->rndv.got;
    int err;

    dm_p2p.counts.n_fin += dm_cfg()->fin == DM_FIN_CHAINED;
    dm_p2p.counts.n_fin_chained += dm_cfg()->fin == DM_FIN_CHAINED;
    r->io.rdma.done = rndv_value_done;
    r->is_reading = true;
    err = dm_chan_rdma_write_value(dm_world.chan, r->proc, &r->io.rdma, r->addr + at, r->rndv.mr,
                                   cts->addr + at, &cts->key, r->rndv.want - at, cts->value);
    if (err != DM_OK)
        rndv_value_done(&r->io.rdma, err);
}

/* ---- pipe: a CTS without an address asks for DATA packets ---- */

static bool rndv_pipe_start(struct dm_p2p_req *r, const struct dm_p2p_rts *rts)
{
    (void)rts;
    if (dm_chan_is_lost(dm_world.chan, r->proc))
        dm_p2p_req_step(r, DM_EPEER);
    else
        dm_p2p_rndv_cts(r, NULL);
    return true;
}

static void rndv_push(struct dm_p2p_req *r, bool is_serial);
static void rndv_serial_sent(struct dm_chan_send *send, int err);

static void rndv_data_sent(struct dm_chan_send *send, int err)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    if (err == DM_OK && r->rndv.got < r->rndv.want)
        rndv_push(r, false);
    else
        dm_p2p_req_step(r, err);
}

/* Send the next piece; serial: one record, which is copied. */
static void rndv_push(struct dm_p2p_req *r, bool is_serial)
{
    size_t left = r->rndv.want - r->rndv.got;
    size_t most = is_serial
                      ? dm_chan_record_max(dm_world.chan, r->proc) - sizeof(struct dm_pkt_data)
                      : RNDV_PIECE;
    size_t len = left < most ? left : most;
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
    r->io.send.done = is_serial ? rndv_serial_sent : rndv_data_sent;
    r->io.send.data = r->addr != NULL && !is_serial ? r->addr + r->rndv.base : NULL;
    r->io.send.read = dm_p2p_read;
    (void)dm_chan_send(dm_world.chan, r->proc, &h.pkt, &r->io.send);
}

/* The channel's queue has it from now on, which reports a loss itself. */
static void rndv_hand_over(struct dm_p2p_req *r)
{
    r->is_active = false;
    dm_list_del(&r->active);
}

static void rndv_pipe_send(struct dm_p2p_req *r)
{
    rndv_hand_over(r);
    rndv_push(r, false);
}

static void rndv_data_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_req *r = arg;

    r->rndv.got += len;
    if (data != NULL)
        dm_p2p_place(r, r->rndv.base + offset, data, len);
}

/* All of a piece has come. */
static void rndv_data_done(void *arg)
{
    struct dm_p2p_req *r = arg;

    if (r->rndv.got == r->rndv.want)
        dm_p2p_req_step(r, DM_OK);
    else if (rndv_is_serial(r))
        dm_p2p_rndv_cts(r, NULL);
}

/* Each record of the pipe is copied straight to its place. */
static void on_data(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    const struct dm_pkt_data *h = (const struct dm_pkt_data *)(const void *)pkt;
    struct dm_p2p_req *r = (struct dm_p2p_req *)(uintptr_t)h->rreq;

    (void)arg;
    (void)proc;
    r->rndv.base = h->offset;
    if (avail == pkt->data_len) {
        rndv_data_write(r, 0, data, avail);
        rndv_data_done(r);
        return;
    }
    *sink = (struct dm_chan_sink){.arg = r,
                                  .place = r->addr != NULL ? r->addr + h->offset : NULL,
                                  .write = rndv_data_write,
                                  .done = rndv_data_done};
}

/*
 * ---- serial: the pipe without any overlap, to compare it with ----
 *
 * A piece is one record: copied into the ring, written, copied out, and then a CTS asks for the next.
 */

static void rndv_serial_sent(struct dm_chan_send *send, int err)
{
    struct dm_p2p_req *r = dm_container_of(send, struct dm_p2p_req, io.send);

    if (err == DM_OK && r->rndv.got < r->rndv.want)
        dm_p2p_req_activate(r); /* the next CTS */
    else
        dm_p2p_req_step(r, err);
}

static void rndv_serial_send(struct dm_p2p_req *r)
{
    rndv_hand_over(r);
    rndv_push(r, true);
}

void dm_p2p_rndv_proto_start(void)
{
    dm_chan_on_packet(dm_world.chan, DM_PKT_CTS, on_cts, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_DATA, on_data, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_FIN, on_fin, NULL);
    dm_p2p_split_listen();
}
