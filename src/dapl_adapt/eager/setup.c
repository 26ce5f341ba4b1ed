/*
 * Making the pipe usable: its two sides, in the region.
 */
#include "dapl_adapt/eager/setup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/datagram.h"
#include "dapl_adapt/eager/place.h"
#include "dapl_adapt/eager/srq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/region.h"
#include "dapl_adapt/provider/source.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/port.h"

void dm_eager_setup_rx(struct dm_conn *conn)
{
    struct dm_rx *rx = &conn->rx;

    rx->n_slots = rx->n_most = rx->ring.n = conn->ring.n_slots;
    rx->stride = conn->ring.stride;
    rx->slots = conn->region.ptr + dm_region_ring(conn->ring.n_slots, conn->ring.stride);
    rx->ring.gen = 1;
    rx->ring.tag = dm_trailer_tag(1);
    rx->ring.due = conn->ring.n_slots / 2 > 0 ? conn->ring.n_slots / 2 : 1;
    rx->ring.step = (int32_t)rx->stride;
    rx->ring.shift = DM_SLOT_SHIFT;
    rx->ring.trailer = (void *)(rx->slots + rx->stride - DM_TRAILER_LEN);
    if (!conn->adapt->rings.is_basic)
        return;
    rx->protocol = DM_RECORD_BASIC;
    rx->ring.due = 1; /* the tail goes back for every record */
    rx->ring.step = DM_TRAILER_LEN;
    rx->ring.trailer =
        (void *)(conn->region.ptr + dm_region_len(conn->ring.n_slots, conn->ring.stride));
}

int dm_eager_setup_descs(struct dm_conn *conn)
{
    struct dm_tx_queue *sq = &conn->tx.sq;

    free(sq->descs); /* of an earlier rail, whose requests are over */
    sq->descs = NULL;
    if (!conn->ia->caps.keeps_iov)
        return DM_OK;
    for (sq->n_descs = 1; sq->n_descs < (uint32_t)conn->sq_size;)
        sq->n_descs *= 2;
    sq->descs = calloc(sq->n_descs, sizeof(*sq->descs));
    return sq->descs != NULL ? DM_OK
                             : DM_FAIL(DM_ENOMEM, "triplets of a pipe, %u requests", sq->n_descs);
}

/*
 * DATUM_CHUNK, or what fits: whole slots while there is much, so that pages and lines stay aligned.
 */
static void setup_pieces(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t stride = tx->place.is_packed ? conn->ring.stride : (uint32_t)tx->ring.stride;

    tx->most = stride - DM_TRAILER_LEN;
    tx->piece = stride - DM_CACHE_LINE;
    if (dm_cfg()->chunk == DM_CFG_AUTO_SIZE)
        return;
    if (dm_cfg()->chunk < tx->piece)
        tx->piece = (uint32_t)dm_cfg()->chunk;
    tx->most = tx->piece;
    tx->direct.is_off = true; /* every chunk is copied */
}

/* Where the first trailer is, how far the next, and how long a record may be. */
static void setup_ring(struct dm_tx_ring *ring, char *trailer, int32_t stride, uint32_t max)
{
    ring->stride = ring->step = stride;
    ring->max = max;
    ring->trailer = trailer;
    ring->gen = 1;
    ring->tag = dm_trailer_tag(1);
    ring->slot = 0;
}

/* Records of this ring are all sent from the same bytes, at the end of that memory. */
static void setup_source(struct dm_tx_ring *ring, const struct dm_ia_source *source)
{
    char *trailer = source->ptr + source->len - DM_TRAILER_LEN;

    ring->delta += (uint64_t)(uintptr_t)ring->trailer - (uint64_t)(uintptr_t)trailer;
    ring->trailer = trailer;
    ring->step = 0;
    ring->lctx = source->lmr.lctx;
}

/*
 * The provider takes data at once: that touches fewer pages. Where each rank has a core, long records are faster
 * from as many places as they go to.
 */
static void setup_sources(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    if (!dm_source_has(conn->ia, dm_slot_stride(conn->adapt->rings.slot_size)))
        return;
    setup_source(&tx->ring, &conn->ia->memory.source);
    if (conn->adapt->is_oversubscribed)
        setup_source(&tx->idle, &conn->ia->memory.source);
}

/* Of a record, which could be in a slot, too. */
static uint32_t setup_cells_most(const struct dm_conn *conn, uint32_t n_cells)
{
    uint32_t n = conn->ring.stride / DM_CELL_LEN;

    if (n_cells <= conn->ring.n_slots || n < 2)
        return 1;
    return n < DM_CELLS_MOST ? n : DM_CELLS_MOST;
}

/* The first round begins where its cells are all on the first page, with the control words. */
static uint32_t setup_cells_begin(uint32_t n_cells)
{
    uint32_t n = (uint32_t)(DM_REGION_PAGE - dm_region_cells()) / DM_CELL_LEN;

    return n_cells > n ? n_cells - n : 0;
}

/* Both sides begin with the cells: they have told each other that they do not move. */
static void setup_cells(struct dm_conn *conn, uint64_t addr)
{
    struct dm_tx *tx = &conn->tx;
    struct dm_rx *rx = &conn->rx;
    uint32_t n = dm_region_n_cells(conn->ring.n_slots, conn->ring.stride);
    uint32_t begin = setup_cells_begin(n);
    size_t first = (size_t)(n - begin) * DM_CELL_LEN - DM_TRAILER_LEN; /* trailer */
    char *shadow = conn->region.ptr + dm_region_cells_shadow(conn->ring.n_slots, conn->ring.stride);

    rx->idle = rx->ring;
    tx->place.n_cells = n;
    tx->place.cells_most = setup_cells_most(conn, n);
    tx->place.n_begin = rx->ring.n = n - tx->place.cells_most + 1;
    if (conn->ia->limits.max_iov < 2) /* the part that hides data is one of its own */
        tx->place.cells_most = 1;
    tx->idle = tx->ring;
    setup_ring(&tx->ring, shadow + first, -DM_CELL_LEN, DM_CELL_MAX);
    tx->ring.shift = DM_CELL_SHIFT;
    tx->ring.slot = rx->ring.slot = begin;
    tx->ring.delta = addr + dm_region_cells() - (uint64_t)(uintptr_t)shadow;
    setup_sources(conn);
    rx->n_most = n;
    rx->ring.due = (dm_region_round(conn->ring.n_slots, n) + 1) / 2;
    rx->ring.step = -DM_CELL_LEN;
    rx->ring.shift = DM_CELL_SHIFT;
    rx->ring.trailer = (void *)(conn->region.ptr + dm_region_cells() + first);
}

int dm_eager_setup_shadow(struct dm_conn *conn)
{
    size_t len = (size_t)conn->ring.n_slots * conn->ring.stride;

    if (!conn->ring.has_srq || conn->ring.peer_has_srq)
        return DM_OK;
    if (dm_region_alloc(conn->ia, NULL, len, 0, &conn->ring.shadow) == DM_OK)
        return DM_OK;
    return DM_FAIL(DM_EPROVIDER, "%s: no %zu bytes can be registered to send from", conn->ia->name,
                   len);
}

/* Where records are sent from, unless buffers are borrowed. */
static char *setup_find_shadow(const struct dm_conn *conn)
{
    return conn->ring.has_srq
               ? conn->ring.shadow.ptr
               : conn->region.ptr + dm_region_shadow(conn->ring.n_slots, conn->ring.stride);
}

/* Records up to the next completion: meanwhile others may go, as many as there are credits. */
static uint32_t setup_signals(const struct dm_conn *conn)
{
    uint32_t n = conn->tx.sq.size / (conn->adapt->rings.is_basic ? 8 : 4);

    if (dm_ia_is_software(conn->ia) && conn->tx.sq.size > 4 * conn->ring.n_slots)
        n = (conn->tx.sq.size - conn->ring.n_slots) / 2;
    return n > 0 ? n : 1;
}

/* Are its records messages, kept in this connection's own shadow buffer until they are credited? */
static bool setup_packs(const struct dm_conn *conn)
{
    return conn->tx.protocol == DM_RECORD_SEND && !conn->ring.has_srq && !conn->ring.peer_has_srq &&
           conn->ring.stride > DM_CELL_LEN;
}

void dm_eager_setup(struct dm_conn *conn, uint64_t addr, DAT_RMR_CONTEXT ctx)
{
    struct dm_tx *tx = &conn->tx;
    char *shadow = setup_find_shadow(conn);
    bool is_first = tx->ring.gen == 0, has_cells;

    tx->ep = conn->links->at[DM_LINK_PIPE].ep;
    tx->cookie = dm_cookie_base(&conn->links->at[DM_LINK_PIPE]);
    if (is_first) {
        size_t max = conn->ring.stride - DM_TRAILER_LEN;

        tx->n_slots = tx->place.n_cells = conn->ring.n_slots;
        tx->place.cells_most = 1;
        setup_ring(&tx->ring, shadow != NULL ? shadow + max : NULL, (int32_t)conn->ring.stride,
                   (uint32_t)max);
        tx->ring.shift = DM_SLOT_SHIFT;
        if (conn->ring.peer_has_srq)
            dm_eager_srq_setup_tx(conn);
    }
    /* where a completion costs system calls of both sides a copy is cheaper */
    tx->direct.is_off = (dm_conn_can_move(conn) && !conn->ia->caps.is_local) || conn->ia->is_driven;
    tx->ring.delta =
        addr + dm_region_ring(conn->ring.n_slots, conn->ring.stride) - (uint64_t)(uintptr_t)shadow;
    tx->ring.lctx = conn->ring.has_srq ? conn->ring.shadow.lmr.lctx : conn->region.lmr.lctx;
    tx->rctx = ctx;
    setup_pieces(conn);
    tx->sq.size = (uint32_t)conn->sq_size;
    tx->until_signal = tx->sq.signal_every = setup_signals(conn);
    tx->protocol = conn->is_sendrecv             ? DM_RECORD_SEND
                   : conn->adapt->rings.is_basic ? DM_RECORD_BASIC
                                                 : DM_RECORD_WRITE;
    tx->is_slow = tx->protocol != DM_RECORD_WRITE || tx->sq.descs != NULL;
    tx->place.is_short = tx->protocol == DM_RECORD_WRITE && !dm_conn_can_move(conn);
    tx->heads = addr + dm_region_len(conn->ring.n_slots, conn->ring.stride);
    tx->is_serial = conn->ia->is_serial;
    conn->ctl_remote = addr;
    conn->is_armed = false;
    has_cells = is_first && tx->place.is_short && !conn->links->at[DM_LINK_PIPE].answer.moves;
    dm_eager_place_pack(conn, setup_packs(conn));
    if (has_cells)
        setup_cells(conn, addr);
    if (is_first) {
        dm_eager_place_start(conn, has_cells);
        dm_eager_datagrams_end(conn, has_cells && conn->who.foreign == NULL);
    }
    if (has_cells && conn->links->at[DM_LINK_PIPE].answer.pending && dm_conn_has_pending(conn) &&
        dm_addr_join_pending(conn))
        dm_active_join_pending(conn);
}
