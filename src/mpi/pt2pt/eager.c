/*
 * Eager messages as they arrive: into the buffer of the receive that was posted, or
 * into memory of our own until one comes.
 */
#include "mpi/pt2pt/p2p.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/match_inl.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/port.h"
#include "util/copy.h"

void dm_p2p_place(struct dm_p2p_req *r, size_t offset, const void *data, size_t len)
{
    if (offset >= r->len)
        return;
    if (len > r->len - offset)
        len = r->len - offset;
    if (r->addr != NULL)
        dm_copy(r->addr + offset, data, len);
    else if (len > 0)
        dm_type_unpack(r->buf, r->count, r->type, offset, data, len);
}

void dm_p2p_place_unexp(struct dm_p2p_req *r, const struct dm_p2p_unexp *u)
{
    dm_p2p_place(r, 0, u->data, u->len);
    dm_clock_copied(u->len);
}

void dm_p2p_matched(struct dm_p2p_req *r, int proc, const struct dm_mkey *key, size_t len)
{
    r->is_posted = false;
    r->proc = proc;
    r->msg_len = len;
    r->req.status.MPI_SOURCE = key->source;
    r->req.status.MPI_TAG = key->tag;
    if (dm_unlikely(len > r->len)) {
        r->req.err = DM_ERR_TRUNCATE;
        len = r->len;
    } else if (dm_unlikely(len < r->len && r->addr == NULL) && proc != dm_world.rank &&
               dm_type_elements_of(r->type, len) == MPI_UNDEFINED) {
        r->req.err = DM_ERR_TRUNCATE; /* as MPICH has it */
    }
    dm_status_set_bytes(&r->req.status, len);
}

void dm_p2p_ack(int proc, uint64_t sreq)
{
    struct dm_pkt_answer ack = {
        .pkt = {.type = DM_PKT_ACK, .version = DM_PKT_VERSION, .hdr_len = sizeof(ack)},
        .sreq = sreq,
    };

    if (dm_chan_send_ctl(dm_world.chan, proc, &ack.pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for an acknowledgement");
}

struct dm_p2p_unexp *dm_p2p_unexp_new(int proc, const struct dm_pkt_eager *h, size_t len)
{
    struct dm_p2p_unexp *u = dm_pool_get(&dm_p2p.unexps);

    if (u == NULL)
        dm_p2p_fatal("no memory for an unexpected message");
    dm_list_init(&u->arriving);
    u->nodes[0].key = h->key;
    u->proc = proc;
    u->id = h->id;
    u->type = h->pkt.type;
    u->is_complete = false;
    u->is_broken = false;
    u->len = len;
    u->sreq = h->pkt.hdr_len >= sizeof(struct dm_pkt_sync)
                  ? ((const struct dm_pkt_sync *)(const void *)h)->sreq
                  : 0;
    u->claimed = NULL;
    u->data = u->small;
    return u;
}

/*
 * Memory for the data of unexpected messages is kept for the next ones: the C library would often
 * give it back to the kernel, which clears each page again.
 */
bool dm_p2p_unexp_buffer(struct dm_p2p_unexp *u, size_t len)
{
    struct dm_p2p_buffers *buffers = &dm_p2p.buffers;
    int i = 0;

    if (len <= (u->type == DM_PKT_RTS ? 0 : sizeof(u->small)))
        return true;
    while (i < DM_P2P_N_BUFFERS && len > DM_P2P_BUFFER_MIN << i)
        i++;
    u->space = (uint8_t)i;
    if (i < DM_P2P_N_BUFFERS && buffers->free[i] != NULL) {
        u->data = (char *)buffers->free[i];
        buffers->free[i] = buffers->free[i]->next;
        buffers->n_bytes -= DM_P2P_BUFFER_MIN << i;
        return true;
    }
    u->data = malloc(i < DM_P2P_N_BUFFERS ? DM_P2P_BUFFER_MIN << i : len);
    return u->data != NULL;
}

static void unexp_buffer_put(struct dm_p2p_unexp *u)
{
    struct dm_p2p_buffers *buffers = &dm_p2p.buffers;
    struct dm_p2p_buffer *space = (struct dm_p2p_buffer *)(void *)u->data;

    if (u->space == DM_P2P_N_BUFFERS ||
        buffers->n_bytes + (DM_P2P_BUFFER_MIN << u->space) > DM_P2P_BUFFERS_MAX) {
        free(u->data);
        return;
    }
    space->next = buffers->free[u->space];
    buffers->free[u->space] = space;
    buffers->n_bytes += DM_P2P_BUFFER_MIN << u->space;
}

void dm_p2p_buffers_free(void)
{
    for (int i = 0; i < DM_P2P_N_BUFFERS; i++) {
        struct dm_p2p_buffer *space = dm_p2p.buffers.free[i], *next;

        for (; space != NULL; space = next) {
            next = space->next;
            free(space);
        }
    }
    dm_p2p.buffers = (struct dm_p2p_buffers){0};
}

void dm_p2p_unexp_free(struct dm_p2p_unexp *u)
{
    if (u->type != DM_PKT_RTS)
        dm_p2p_flow_drop(&dm_p2p.flow, u);
    if (u->data != u->small)
        unexp_buffer_put(u);
    dm_pool_put(&dm_p2p.unexps, u);
}

/* ---- data in pieces ---- */

static void recv_write(void *arg, size_t offset, const void *data, size_t len)
{
    if (data != NULL)
        dm_p2p_place(arg, offset, data, len);
}

static void eager_recv_done(void *arg)
{
    dm_p2p_req_step(arg, DM_OK);
}

static void unexp_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct dm_p2p_unexp *u = arg;

    if (data != NULL)
        dm_copy(u->data + offset, data, len);
}

static void unexp_done(void *arg)
{
    struct dm_p2p_unexp *u = arg;
    struct dm_p2p_req *r = u->claimed;

    dm_list_del(&u->arriving);
    u->is_complete = true;
    if (r == NULL)
        return;
    dm_p2p_place_unexp(r, u);
    dm_p2p_unexp_free(u);
    dm_p2p_req_step(r, DM_OK);
}

/* Nobody waits for it. */
static DM_NOINLINE void eager_keep(int proc, const struct dm_pkt_eager *h, const void *data,
                                   size_t avail, struct dm_chan_sink *sink)
{
    struct dm_p2p_unexp *u = dm_p2p_unexp_new(proc, h, h->pkt.data_len);

    DM_TRACE(MATCH, "unexpected from rank %d, tag %d, %zu bytes", proc, h->key.tag, u->len);
    if (!dm_p2p_unexp_buffer(u, u->len))
        dm_p2p_fatal("no memory for the data of an unexpected message");
    dm_match_add_unexp(&dm_p2p.match, u->nodes, &u->nodes[0].key);
    dm_event_raise(DM_EVENT_UNEXPECTED, h->key.ctx, h->key.source, h->key.tag, u->len);
    dm_p2p_flow_keep(&dm_p2p.flow, u);
    if (avail == u->len) {
        if (avail > 0)
            dm_copy(u->data, data, avail);
        u->is_complete = true;
        return;
    }
    dm_list_add_tail(&dm_p2p.arriving, &u->arriving);
    *sink =
        (struct dm_chan_sink){.arg = u, .place = u->data, .write = unexp_write, .done = unexp_done};
}

static inline void eager_arrive(int proc, const struct dm_pkt_eager *h, const void *data,
                                size_t avail, struct dm_chan_sink *sink)
{
    struct dm_mnode *node = dm_match_take(&dm_p2p.match, &h->key);
    size_t len = h->pkt.data_len;
    struct dm_p2p_req *r;

    if (dm_unlikely(node == NULL)) {
        eager_keep(proc, h, data, avail, sink);
        return;
    }
    r = dm_container_of(node, struct dm_p2p_req, node);
    dm_p2p_matched(r, proc, &h->key, len);
    if (dm_unlikely(avail != len)) {
        dm_p2p_req_activate(r);
        *sink = (struct dm_chan_sink){.arg = r,
                                      .place = len <= r->len ? r->addr : NULL,
                                      .write = recv_write,
                                      .done = eager_recv_done};
        return;
    }
    if (dm_likely(r->addr != NULL && len <= r->len)) {
        if (len == 8)
            memcpy(r->addr, data, 8);
        else if (len > 0)
            dm_copy(r->addr, data, len);
    } else if (len > 0) {
        dm_p2p_place(r, 0, data, len);
    }
    dm_p2p_req_step(r, DM_OK);
}

static void on_eager(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                     struct dm_chan_sink *sink)
{
    (void)arg;
    eager_arrive(proc, (const struct dm_pkt_eager *)(const void *)pkt, data, avail, sink);
}

static void on_eager_sync(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                          size_t avail, struct dm_chan_sink *sink)
{
    const struct dm_pkt_eager *h = (const struct dm_pkt_eager *)(const void *)pkt;
    uint64_t sreq = ((const struct dm_pkt_sync *)(const void *)pkt)->sreq;
    size_t n_unexp = dm_p2p.match.n_unexp;

    (void)arg;
    eager_arrive(proc, h, data, avail, sink);
    if (dm_p2p.match.n_unexp == n_unexp)
        dm_p2p_ack(proc, sreq);
}

/* The same while messages are tallied. */
static void on_eager_tallied(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                             size_t avail, struct dm_chan_sink *sink)
{
    dm_p2p_tally_arrived(&((const struct dm_pkt_eager *)(const void *)pkt)->key, pkt->data_len);
    on_eager(arg, proc, pkt, data, avail, sink);
}

static void on_eager_sync_tallied(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                                  size_t avail, struct dm_chan_sink *sink)
{
    dm_p2p_tally_arrived(&((const struct dm_pkt_eager *)(const void *)pkt)->key, pkt->data_len);
    on_eager_sync(arg, proc, pkt, data, avail, sink);
}

static void on_ack(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                   struct dm_chan_sink *sink)
{
    const struct dm_pkt_answer *ack = (const struct dm_pkt_answer *)(const void *)pkt;

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    dm_p2p_req_step((struct dm_p2p_req *)(uintptr_t)ack->sreq, DM_OK);
}

void dm_p2p_eager_tally(bool is_on)
{
    dm_chan_on_packet(dm_world.chan, DM_PKT_EAGER, is_on ? on_eager_tallied : on_eager, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_EAGER_SYNC,
                      is_on ? on_eager_sync_tallied : on_eager_sync, NULL);
}

void dm_p2p_eager_start(void)
{
    dm_p2p_eager_tally(false);
    dm_chan_on_packet(dm_world.chan, DM_PKT_ACK, on_ack, NULL);
}
