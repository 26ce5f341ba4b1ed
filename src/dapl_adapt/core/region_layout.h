/*
 * The registered region of a connection: control words, receive ring of cells, shadow buffer of the peer's
 * cells, sources of control words; receive ring, one spare slot, shadow buffer of the peer's ring;
 * with DATUM_EAGER=basic behind that a trailer for each slot, which the peer writes. Where receives are
 * shared: control words and their sources alone.
 */
#ifndef DM_DAPL_ADAPT_CORE_REGION_LAYOUT_H
#define DM_DAPL_ADAPT_CORE_REGION_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/record.h"
#include "util/port.h"

#define DM_CREDITS_OUT 256
#define DM_OUT_FIRST   16 /* of them on the first page */

/* In dm_ctl.peer_closing, above the count of records: the peer leaves; and this was MPI_Finalize. */
#define DM_CTL_PARTS (UINT64_C(1) << 32)
#define DM_CTL_ENDS  (UINT64_C(1) << 33)

/* In dm_ctl.asleep: the peer has posted a receive for a notification; and, by the owner itself, whether the
 * peer sleeps is in its row (core/pending.h). */
#define DM_CTL_ARMED   1
#define DM_CTL_PENDING 2

/* A trailer, and the half of a cell behind it. */
#define DM_CLEAN_WORDS (DM_CELL_LEN / 2 / 8 + 1)

/* The beginning. */
struct dm_ctl {
    _Atomic uint64_t credit; /* written by the peer */
    _Atomic uint64_t
        asleep; /* written by the peer: it wants a notification behind the next record */
    _Atomic uint64_t datagrams; /* written by the peer before its first record (core/datagram.h) */
    char pad[DM_CACHE_LINE - 24];
    uint64_t first[DM_CACHE_LINE / 8]; /* first message of the RDMA link */
    _Atomic uint64_t peer_closing;     /* written by the peer when it leaves: DM_CTL_, records */
    uint64_t notify[2];                /* the peer's notification, and the source of ours */
    uint64_t clean[2][DM_CLEAN_WORDS]; /* sources of what hides data (eager/clean.h) */
    uint64_t out[DM_OUT_FIRST];        /* sources of writes to the peer's control words, */
};

#define DM_REGION_PAGE 4096
#define DM_REGION_HIGH 3072
#define DM_REGION_MANY 32

/*
 * Cells are short: there are more of them than slots, as many as an eighth of the ring has room for, but where few
 * slots are for little memory. Where there are more, a record may take several.
 */
#define DM_REGION_CELLS_MIN 256
#define DM_REGION_CELLS_MAX 1024

static inline uint32_t dm_region_n_cells(uint32_t n_slots, uint32_t stride)
{
    uint64_t n = (uint64_t)n_slots * stride / 8 / DM_CELL_LEN;

    if (n_slots < DM_REGION_MANY)
        return n_slots;
    if (n < DM_REGION_CELLS_MIN)
        n = DM_REGION_CELLS_MIN;
    if (n > DM_REGION_CELLS_MAX)
        n = DM_REGION_CELLS_MAX;
    return n > n_slots ? (uint32_t)n : n_slots;
}

/* Cells of a round, if the receiver keeps up. It tells what it has consumed after half of that. */
#define DM_REGION_ROUND 128

static inline uint32_t dm_region_round(uint32_t n_slots, uint32_t n_cells)
{
    return n_cells > n_slots && n_slots < DM_REGION_ROUND ? DM_REGION_ROUND : n_slots;
}

static inline size_t dm_region_cells(void)
{
    return (sizeof(struct dm_ctl) + DM_CELL_LEN - 1) / DM_CELL_LEN * DM_CELL_LEN;
}

static inline size_t dm_region_cells_shadow(uint32_t n_slots, uint32_t stride)
{
    return dm_region_cells() + (size_t)dm_region_n_cells(n_slots, stride) * DM_CELL_LEN;
}

/* The other ones of DM_CREDITS_OUT. */
static inline size_t dm_region_out(uint32_t n_slots, uint32_t stride, bool has_srq)
{
    return dm_region_cells() +
           (has_srq ? 0 : 2 * (size_t)dm_region_n_cells(n_slots, stride) * DM_CELL_LEN);
}

/* Where receives are shared the region ends there. */
static inline size_t dm_region_out_end(uint32_t n_slots, uint32_t stride, bool has_srq)
{
    return dm_region_out(n_slots, stride, has_srq) +
           (DM_CREDITS_OUT - DM_OUT_FIRST) * sizeof(uint64_t);
}

/*
 * Records are at the ends of slots, DM_CACHE_LINE further each time. Those that are filled first end high in their
 * pages: so a record of some KiB touches one new page, not two. Rings of few slots are for little memory.
 */
static inline size_t dm_region_ring(uint32_t n_slots, uint32_t stride)
{
    size_t end = dm_region_out_end(n_slots, stride, false);
    size_t high = n_slots >= DM_REGION_MANY ? DM_REGION_HIGH : 0;

    return (end + DM_REGION_PAGE - high - 1) / DM_REGION_PAGE * DM_REGION_PAGE + high;
}

static inline size_t dm_region_spare(uint32_t n_slots, uint32_t stride)
{
    return dm_region_ring(n_slots, stride) + (size_t)n_slots * stride;
}

static inline size_t dm_region_shadow(uint32_t n_slots, uint32_t stride)
{
    return dm_region_spare(n_slots, stride) + stride;
}

/* Without the trailers of DATUM_EAGER=basic, which begin there. */
static inline size_t dm_region_len(uint32_t n_slots, uint32_t stride)
{
    return dm_region_shadow(n_slots, stride) + (size_t)n_slots * stride;
}

static inline size_t dm_region_heads_len(uint32_t n_slots)
{
    return (size_t)n_slots * DM_TRAILER_LEN;
}

#endif
