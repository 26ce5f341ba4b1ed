/*
 * Records: how they travel, and the trailer at their end.
 *
 * A ring is n_slots slots of `stride` bytes. A record lies at the END of its slot: data first, the
 * last 8 bytes of the slot are the trailer. Data starts on a cache line, so that up to 56 bytes and
 * the trailer are one line. The trailer's tag is the ring's generation, so that it never equals
 * what an earlier one left there, with its fastest changing byte last: a provider that places the
 * last byte last is enough.
 *
 * A round through the ring may end before its last slot: the trailer of its last record says so.
 * Beside the slots there is a ring of cells for short records; a trailer says when the next record is in
 * the other ring. So what few or short records touch is little, and stays in caches (eager/place.c).
 *
 * The ring of cells goes downwards: a record ends where the cells before it begin, and takes as many as it is
 * long. So its trailer is where the receiver looks, before it knows how long the record is. What the data of an
 * earlier record left where the next trailer will be could look like that one: the sender overwrites it first,
 * with the record before.
 */
#ifndef DM_DAPL_ADAPT_CORE_RECORD_H
#define DM_DAPL_ADAPT_CORE_RECORD_H

#include <stdint.h>

#include "util/port.h"

enum dm_record_protocol {
    DM_RECORD_WRITE, /* one RDMA write to the end of the slot */
    /* DATUM_EAGER=basic: the data, then the trailer, without credits, to an array behind the shadow buffer */
    DM_RECORD_BASIC,
    /* a send into a posted buffer: at the slot's start; the trailer is copied to an array */
    DM_RECORD_SEND,
    DM_RECORD_DATAGRAM /* a place for a datagram is reserved, there is no pipe yet (core/datagram.h) */
};

#define DM_TRAILER_LEN       8
#define DM_TRAILER_TAG       40                  /* shift of the tag, 24 bits */
#define DM_TRAILER_CREDIT    24                  /* shift of the credit, 16 bits */
#define DM_TRAILER_LEN_MASK  0x1fffffu           /* bytes of the record */
#define DM_TRAILER_SWITCH    (UINT64_C(1) << 21) /* the next record is in the other ring */
#define DM_TRAILER_ROUND_END (UINT64_C(1) << 22) /* the next record is in slot 0 */
#define DM_TRAILER_ASK       (UINT64_C(1) << 23) /* the sender waits for credits */

/* A cell: a record with its trailer, or a part of one. */
#define DM_CELL_SHIFT 7
#define DM_CELL_LEN   (1 << DM_CELL_SHIFT)
#define DM_CELL_MAX   (DM_CELL_LEN - DM_TRAILER_LEN)
#define DM_CELLS_MOST 10 /* of a record: 1 KiB and its header */

#define DM_SLOT_SHIFT 31 /* each record takes one */

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

/* Cells of a record with so many bytes before its trailer; or slots, which is 1. */
static inline uint32_t dm_record_cells(uint32_t space, uint32_t shift)
{
    return 1 + ((space + DM_TRAILER_LEN - 1) >> shift);
}

/* Distance of slots for payloads of slot_size bytes: not a power of two. */
static inline uint32_t dm_slot_stride(uint32_t slot_size)
{
    return ((slot_size + DM_CACHE_LINE - 1) & ~(uint32_t)(DM_CACHE_LINE - 1)) + DM_CACHE_LINE;
}

#endif
