/*
 * Rendezvous: the sender announces a message with an RTS, which matches like a message, and offers a
 * protocol; the receiver has the data moved (rndv_proto.c).
 */
#include "mpi/pt2pt/rndv_proto.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/match_inl.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

#define RTS_FIRST_MAX ((size_t)4096) /* bytes of a message in its RTS (DATUM_RNDV_INLINE) */

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
        dm_p2p_pack(r, offset + n - sizeof(*rts), (char *)dst + n, len - n);
}

/* For tools: messages of the program. */
static void rts_raise(const struct dm_p2p_req *r, const struct dm_mkey *key)
{
    const struct dm_comm *comm = r->req.comm;
    const struct dm_group *group = comm->remote != NULL ? comm->remote : comm->group;

    if (dm_event_wanted() != 0 && key->ctx == comm->ctx_send)
        dm_event_raise(DM_EVENT_RNDV, comm->ctx, dm_group_rank_of(group, r->proc), key->tag,
                       r->len);
}

/* Make the request a rendezvous, with this header for its packet. */
static void rts_prepare(struct dm_p2p_req *r, const struct dm_mkey *key, struct dm_pkt_sync *h)
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
        rts->first_len = (uint32_t)(r->len < RTS_FIRST_MAX ? r->len : RTS_FIRST_MAX);
    r->rndv.got = rts->first_len;
    if (r->is_waited)
        rts->helps_until = dm_chan_polls_until(dm_world.chan);
    dm_p2p.flow.n_deferred += r->len <= dm_p2p.eager_limit;
    dm_p2p.n_offers += !r->rndv.is_offer;
    r->rndv.is_offer = true;
    rts->fetches = (uint16_t)dm_chan_rndv_in_exchange(dm_world.chan, r->proc, r->len);
    dm_p2p_rndv_offer(r, rts);
    DM_TRACE(RNDV, "rts to rank %d, tag %d, %zu bytes", r->proc, key->tag, r->len);
    dm_p2p.counts.n_rts++;
    rts_raise(r, key);
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

    rts_prepare(r, key, &h);
    (void)dm_chan_send(dm_world.chan, r->proc, &h.pkt, &r->io.send);
}

void dm_p2p_rndv_instead(struct dm_p2p_req *r)
{
    struct dm_pkt_sync h;

    rts_prepare(r, &r->node.key, &h);
    memcpy(r->io.send.hdr, &h, sizeof(h));
    r->req.n_pending = 1 + r->is_recalling; /* the answers */
}

/* ---- receiving ---- */

void dm_p2p_rndv_recv(struct dm_p2p_req *r, const struct dm_p2p_unexp *u)
{
    const struct dm_p2p_rts *rts = &u->rts;

    r->rndv.peer_req = u->sreq;
    r->rndv.want = rts->len < r->len ? rts->len : r->len;
    r->rndv.got = rts->first_len < r->rndv.want ? rts->first_len : r->rndv.want;
    if (r->rndv.got > 0)
        dm_p2p_place(r, 0, u->data, r->rndv.got);
    if (r->rndv.got == r->rndv.want) {
        dm_p2p_rndv_fin(r);
        dm_p2p_req_step(r, DM_OK);
        return;
    }
    dm_p2p_rndv_fetch(r, rts);
}

/* ---- the request to send arrives ---- */

static void rts_arrived(struct dm_p2p_unexp *u)
{
    struct dm_mnode *node = dm_match_take(&dm_p2p.match, &u->nodes[0].key);

    dm_list_del(&u->arriving);
    u->len = u->rts.len;
    u->is_complete = true;
    if (dm_unlikely(dm_p2p.is_tallied))
        dm_p2p_tally_arrived(&u->nodes[0].key, u->len);
    if (node != NULL) {
        dm_p2p_recv_unexp(dm_container_of(node, struct dm_p2p_req, node), u);
        return;
    }
    dm_match_add_unexp(&dm_p2p.match, u->nodes, &u->nodes[0].key);
    dm_event_raise(DM_EVENT_UNEXPECTED, u->nodes[0].key.ctx, u->nodes[0].key.source,
                   u->nodes[0].key.tag, u->len);
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
    dm_p2p_rndv_proto_start();
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
        {"  FIN, chained", "", counts->n_fin_chained},
        {"  DATA", "", counts->n_data},
        {"messages moved by both sides", "", counts->n_split},
    };
    int n = 0;

    for (; n < max && n < (int)(sizeof(rows) / sizeof(rows[0])); n++)
        stats[n] = rows[n];
    return n;
}
