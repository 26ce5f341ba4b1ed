/*
 * Zero copy inside put and get: the sender's side, then the receiver's.
 */
#include "channel/zero_copy.h"

#include <stdlib.h>
#include <string.h>

#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

/* What is read at a time where the handler names no memory. */
#define BOUNCE_MAX ((size_t)1 << 20)

/* Payload of SOURCE. */
struct zc_source {
    uint64_t hdr[DM_PKT_MAX / 8]; /* of the packet */
    uint64_t addr;
    struct dm_rkey key;
};

/* TAKEN */
struct zc_taken {
    struct dm_pkt pkt;
    uint64_t got; /* bytes of the payload; less than all: send the rest */
};

struct dm_zero_copy {
    struct dm_chan *chan;
    struct dm_chan_peer *peer; /* NULL: gone; the read that is under way frees this object */
    struct {
        struct dm_chan_send *send; /* the packet that is offered, first in the queue */
        struct dm_mr *mr;
        struct dm_chan_send offer;
        struct zc_source source;
        bool is_due; /* the offer has not gone yet */
    } out;
    struct {
        struct dm_rdma rdma;
        struct zc_source source;
        struct dm_chan_sink sink; /* of the packet */
        size_t got;
        size_t len;   /* being read, */
        char *bounce; /* to here, or NULL: to the sink's place */
        bool is_reading;
        bool is_answer_due;
        struct dm_chan_send answer;
    } in;
};

bool dm_zero_copy_new(struct dm_chan *chan, struct dm_chan_peer *peer)
{
    if (dm_cfg()->rndv != DM_RNDV_ZEROCOPY || peer->conn == NULL)
        return true;
    peer->zero_copy = calloc(1, sizeof(*peer->zero_copy));
    if (peer->zero_copy == NULL)
        return false;
    peer->zero_copy->chan = chan;
    peer->zero_copy->peer = peer;
    return true;
}

/* ---- what goes next ---- */

struct dm_chan_send *dm_zero_copy_choose(const struct dm_chan_peer *peer)
{
    struct dm_chan_send *head = peer->queue.head;
    struct dm_zero_copy *zc = peer->zero_copy;

    if (zc->out.is_due && zc->out.offer.sent > 0)
        return &zc->out.offer;
    if (zc->in.is_answer_due && (head == NULL || head->sent == 0))
        return &zc->in.answer;
    if (zc->out.is_due)
        return &zc->out.offer;
    return head == zc->out.send ? NULL : head;
}

bool dm_zero_copy_is_offered(const struct dm_chan_peer *peer, const struct dm_chan_send *send)
{
    return peer->zero_copy != NULL && peer->zero_copy->out.send == send;
}

bool dm_zero_copy_is_busy(const struct dm_chan_peer *peer)
{
    const struct dm_zero_copy *zc = peer->zero_copy;

    return zc != NULL && (zc->in.is_reading || zc->in.is_answer_due);
}

/* ---- put: the sender ---- */

static void zc_offer_sent(struct dm_chan_send *send, int err)
{
    struct dm_zero_copy *zc = dm_container_of(send, struct dm_zero_copy, out.offer);

    (void)err; /* what is offered is given back with the queue */
    zc->out.is_due = false;
}

static bool zc_is_for(const struct dm_chan_peer *peer, const struct dm_chan_send *send)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;
    size_t max;

    if (send->data == NULL || send->sent > 0 || pkt->type == DM_PKT_PAYLOAD)
        return false;
    max = dm_adapt_eager_max(peer->conn);
    return max > 0 && pkt->hdr_len + (size_t)pkt->data_len > max;
}

static void zc_fill_offer(struct dm_zero_copy *zc)
{
    struct zc_source *source = &zc->out.source;
    struct dm_pkt pkt = {.type = DM_PKT_SOURCE,
                         .version = DM_PKT_VERSION,
                         .hdr_len = sizeof(pkt),
                         .data_len = sizeof(*source)};

    memcpy(source->hdr, zc->out.send->hdr, sizeof(source->hdr));
    source->addr = (uintptr_t)zc->out.send->data;
    dm_adapt_rkey(zc->out.mr, &source->key);
    zc->out.offer = (struct dm_chan_send){.done = zc_offer_sent, .data = source};
    memcpy(zc->out.offer.hdr, &pkt, sizeof(pkt));
    zc->out.is_due = true;
}

bool dm_zero_copy_offer(struct dm_chan_peer *peer, struct dm_chan_send *send)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;
    struct dm_zero_copy *zc = peer->zero_copy;

    if (dm_likely(zc == NULL) || !zc_is_for(peer, send))
        return false;
    if (dm_adapt_reg(zc->chan->adapt, (void *)(uintptr_t)send->data, pkt->data_len, &zc->out.mr) !=
        DM_OK)
        return false;
    DM_TRACE(CHAN, "rank %d may read %u bytes", peer->proc, pkt->data_len);
    zc->out.send = send;
    zc_fill_offer(zc);
    return true;
}

static void zc_withdraw(struct dm_zero_copy *zc)
{
    if (zc->out.send == NULL)
        return;
    dm_adapt_unreg(zc->chan->adapt, zc->out.mr);
    zc->out.send = NULL;
    zc->out.is_due = false;
}

/* The peer has read so much of what was offered: the put is over, or goes on with the rest. */
static void zc_taken(struct dm_zero_copy *zc, size_t got)
{
    struct dm_chan_send *send = zc->out.send;
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;
    size_t len = pkt->data_len;

    zc_withdraw(zc);
    if (got >= len) {
        (void)dm_chan_queue_take(&zc->peer->queue);
        send->done(send, DM_OK);
    } else {
        struct dm_pkt rest = {.type = DM_PKT_PAYLOAD,
                              .version = DM_PKT_VERSION,
                              .hdr_len = sizeof(rest),
                              .data_len = (uint32_t)(len - got)};

        memcpy(send->hdr, &rest, sizeof(rest));
        send->data = (const char *)send->data + got;
    }
    (void)dm_chan_push(zc->chan, zc->peer);
}

static void on_taken(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                     struct dm_chan_sink *sink)
{
    const struct zc_taken *taken = (const struct zc_taken *)(const void *)pkt;
    struct dm_chan *chan = arg;
    struct dm_zero_copy *zc = chan->peers[proc]->zero_copy;
    char text[DM_PROC_TEXT_MAX];

    (void)data;
    (void)avail;
    (void)sink;
    if (zc->out.send != NULL && zc->out.send == zc->peer->queue.head)
        zc_taken(zc, taken->got);
    else
        dm_log_error("%s has read what was not offered",
                     dm_adapt_proc_text(chan->adapt, proc, text, sizeof(text)));
}

/* ---- get: the receiver ---- */

static uint32_t zc_data_len(const struct dm_zero_copy *zc)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)zc->in.source.hdr;

    return pkt->data_len;
}

static void zc_answered(struct dm_chan_send *send, int err)
{
    struct dm_zero_copy *zc = dm_container_of(send, struct dm_zero_copy, in.answer);

    (void)err;
    zc->in.is_answer_due = false;
}

static void zc_answer(struct dm_zero_copy *zc)
{
    struct zc_taken taken = {
        .pkt = {.type = DM_PKT_TAKEN, .version = DM_PKT_VERSION, .hdr_len = sizeof(taken)},
        .got = zc->in.got,
    };

    zc->in.answer = (struct dm_chan_send){.done = zc_answered};
    memcpy(zc->in.answer.hdr, &taken, sizeof(taken));
    zc->in.is_answer_due = true;
    (void)dm_chan_push(zc->chan, zc->peer);
}

/* The packet's handler hears of what was read; all of it: of the end, too. */
static void zc_feed(struct dm_zero_copy *zc, size_t len)
{
    const struct dm_chan_sink *sink = &zc->in.sink;

    zc->chan->depth++;
    sink->write(sink->arg, zc->in.got, zc->in.bounce, len);
    zc->in.got += len;
    if (zc->in.got == zc_data_len(zc))
        sink->done(sink->arg);
    zc->chan->depth--;
}

static void zc_read(struct dm_zero_copy *zc);

static void zc_read_done(struct dm_rdma *rdma, int err)
{
    struct dm_zero_copy *zc = dm_container_of(rdma, struct dm_zero_copy, in.rdma);

    zc->in.is_reading = false;
    if (zc->peer == NULL) {
        free(zc->in.bounce);
        free(zc);
        return;
    }
    if (zc->peer->is_lost) {
        dm_chan_note_lost(zc->chan, zc->peer);
        return;
    }
    if (err == DM_OK)
        zc_feed(zc, zc->in.len);
    if (err == DM_OK && zc->in.got < zc_data_len(zc)) {
        zc_read(zc);
        return;
    }
    free(zc->in.bounce);
    zc->in.bounce = NULL;
    zc_answer(zc);
}

/* The next bytes: all, or what the bounce buffer takes. */
static void zc_read(struct dm_zero_copy *zc)
{
    size_t left = zc_data_len(zc) - zc->in.got;
    char *to = zc->in.bounce != NULL ? zc->in.bounce : zc->in.sink.place;
    int err;

    zc->in.len = zc->in.bounce != NULL && left > BOUNCE_MAX ? BOUNCE_MAX : left;
    zc->in.rdma.done = zc_read_done;
    zc->in.is_reading = true;
    err = dm_chan_rdma_read(zc->chan, zc->peer->proc, &zc->in.rdma, to, NULL,
                            zc->in.source.addr + zc->in.got, &zc->in.source.key, zc->in.len);
    if (err != DM_OK)
        zc_read_done(&zc->in.rdma, err);
}

/* All of a SOURCE is there. */
static void zc_source_done(void *arg)
{
    struct dm_zero_copy *zc = arg;
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)zc->in.source.hdr;
    size_t len = pkt->data_len < BOUNCE_MAX ? pkt->data_len : BOUNCE_MAX;

    zc->in.sink = (struct dm_chan_sink){.arg = NULL};
    zc->in.got = 0;
    if (!dm_chan_deliver(zc->chan, zc->peer->proc, pkt, NULL, 0, &zc->in.sink)) {
        dm_chan_peer_lost(zc->chan, zc->peer, DM_EINTERN);
        return;
    }
    if (zc->in.sink.place == NULL)
        zc->in.bounce = malloc(len);
    if (zc->in.sink.place == NULL && zc->in.bounce == NULL)
        zc_answer(zc);
    else
        zc_read(zc);
}

static void zc_source_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_zero_copy *zc = arg;

    memcpy((char *)&zc->in.source + offset, data, len);
}

static void on_source(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                      struct dm_chan_sink *sink)
{
    struct dm_chan *chan = arg;
    struct dm_zero_copy *zc = chan->peers[proc]->zero_copy;

    if (avail < pkt->data_len) {
        *sink = (struct dm_chan_sink){.arg = zc, .write = zc_source_write, .done = zc_source_done};
        return;
    }
    zc_source_write(zc, 0, data, avail);
    zc_source_done(zc);
}

static void zc_rest_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_zero_copy *zc = arg;

    zc->in.sink.write(zc->in.sink.arg, zc->in.got + offset, data, len);
}

static void zc_rest_done(void *arg)
{
    struct dm_zero_copy *zc = arg;

    zc->in.sink.done(zc->in.sink.arg);
}

/* What could not be read comes through the ring. */
static void on_payload(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                       size_t avail, struct dm_chan_sink *sink)
{
    struct dm_chan *chan = arg;
    struct dm_zero_copy *zc = chan->peers[proc]->zero_copy;

    if (avail < pkt->data_len) {
        *sink = (struct dm_chan_sink){.arg = zc, .write = zc_rest_write, .done = zc_rest_done};
        return;
    }
    zc_rest_write(zc, 0, data, avail);
    zc_rest_done(zc);
}

/* ---- start and end ---- */

void dm_zero_copy_start(struct dm_chan *chan)
{
    const struct {
        enum dm_pkt_type type;
        dm_pkt_handler fn;
    } rows[] = {{DM_PKT_SOURCE, on_source}, {DM_PKT_TAKEN, on_taken}, {DM_PKT_PAYLOAD, on_payload}};

    if (dm_cfg()->rndv != DM_RNDV_ZEROCOPY)
        return;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        chan->handlers[rows[i].type] = (struct dm_chan_handler){.fn = rows[i].fn, .arg = chan};
}

bool dm_zero_copy_lose(struct dm_chan_peer *peer)
{
    struct dm_zero_copy *zc = peer->zero_copy;

    if (zc == NULL)
        return false;
    zc_withdraw(zc);
    zc->in.is_answer_due = false;
    if (zc->in.is_reading)
        return true;
    free(zc->in.bounce);
    zc->in.bounce = NULL;
    return false;
}

void dm_zero_copy_free(struct dm_chan_peer *peer)
{
    struct dm_zero_copy *zc = peer->zero_copy;

    peer->zero_copy = NULL;
    if (zc == NULL)
        return;
    zc_withdraw(zc);
    if (zc->in.is_reading) {
        zc->peer = NULL;
        return;
    }
    free(zc->in.bounce);
    free(zc);
}
