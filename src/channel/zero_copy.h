/*
 * Zero copy inside put and get (Liu et al. 2004, section 5; DATUM_RNDV=zerocopy).
 *
 * A put of a packet that is longer than a record, and whose payload lies in one piece, registers the
 * payload and sends a SOURCE packet in its place: the packet's header, the payload's address and key.
 * The put has taken nothing so far, so the packet stays first in its queue. The peer's get calls the
 * packet's handler, reads the payload by RDMA, into the memory that the handler names if it does, and
 * answers with TAKEN. Then the put has taken all. If a read fails TAKEN says how much has come, and the
 * sender's next packet is PAYLOAD, with the rest.
 *
 * Between SOURCE and its TAKEN nothing goes but the TAKEN for the peer's own SOURCE: so the pipe stays
 * in order, and two processes that offer at the same time do not wait for each other.
 */
#ifndef DM_CHANNEL_ZERO_COPY_H
#define DM_CHANNEL_ZERO_COPY_H

#include "channel/chan.h"

struct dm_zero_copy; /* of a peer, with the setting only */

/* Register the handlers, if the setting says so. */
void dm_zero_copy_start(struct dm_chan *chan);
/* Make the peer's part of it, if the setting says so. False: no memory. */
bool dm_zero_copy_new(struct dm_chan *chan, struct dm_chan_peer *peer);
/*
 * This packet is the next of its queue, and nothing of it has gone: offer its payload to the peer.
 * False: it is not for that, or cannot be registered: copy it.
 */
bool dm_zero_copy_offer(struct dm_chan_peer *peer, struct dm_chan_send *send);
struct dm_chan_send *dm_zero_copy_choose(const struct dm_chan_peer *peer);
/* The packet to be pushed next; one of the queue, or an offer or an answer. NULL: none may go now. */
static inline struct dm_chan_send *dm_zero_copy_next(const struct dm_chan_peer *peer)
{
    return dm_likely(peer->zero_copy == NULL) ? peer->queue.head : dm_zero_copy_choose(peer);
}
/* Is this packet offered, so that it has to stay as it is? */
bool dm_zero_copy_is_offered(const struct dm_chan_peer *peer, const struct dm_chan_send *send);
/* Is the peer's memory being read, or an answer to be sent? */
bool dm_zero_copy_is_busy(const struct dm_chan_peer *peer);
/*
 * The peer is lost. True: a read is under way, which will note the loss (dm_chan_note_lost) when it is
 * over, since it may still write to the memory of a receive.
 */
bool dm_zero_copy_lose(struct dm_chan_peer *peer);
/* The peer's object goes. */
void dm_zero_copy_free(struct dm_chan_peer *peer);

#endif
