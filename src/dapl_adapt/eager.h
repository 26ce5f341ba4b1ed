/*
 * The pipe: records in slots, credits, and the two ways they travel.
 */
#ifndef DM_DAPL_ADAPT_EAGER_H
#define DM_DAPL_ADAPT_EAGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn.h"

#define DM_FOOT_LEN  8
#define DM_FOOT_TAG  40 /* shift of the tag, 24 bits */
#define DM_FOOT_CRED 24 /* shift of the credit, 16 bits */
#define DM_FOOT_SIZE 0xffffffu

/* Footer tag of a lap: its fastest changing byte is the last one in memory. */
static inline uint64_t dm_foot_tag(uint32_t lap)
{
    return ((uint64_t)(lap & 0xff) << 16 | (lap >> 8 & 0xffff)) << DM_FOOT_TAG;
}

/* Bytes from the start of a record's data to its footer: data starts on a cache line. */
static inline uint32_t dm_record_room(uint32_t len)
{
    return ((len + DM_FOOT_LEN + DM_CACHE_LINE - 1) & ~(uint32_t)(DM_CACHE_LINE - 1)) - DM_FOOT_LEN;
}

/* Distance of slots for payloads of slot_size bytes: not a power of two. */
static inline uint32_t dm_slot_stride(uint32_t slot_size)
{
    return ((slot_size + DM_CACHE_LINE - 1) & ~(uint32_t)(DM_CACHE_LINE - 1)) + DM_CACHE_LINE;
}

/* Layout of a region: control page, receive ring, one spare slot, mirror of the peer's ring. */
static inline size_t dm_region_ring(void)
{
    return 4096;
}
static inline size_t dm_region_spare(uint32_t n_slots, uint32_t stride)
{
    return dm_region_ring() + (size_t)n_slots * stride;
}
static inline size_t dm_region_mirror(uint32_t n_slots, uint32_t stride)
{
    return dm_region_spare(n_slots, stride) + stride;
}
static inline size_t dm_region_len(uint32_t n_slots, uint32_t stride)
{
    return dm_region_mirror(n_slots, stride) + (size_t)n_slots * stride;
}
/* DATUM_EAGER=basic: behind that a word for each slot, which the peer writes. */
static inline size_t dm_region_heads_len(uint32_t n_slots)
{
    return (size_t)n_slots * DM_FOOT_LEN;
}

/* Is there a record, even an empty one? */
static inline bool dm_rx_has(const struct dm_rx *rx)
{
    uint64_t word = atomic_load_explicit(rx->foot, memory_order_acquire);

    return ((word ^ rx->tag) >> DM_FOOT_TAG) == 0;
}

/*
 * Make the pipe of an established connection usable: peer's region at addr with
 * key ctx. For send/receive the buffers are posted already.
 */
void dm_eager_setup(struct dm_conn *conn, uint64_t addr, DAT_RMR_CONTEXT ctx);
/* Receiving side only, before the first record can arrive; lock held. */
void dm_eager_setup_rx(struct dm_conn *conn);
/* On a new endpoint after a move: what the peer does not have is sent again. (eager_move.c) */
int dm_eager_resume(struct dm_conn *conn);
/* The receiving side of it, before the peer can send; converts what is here if need be. */
int dm_eager_rx_resume(struct dm_conn *conn, DAT_EP_HANDLE ep);
/* Records of the peer that are here without a gap, since the processes met. */
uint32_t dm_eager_arrived(const struct dm_conn *conn);
/* How many of them are unread, the one that is being read included; *word_p: the last one's footer. */
uint32_t dm_eager_unread(const struct dm_conn *conn, uint64_t *word_p);
/* Send as much of what is to be repeated as the queue takes now. */
void dm_eager_repeat(struct dm_conn *conn);
/* Send a record of the mirror again: room bytes before the footer. (eager.c) */
DAT_RETURN dm_eager_post_again(struct dm_conn *conn, const void *foot, uint32_t room);
/* Recount how many records may be sent now. */
void dm_eager_refill(struct dm_conn *conn);
/* Send an empty record: the connector's first one, or credits by send. */
int dm_eager_nudge(struct dm_conn *conn);
/* Tell the peer what was consumed, if much is owed. */
void dm_eager_credit(struct dm_conn *conn);
/* The record in front is used up. */
void dm_eager_next(struct dm_conn *conn);
/* A write on the pipe's endpoint that is not a record; rmr NULL: a message. */
DAT_RETURN dm_eager_write(struct dm_conn *conn, DAT_LMR_TRIPLET *lmr, DAT_RMR_TRIPLET *rmr,
                          bool is_signalled);
/*
 * Ask for a completion that says that all posts are done, if any are not known to be. The last
 * post of a connection: where it could move it tells the peer not to.
 */
void dm_eager_flush(struct dm_conn *conn);
/* A post of the pipe's endpoint completed, and everything before it. */
void dm_eager_sent(struct dm_conn *conn, uint32_t number);
/*
 * Have the peer wake us when it writes to our ring: it knocks once, by a message. False: nothing will
 * wake us. The look at the ring must follow. (eager_knock.c)
 */
bool dm_eager_arm(struct dm_conn *conn);
/* Knock at a peer that is asleep. (eager_knock.c) */
void dm_eager_knock(struct dm_conn *conn);
/* After whatever the peer may be waiting for. */
static inline void dm_eager_rouse(struct dm_conn *conn)
{
    if (dm_unlikely(atomic_load_explicit(&conn->ctl->asleep, memory_order_relaxed) != 0))
        dm_eager_knock(conn);
}
/* A failed post: the connection moves (DM_OK), or is lost (DM_EPEER). */
int dm_eager_post_failed(struct dm_conn *conn, DAT_RETURN rc);

/* ---- by send/receive (eager_sr.c) ---- */

/* Allocate the footers and post all buffers. Lock held. */
int dm_eager_sr_setup(struct dm_conn *conn, DAT_EP_HANDLE ep);
void dm_eager_sr_free(struct dm_conn *conn);
/* Post n slots from `slot` on. */
int dm_eager_sr_post(struct dm_conn *conn, DAT_EP_HANDLE ep, uint32_t slot, uint32_t n);
/* A message of len bytes has arrived in a slot. */
void dm_eager_sr_arrived(struct dm_conn *conn, uint32_t slot, uint32_t len);
/* Give a slot back to the endpoint. */
int dm_eager_sr_repost(struct dm_conn *conn, uint32_t slot);

#endif
