/*
 * Talking to oneself. Packets: handed over at once when no handler runs and none is queued,
 * else queued like packets to anybody and delivered by the next pass; the
 * payload lies in the sender's memory, so it is copied once.
 */
#include "channel/channel.h"

#include "channel/chan.h"
#include "util/err.h"

#define PIECE_LEN 4096

int dm_chan_self_now(struct dm_chan *chan, const struct dm_pkt *pkt, const void *data)
{
    struct dm_chan_sink sink;
    bool ok;

    if (chan->depth > 0)
        return DM_EAGAIN;
    chan->depth++;
    ok = dm_chan_deliver(chan, chan->rank, pkt, data, pkt->data_len, &sink);
    chan->depth--;
    return ok ? DM_OK : DM_FAIL(DM_EINTERN, "packet of type %d to oneself", pkt->type);
}

/* Payload that the sender produces piece by piece. */
static bool self_deliver_pieces(struct dm_chan *chan, struct dm_chan_send *send,
                                const struct dm_pkt *pkt)
{
    struct dm_chan_sink sink;
    char piece[PIECE_LEN];

    if (pkt->data_len <= PIECE_LEN) {
        send->read(send, 0, piece, pkt->data_len);
        return dm_chan_deliver(chan, chan->rank, pkt, piece, pkt->data_len, &sink);
    }
    if (!dm_chan_deliver(chan, chan->rank, pkt, NULL, 0, &sink))
        return false;
    for (size_t at = 0; at < pkt->data_len;) {
        size_t len = pkt->data_len - at < PIECE_LEN ? pkt->data_len - at : PIECE_LEN;

        send->read(send, at, piece, len);
        sink.write(sink.arg, at, piece, len);
        at += len;
    }
    sink.done(sink.arg);
    return true;
}

int dm_chan_work_self(struct dm_chan *chan)
{
    struct dm_chan_peer *peer = chan->peers[chan->rank];
    int n = 0;

    chan->todo &= ~(unsigned)DM_TODO_SELF;
    while (peer->queue.head != NULL && n < 64) {
        struct dm_chan_send *send = dm_chan_queue_take(&peer->queue);
        const struct dm_pkt *pkt = (const struct dm_pkt *)(const void *)send->hdr;
        struct dm_chan_sink sink;
        bool ok;

        chan->depth++;
        if (pkt->data_len > 0 && send->data == NULL)
            ok = self_deliver_pieces(chan, send, pkt);
        else
            ok = dm_chan_deliver(chan, chan->rank, pkt, send->data, pkt->data_len, &sink);
        send->done(send, ok ? DM_OK : DM_EINTERN);
        chan->depth--;
        n++;
    }
    if (peer->queue.head != NULL)
        chan->todo |= DM_TODO_SELF;
    return n;
}
