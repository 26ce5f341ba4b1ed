/*
 * A ring is n_slots slots of `stride` bytes. A record lies at the END of its slot:
 * data first, the last 8 bytes of the slot are the trailer. Data starts on a cache
 * line, so that up to 56 bytes and the trailer are one line. The trailer's tag is
 * the ring's generation, so that it never equals what an earlier one left there, with
 * its fastest changing byte last: a provider that places the last byte last is enough.
 * With DATUM_EAGER=basic the trailers are words in an array of their own behind the shadow buffer, each
 * written after its data. With send/receive the same records land in posted buffers, at the slot's start,
 * and their trailers are copied to an array of their own when the completion is seen.
 */
#ifndef DM_DAPL_ADAPT_CORE_PIPE_H
#define DM_DAPL_ADAPT_CORE_PIPE_H

#include "dapl_adapt/public/types.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/provider/dat.h"
#include "util/port.h"

#define DM_TX_REFS    8 /* registrations that writes in flight may hold */
#define DM_TX_RESERVE 2 /* requests kept for credit messages */

struct dm_tx {
    char *trailer; /* trailer of the next slot, in the shadow buffer */
    uint64_t tag;  /* in place: << 40 */
    DAT_EP_HANDLE ep;
    uint64_t delta; /* remote address minus address in the shadow buffer */
    DAT_LMR_CONTEXT lctx;
    DAT_RMR_CONTEXT rctx;
    uint32_t n_avail; /* records that may go before looking around again; 0: not ready */
    uint32_t until_signal;
    uint32_t n_posted; /* records */
    uint32_t max;      /* bytes of a record */
    uint32_t most;     /* what is longer goes in pieces */
    uint32_t piece;    /* of so many bytes */
    uint32_t stride;
    uint32_t reserved; /* bytes before the trailer of the reserved record */
    uint32_t n_slots;
    uint32_t slot;
    bool is_other; /* not one write for a record: is_send, or DATUM_EAGER=basic */
    bool is_send;
    bool is_blocked; /* somebody waits */
    bool is_lost;
    bool is_serial;  /* as its rail */
    bool is_kept;    /* all records stay whole in the shadow buffer until credited */
    uint32_t cookie; /* all but kind and number */
    /* colder */
    uint32_t gen;
    uint32_t n_redo;     /* of the last records, to be sent again on this rail */
    uint32_t n_sig;      /* completions that are coming */
    uint32_t n_extra;    /* posts that are not records */
    uint32_t n_before;   /* records that went over earlier rails */
    uint64_t len_sent;   /* bytes of records over this one, */
    uint64_t len_direct; /* and of all, those that were sent from the program's memory */
    uint64_t heads;      /* basic: the peer's words for our records */
    uint32_t sq_done;    /* records and extras known complete */
    uint32_t sq_size;
    uint32_t sig_every;
    uint32_t direct; /* post that sent from the caller's memory last */
    uint32_t hole;   /* the record that it sent: not whole in the shadow buffer */
    bool has_direct; /* it is not known complete */
    bool has_hole;
    int n_refs;
    struct dm_mr *refs[DM_TX_REFS];
};

struct dm_rx {
    _Atomic uint64_t *trailer; /* where the next trailer appears */
    uint64_t tag;
    const char *data; /* unread bytes of the record in front */
    uint32_t left;
    uint32_t n_consumed;  /* records; its low 16 bits are the credit we give */
    uint32_t n_credited;  /* reported to the peer */
    uint32_t peer_credit; /* what the peer reported last, 16 bits */
    uint32_t n_slots;
    uint32_t slot;
    uint32_t stride;
    uint32_t trailer_step; /* bytes from one trailer to the next */
    uint32_t due;          /* owing so many asks for a credit message */
    bool is_apart;         /* trailers are not in the slots: is_recv, or DATUM_EAGER=basic */
    bool is_recv;
    uint64_t len_got; /* bytes of records */
    /* colder */
    uint32_t gen;
    char *ring;
    DAT_EP_HANDLE ep;           /* send/receive: that has the buffers */
    uint32_t arrive;            /* slot of the next completion */
    _Atomic uint64_t *trailers; /* send/receive: the array of trailers */
};

#define DM_CREDITS_OUT 256

/* First page of a connection's region. */
struct dm_ctl {
    _Atomic uint64_t credit; /* written by the peer */
    _Atomic uint64_t
        asleep; /* written by the peer: it wants a notification behind the next record */
    char pad[DM_CACHE_LINE - 16];
    uint64_t first[DM_CACHE_LINE / 8];   /* first message of the RDMA link */
    uint64_t credit_out[DM_CREDITS_OUT]; /* sources of writes to the peer's `credit` */
    _Atomic uint64_t peer_closing;       /* written by the peer when it leaves for good */
    uint64_t notify[2];                  /* the peer's notification, and the source of ours */
};

#define DM_TRAILER_LEN      8
#define DM_TRAILER_TAG      40 /* shift of the tag, 24 bits */
#define DM_TRAILER_CREDIT   24 /* shift of the credit, 16 bits */
#define DM_TRAILER_LEN_MASK 0xffffffu

/* Trailer tag of a generation: its fastest changing byte is the last one in memory. */
static inline uint64_t dm_trailer_tag(uint32_t gen)
{
    return ((uint64_t)(gen & 0xff) << 16 | (gen >> 8 & 0xffff)) << DM_TRAILER_TAG;
}

/* Bytes from the start of a record's data to its trailer: data starts on a cache line. */
static inline uint32_t dm_record_space(uint32_t len)
{
    return ((len + DM_TRAILER_LEN + DM_CACHE_LINE - 1) & ~(uint32_t)(DM_CACHE_LINE - 1)) -
           DM_TRAILER_LEN;
}

/* Distance of slots for payloads of slot_size bytes: not a power of two. */
static inline uint32_t dm_slot_stride(uint32_t slot_size)
{
    return ((slot_size + DM_CACHE_LINE - 1) & ~(uint32_t)(DM_CACHE_LINE - 1)) + DM_CACHE_LINE;
}

/* Layout of a region: control page, receive ring, one spare slot, shadow buffer of the peer's ring. */
static inline size_t dm_region_ring(void)
{
    return 4096;
}

static inline size_t dm_region_spare(uint32_t n_slots, uint32_t stride)
{
    return dm_region_ring() + (size_t)n_slots * stride;
}

static inline size_t dm_region_shadow(uint32_t n_slots, uint32_t stride)
{
    return dm_region_spare(n_slots, stride) + stride;
}

static inline size_t dm_region_len(uint32_t n_slots, uint32_t stride)
{
    return dm_region_shadow(n_slots, stride) + (size_t)n_slots * stride;
}

/* DATUM_EAGER=basic: behind that a word for each slot, which the peer writes. */
static inline size_t dm_region_heads_len(uint32_t n_slots)
{
    return (size_t)n_slots * DM_TRAILER_LEN;
}

/* Is there a record, even an empty one? */
static inline bool dm_rx_has(const struct dm_rx *rx)
{
    uint64_t word = atomic_load_explicit(rx->trailer, memory_order_acquire);

    return ((word ^ rx->tag) >> DM_TRAILER_TAG) == 0;
}

#endif
