/*
 * Short packets whose payload is copied where it cannot go at once, so that nobody has to wait for it.
 */
#include "channel/channel.h"

#include <string.h>

#include "channel/chan.h"
#include "util/err.h"
#include "util/port.h"

/* So many copies may wait for one peer: more than a record takes of them. */
#define COPIES_MAX 256

static void ctl_done(struct dm_chan_send *send, int err)
{
    struct dm_chan_ctl *ctl = dm_container_of(send, struct dm_chan_ctl, send);
    struct dm_chan_peer *peer = ctl->chan->peers[ctl->proc];

    (void)err; /* the listener is told of the lost peer */
    if (peer != NULL)
        peer->n_copies--;
    dm_pool_put(&ctl->chan->ctl, ctl);
}

/* Behind what is queued already. */
static DM_NOINLINE int small_queue(struct dm_chan *chan, int proc, const struct dm_pkt *pkt,
                                   const void *data)
{
    struct dm_chan_peer *peer = dm_chan_peer(chan, proc);
    struct dm_chan_ctl *ctl = peer != NULL ? dm_pool_get(&chan->ctl) : NULL;

    if (ctl == NULL)
        return DM_FAIL(DM_ENOMEM, "control packet of %d bytes", pkt->hdr_len);
    ctl->chan = chan;
    ctl->proc = proc;
    peer->n_copies++;
    ctl->send.done = ctl_done;
    ctl->send.data = pkt->data_len > 0 ? ctl->data : NULL;
    ctl->send.read = NULL;
    if (pkt->data_len > 0)
        memcpy(ctl->data, data, pkt->data_len);
    return dm_chan_send(chan, proc, pkt, &ctl->send);
}

int dm_chan_send_ctl(struct dm_chan *chan, int proc, const struct dm_pkt *pkt)
{
    return dm_chan_send_small(chan, proc, pkt, NULL);
}

int dm_chan_send_small(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data)
{
    int err = dm_chan_send_now(chan, proc, pkt, data);

    return err != DM_EAGAIN ? err : small_queue(chan, proc, pkt, data);
}

int dm_chan_send_copy(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data)
{
    const struct dm_chan_peer *peer = chan->peers[proc];

    if (peer == NULL || peer->conn == NULL || peer->is_lost || peer->n_copies >= COPIES_MAX ||
        !dm_adapt_is_oversubscribed(chan->adapt) || !dm_adapt_eager_is_open(peer->conn))
        return DM_EAGAIN;
    return small_queue(chan, proc, pkt, data);
}
