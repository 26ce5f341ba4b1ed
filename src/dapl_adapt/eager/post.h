/*
 * Posting on the pipe's endpoint: records, and what goes between them. What every record needs is
 * inline.
 */
#ifndef DM_DAPL_ADAPT_EAGER_POST_H
#define DM_DAPL_ADAPT_EAGER_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/place.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/port.h"

/* Behind a record with so many bytes before its trailer. */
static inline void dm_tx_advance(struct dm_conn *conn, uint32_t space)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t n = dm_record_cells(space, tx->ring.shift);

    tx->n_posted++;
    tx->n_filled += n;
    tx->n_avail -= n;
    tx->ring.trailer += (int32_t)n * tx->ring.step;
    tx->ring.delta += (uint64_t)(int64_t)((int32_t)n * (tx->ring.stride - tx->ring.step));
    tx->ring.slot += n;
    if (dm_unlikely(tx->ring.slot >= tx->ring.end))
        dm_eager_place_next(conn);
}

/* Write the trailer of a record of len bytes: everything consumed so far is acknowledged. */
static inline void dm_tx_write_trailer(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t credit = conn->rx.n_consumed;
    uint64_t word = tx->ring.tag | (uint64_t)(credit & 0xffff) << DM_TRAILER_CREDIT | (uint64_t)len;

    conn->rx.n_credited = credit;
    if (dm_unlikely(tx->ring.slot >= tx->ring.look || tx->n_avail == 1 || len < tx->short_below))
        word |= dm_eager_place_look(conn, len);
    *(uint64_t *)(void *)tx->ring.trailer = word;
}

/* Should this post give a completion? Some have to, so that the queue's places come back. */
static inline enum dm_cookie_kind dm_tx_signal_kind(struct dm_conn *conn, bool is_signalled,
                                                    DAT_COMPLETION_FLAGS *flags_p)
{
    struct dm_tx *tx = &conn->tx;

    if (dm_unlikely(is_signalled || tx->until_signal <= 1)) {
        tx->until_signal = tx->sq.signal_every;
        tx->sq.n_signalled++;
        conn->ia->n_signalled++;
        *flags_p = DAT_COMPLETION_DEFAULT_FLAG;
        return DM_COOKIE_TX;
    }
    tx->until_signal--;
    *flags_p = DAT_COMPLETION_SUPPRESS_FLAG;
    return DM_COOKIE_QUIET;
}

/* Where the next write of a control word is from: one for each, since the provider may not have read the last
 * one yet. */
static inline uint64_t *dm_tx_out(const struct dm_conn *conn)
{
    uint32_t n = conn->tx.n_extra % DM_CREDITS_OUT;
    uint64_t *more =
        (void *)(conn->region.ptr +
                 dm_region_out(conn->ring.n_slots, conn->ring.stride, conn->ring.has_srq));

    return n < DM_OUT_FIRST ? &conn->ctl->out[n] : &more[n - DM_OUT_FIRST];
}

static inline DAT_DTO_COOKIE dm_tx_cookie(const struct dm_tx *tx, enum dm_cookie_kind kind)
{
    DAT_DTO_COOKIE c;

    c.as_64 = (uint64_t)(tx->n_posted + tx->n_extra) << 32 | tx->cookie | (uint64_t)kind;
    return c;
}

/* A record that is not one write, or whose triplets the provider keeps. */
DAT_RETURN dm_tx_post_other(struct dm_conn *conn, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                            DAT_RMR_TRIPLET *rmr, enum dm_cookie_kind kind,
                            DAT_COMPLETION_FLAGS flags);

/* Send a record, whose bytes up to and with the trailer are in iov, to slot address remote. */
static inline DAT_RETURN dm_tx_post(struct dm_conn *conn, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                                    uint64_t remote, uint32_t len, bool is_signalled)
{
    struct dm_tx *tx = &conn->tx;
    DAT_COMPLETION_FLAGS flags;
    enum dm_cookie_kind kind = dm_tx_signal_kind(conn, is_signalled, &flags);
    DAT_RMR_TRIPLET rmr;
    DAT_RETURN rc;

    rmr.virtual_address = remote;
    rmr.segment_length = len;
    rmr.rmr_context = tx->rctx;
    tx->len_sent += len;
    dm_serial_enter(tx->is_serial);
    if (dm_unlikely(tx->is_slow))
        rc = dm_tx_post_other(conn, n_iov, iov, &rmr, kind, flags);
    else
        rc = DAT_EP_POST_RDMA_WRITE(tx->ep, n_iov, iov, dm_tx_cookie(tx, kind), &rmr, flags);
    dm_serial_leave(tx->is_serial);
    return rc;
}

/*
 * The same for a record of one segment, with so many bytes before its trailer, in cells of which some have had
 * parts of records: what is left of those must not look like the next record.
 */
DAT_RETURN dm_tx_post_mixed(struct dm_conn *conn, DAT_LMR_TRIPLET *lmr, uint32_t space);

/* Post the record whose trailer has been written, from the shadow buffer. */
static inline DAT_RETURN dm_tx_post_here(struct dm_conn *conn, uint32_t space)
{
    struct dm_tx *tx = &conn->tx;
    DAT_LMR_TRIPLET lmr;

    lmr.virtual_address = (DAT_VADDR)(uintptr_t)(tx->ring.trailer - space);
    lmr.segment_length = space + DM_TRAILER_LEN;
    lmr.lmr_context = tx->ring.lctx;
    if (dm_unlikely(tx->ring.is_mixed))
        return dm_tx_post_mixed(conn, &lmr, space);
    return dm_tx_post(conn, 1, &lmr, lmr.virtual_address + tx->ring.delta, space + DM_TRAILER_LEN,
                      false);
}

/*
 * A write on the pipe's endpoint that is not a record; rmr NULL: a message. The triplets are the
 * caller's again.
 */
DAT_RETURN dm_eager_write(struct dm_conn *conn, DAT_LMR_TRIPLET *lmr, DAT_RMR_TRIPLET *rmr,
                          bool is_signalled);
/* A word for the peer's control words, `at` bytes into struct dm_ctl. */
DAT_RETURN dm_eager_write_word(struct dm_conn *conn, size_t at, uint64_t word, bool is_signalled);
/* Send a record of the shadow buffer again: space bytes before the trailer. */
DAT_RETURN dm_eager_post_again(struct dm_conn *conn, const void *trailer, uint32_t space);
/* Send as much of what is to be repeated as the queue takes now. */
void dm_eager_repeat(struct dm_conn *conn);

#endif
