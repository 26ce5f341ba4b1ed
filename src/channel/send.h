/*
 * Sending packets.
 */
#ifndef DM_CHANNEL_SEND_H
#define DM_CHANNEL_SEND_H

#include "channel/packet.h"

struct dm_chan; /* channel.h */

/*
 * A packet on its way, embedded in the caller's request; the caller fills the first
 * group and must not touch the object or the payload until done is called (perhaps before
 * dm_chan_send returns). hdr is copied.
 */
struct dm_chan_send {
    void (*done)(struct dm_chan_send *send, int err);
    const void *data; /* payload in one piece, or NULL and: */
    /* writes payload bytes [offset, offset+len) to dst; len bytes always */
    void (*read)(struct dm_chan_send *send, size_t offset, void *dst, size_t len);
    /* private to the channel */
    struct dm_chan_send *next;
    uint64_t sent; /* bytes of header and payload that the pipe has taken */
    uint64_t hdr[DM_PKT_MAX / 8];
};

/*
 * Send a packet after everything sent to proc before. DM_OK: done is, was or will be called;
 * a lost peer is reported there, with DM_EPEER.
 */
int dm_chan_send(struct dm_chan *chan, int proc, const struct dm_pkt *pkt,
                 struct dm_chan_send *send);
/*
 * The same for the answer to a packet, from its handler. Where each record costs system calls it waits
 * until what else has come is handled: those answers go with it.
 */
int dm_chan_answer(struct dm_chan *chan, int proc, const struct dm_pkt *pkt,
                   struct dm_chan_send *send);
/*
 * The eager fast path: a packet whose header and payload fit the pipe's next record.
 * DM_OK: sent, everything may be reused. DM_EAGAIN: nothing was done (queue not empty,
 * no credit, not connected, too long); use dm_chan_send.
 */
int dm_chan_send_now(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data);
/*
 * The same in two steps for payload that is not in one piece: memory for the payload
 * (pkt->data_len bytes) of a packet, or NULL as above; write it, then commit.
 */
void *dm_chan_reserve(struct dm_chan *chan, int proc, const struct dm_pkt *pkt);
int dm_chan_commit(struct dm_chan *chan, int proc);
/*
 * A packet without payload that must not fail for lack of credit: sent now or
 * queued from a pool of the channel's own.
 */
int dm_chan_send_ctl(struct dm_chan *chan, int proc, const struct dm_pkt *pkt);
/* The same with a payload of at most DM_CHAN_SMALL bytes, which is copied. */
#define DM_CHAN_SMALL 64
int dm_chan_send_small(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data);
/*
 * What dm_chan_send_now has not taken, with a payload of at most DM_CHAN_SMALL bytes: a copy is queued where
 * to wait for a slow reader would cost changes between processes that share cores. DM_EAGAIN: nothing was
 * done, wait; enough copies are queued, there is no connection yet, or each process has a core.
 */
int dm_chan_send_copy(struct dm_chan *chan, int proc, const struct dm_pkt *pkt, const void *data);
/*
 * A packet without payload, for a peer that waits while the caller may compute next: it is on its way, or
 * the peer is lost, when this returns; makes progress until then.
 */
int dm_chan_send_out(struct dm_chan *chan, int proc, const struct dm_pkt *pkt);

/*
 * Call fn with every queued packet to proc of which nothing has gone yet, first to last: it may
 * change what is sent (dm_chan_send.hdr, data, read, done), not send itself.
 */
void dm_chan_each_queued(struct dm_chan *chan, int proc, void (*fn)(struct dm_chan_send *send));

#endif
