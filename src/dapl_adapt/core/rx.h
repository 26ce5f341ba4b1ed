/*
 * The receiving side of a pipe.
 */
#ifndef DM_DAPL_ADAPT_CORE_RX_H
#define DM_DAPL_ADAPT_CORE_RX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/datagram.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/provider/dat.h"
#include "util/port.h"

/*
 * Receives of a shared queue that a connection has for certain, and buffers to send from; with fewer,
 * messages about credits would ask for such messages.
 */
#define DM_RX_GRANT 4

#define DM_RX_IOV 2 /* segments of a receive at most: a cell, the rest of a slot */

/* Where the next record appears. */
struct dm_rx_ring {
    _Atomic uint64_t *trailer;
    uint64_t tag;
    uint32_t slot;
    int32_t step;   /* bytes from one trailer to the next */
    uint32_t gen;   /* 0: there is no ring yet */
    uint32_t n;     /* slots in which a record may begin */
    uint32_t shift; /* DM_CELL_SHIFT or DM_SLOT_SHIFT */
    uint32_t due;   /* owing so many asks for a credit message */
};

struct dm_rx {
    struct dm_rx_ring ring;
    const char *data; /* unread bytes of the record in front */
    uint32_t left;
    uint32_t n_consumed; /* slots, cells, less what is kept back; the low 16 bits are our credit */
    uint32_t n_credited; /* reported to the peer */
    uint32_t n_slots;
    uint32_t peer_credit; /* what the peer reported last, 16 bits */
    uint8_t protocol;     /* enum dm_record_protocol; not 0: trailers are not in the slots */
    bool is_asked;        /* the peer waits for credits */
    bool has_datagrams;   /* they are read before the ring */
    uint32_t stride;
    uint64_t len_got; /* bytes of records */
    /* colder */
    struct dm_rx_ring idle; /* the other ring: cells, or slots */
    char *slots;
    char *cells;      /* DM_RECORD_SEND: there the beginnings of records arrive; NULL: in slots */
    DAT_EP_HANDLE ep; /* DM_RECORD_SEND: that has the buffers */
    uint32_t arrive;  /* slot of the next completion */
    uint32_t n_most;  /* so many may be unread at a time: slots, or cells if it has some */
    _Atomic uint64_t *trailers; /* DM_RECORD_SEND: the array of trailers, */
    DAT_LMR_TRIPLET *iov;       /* and of what is posted, by slots */
    DAT_LMR_TRIPLET notify;     /* of the receive for a notification */
    uint32_t *places;           /* receives from a shared queue: by slots, its buffers, */
    uint32_t grant;             /* of which it may have so many: n_slots at most; 0: not shared */
    struct dm_rx_datagrams datagrams;
};

static inline bool dm_rx_ring_has(const struct dm_rx_ring *ring)
{
    uint64_t word = atomic_load_explicit(ring->trailer, memory_order_acquire);

    return ((word ^ ring->tag) >> DM_TRAILER_TAG) == 0;
}

/* Is there a record, even an empty one? */
static inline bool dm_rx_has(const struct dm_rx *rx)
{
    return dm_rx_ring_has(&rx->ring);
}

/* To where the record after the one in front appears, whose trailer is word. Slots or cells of the one in front. */
static inline uint32_t dm_rx_ring_next(struct dm_rx_ring *ring, struct dm_rx_ring *idle,
                                       uint64_t word)
{
    uint32_t len = (uint32_t)word & DM_TRAILER_LEN_MASK;
    uint32_t n = dm_record_cells(dm_record_space(len), ring->shift);

    ring->slot += n;
    ring->trailer = (void *)((char *)ring->trailer + (int32_t)n * ring->step);
    if (dm_unlikely(ring->slot >= ring->n || (word & DM_TRAILER_ROUND_END) != 0)) {
        ring->trailer = (void *)((char *)ring->trailer - (ptrdiff_t)ring->slot * ring->step);
        ring->slot = 0;
        ring->tag = dm_trailer_tag(++ring->gen);
    }
    if (dm_unlikely((word & DM_TRAILER_SWITCH) != 0)) {
        struct dm_rx_ring other = *idle;

        *idle = *ring;
        *ring = other;
    }
    return n;
}

/* Records that were read. */
static inline uint32_t dm_rx_n_read(const struct dm_rx *rx)
{
    return rx->n_consumed + (rx->grant > 0 ? rx->n_slots - rx->grant : 0);
}

/* Is it time to tell the peer what was consumed? */
static inline bool dm_rx_owes(const struct dm_rx *rx)
{
    uint32_t owed = rx->n_consumed - rx->n_credited;

    return owed >= rx->ring.due || (rx->is_asked && owed > 0);
}

#endif
