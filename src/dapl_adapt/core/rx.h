/*
 * The receiving side of a pipe.
 */
#ifndef DM_DAPL_ADAPT_CORE_RX_H
#define DM_DAPL_ADAPT_CORE_RX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/record.h"
#include "dapl_adapt/provider/dat.h"

struct dm_rx {
    _Atomic uint64_t *trailer; /* where the next one appears */
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
    uint8_t protocol;      /* enum dm_record_protocol; not 0: trailers are not in the slots */
    bool is_asked;         /* the peer waits for credits */
    uint64_t len_got;      /* bytes of records */
    /* colder */
    uint32_t gen; /* of the ring; 0: there is none yet */
    char *ring;
    DAT_EP_HANDLE ep;           /* DM_RECORD_SEND: that has the buffers */
    uint32_t arrive;            /* slot of the next completion */
    _Atomic uint64_t *trailers; /* DM_RECORD_SEND: the array of trailers */
};

/* Is there a record, even an empty one? */
static inline bool dm_rx_has(const struct dm_rx *rx)
{
    uint64_t word = atomic_load_explicit(rx->trailer, memory_order_acquire);

    return ((word ^ rx->tag) >> DM_TRAILER_TAG) == 0;
}

/* Is it time to tell the peer what was consumed? */
static inline bool dm_rx_owes(const struct dm_rx *rx)
{
    uint32_t owed = rx->n_consumed - rx->n_credited;

    return owed >= rx->due || (rx->is_asked && owed > 0);
}

#endif
