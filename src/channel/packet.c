/*
 * The parser: cuts the bytes of a pipe into packets and calls their handlers.
 *
 * A packet that lies whole in one record is handed over in place. Otherwise its
 * header is gathered in the peer's parser and its payload fed to the sink that the handler
 * gave. Either can be cut at any byte.
 */
#include "channel/channel.h"

#include <string.h>

#include "channel/chan.h"
#include "util/err.h"
#include "util/log.h"

/* Records taken from one peer before the others get their turn. */
#define BURST 64
/* Bytes of a packet that ends a turn. */
#define SHORT 1024

bool dm_chan_deliver(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data,
                     size_t avail, struct dm_chan_sink *sink)
{
    const struct dm_chan_handler *h;
    char text[DM_PROC_TEXT_MAX];

    if (dm_unlikely(pkt->version != DM_PKT_VERSION || pkt->type >= DM_PKT_N)) {
        dm_log_error("%s sent a packet of type %d, version %d; this library speaks "
                     "version %d: do all processes load the same library?",
                     dm_adapt_proc_text(chan->adapt, proc, text, sizeof(text)), pkt->type,
                     pkt->version, DM_PKT_VERSION);
        return false;
    }
    h = &chan->handlers[pkt->type];
    if (dm_unlikely(h->fn == NULL)) {
        dm_log_error("%s sent a packet of type %d that nobody here takes",
                     dm_adapt_proc_text(chan->adapt, proc, text, sizeof(text)), pkt->type);
        return false;
    }
    h->fn(h->arg, proc, pkt, data, avail, sink);
    return true;
}

/* Is the length of this header possible? */
static bool pkt_is_sane(const struct dm_pkt *pkt)
{
    return pkt->hdr_len >= sizeof(*pkt) && pkt->hdr_len <= DM_PKT_MAX && pkt->hdr_len % 8 == 0;
}

/* A whole header is in p->hdr; avail bytes of payload are at data. Returns bytes used, 0 included. */
static bool pkt_begin(struct dm_chan *chan, struct dm_chan_peer *peer, const char *data, size_t len,
                      size_t *used_p)
{
    struct dm_chan_parser *p = &peer->in;
    struct dm_pkt *pkt = (struct dm_pkt *)(void *)p->hdr;
    size_t avail = len < pkt->data_len ? len : pkt->data_len;

    p->hdr_got = 0;
    *used_p = 0;
    if (avail == pkt->data_len) {
        *used_p = avail;
        return dm_chan_deliver(chan, peer->proc, pkt, data, avail, &p->sink);
    }
    p->data_len = pkt->data_len;
    p->offset = 0;
    if (!dm_chan_deliver(chan, peer->proc, pkt, data, avail, &p->sink))
        return false;
    p->is_payload = true;
    return true;
}

/* Gather the header; *used_p bytes used. False: the stream makes no sense. */
static bool pkt_gather(struct dm_chan *chan, struct dm_chan_peer *peer, const char *data,
                       size_t len, size_t *used_p)
{
    struct dm_chan_parser *p = &peer->in;
    struct dm_pkt *pkt = (struct dm_pkt *)(void *)p->hdr;
    size_t want = p->hdr_got < sizeof(*pkt) ? sizeof(*pkt) : pkt->hdr_len;
    size_t used = 0, more;

    while (p->hdr_got < want) {
        size_t n = want - p->hdr_got;

        if (n > len - used)
            n = len - used;
        memcpy((char *)p->hdr + p->hdr_got, data + used, n);
        p->hdr_got += (uint32_t)n;
        used += n;
        if (p->hdr_got < want) {
            *used_p = used;
            return true;
        }
        if (want == sizeof(*pkt)) {
            if (!pkt_is_sane(pkt))
                return false;
            want = pkt->hdr_len;
        }
    }
    if (!pkt_begin(chan, peer, data + used, len - used, &more))
        return false;
    *used_p = used + more;
    return true;
}

static size_t pkt_feed(struct dm_chan_peer *peer, const char *data, size_t len)
{
    struct dm_chan_parser *p = &peer->in;
    size_t n = p->data_len - p->offset;

    if (n > len)
        n = len;
    p->sink.write(p->sink.arg, p->offset, data, n);
    p->offset += n;
    if (p->offset == p->data_len) {
        p->is_payload = false;
        p->sink.done(p->sink.arg);
    }
    return n;
}

/* Take all of one record. False: the stream makes no sense. */
static bool pkt_parse(struct dm_chan *chan, struct dm_chan_peer *peer, const char *data, size_t len)
{
    struct dm_chan_parser *p = &peer->in;

    while (len > 0) {
        const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)data;
        size_t used;

        if (p->is_payload) {
            used = pkt_feed(peer, data, len);
        } else if (dm_likely(p->hdr_got == 0 && len >= sizeof(*pkt) && (uintptr_t)data % 8 == 0 &&
                             pkt_is_sane(pkt) && pkt->hdr_len + (size_t)pkt->data_len <= len)) {
            used = pkt->hdr_len + (size_t)pkt->data_len;
            if (!dm_chan_deliver(chan, peer->proc, pkt, data + pkt->hdr_len, pkt->data_len,
                                 &p->sink))
                return false;
        } else if (!pkt_gather(chan, peer, data, len, &used)) {
            return false;
        }
        data += used;
        len -= used;
    }
    return true;
}

/* A record that is one whole packet. False: it is something else; nothing was done. */
static inline bool pkt_parse_whole(struct dm_chan *chan, struct dm_chan_peer *peer,
                                   const char *data, size_t len)
{
    const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)data;
    const struct dm_chan_handler *h;

    if (dm_unlikely(peer->in.is_payload || peer->in.hdr_got > 0 || (uintptr_t)data % 8 != 0 ||
                    len < sizeof(*pkt)))
        return false;
    if (dm_unlikely(!pkt_is_sane(pkt) || pkt->hdr_len + (size_t)pkt->data_len != len ||
                    pkt->version != DM_PKT_VERSION || pkt->type >= DM_PKT_N))
        return false;
    h = &chan->handlers[pkt->type];
    if (dm_unlikely(h->fn == NULL))
        return false;
    h->fn(h->arg, peer->proc, pkt, data + pkt->hdr_len, pkt->data_len, &peer->in.sink);
    return true;
}

void dm_chan_input(void *arg, int proc, struct dm_conn *conn)
{
    struct dm_chan *chan = arg;
    struct dm_chan_peer *peer = dm_chan_peer(chan, proc);
    char text[DM_PROC_TEXT_MAX];

    /* Inside a handler: the next poll calls again. */
    if (dm_unlikely(chan->depth > 0 || chan->n_handlers == 0 || peer == NULL || peer->is_lost))
        return;
    chan->depth++;
    for (int i = 0; i < BURST; i++) {
        const void *data;
        size_t len = dm_adapt_eager_peek(conn, &data);

        if (len == 0)
            break;
        if (dm_likely(pkt_parse_whole(chan, peer, data, len))) {
            dm_adapt_eager_consume(conn, len);
            /* Whoever waits for a short packet should not wait for another look; answers may. */
            if (len < SHORT && (chan->todo & DM_TODO_SEND) == 0)
                break;
            continue;
        }
        if (dm_unlikely(!pkt_parse(chan, peer, data, len))) {
            dm_log_error("the stream of %s makes no sense: giving it up",
                         dm_adapt_proc_text(chan->adapt, proc, text, sizeof(text)));
            dm_chan_peer_lost(chan, peer, DM_EINTERN);
            break;
        }
        dm_adapt_eager_consume(conn, len);
    }
    chan->depth--;
}
