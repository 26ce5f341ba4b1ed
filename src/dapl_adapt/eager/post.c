/*
 * Posting on the pipe's endpoint, what is not on the fast path.
 */
#include "dapl_adapt/eager/post.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/clean.h"
#include "dapl_adapt/eager/place.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/provider/serial.h"

static inline uint64_t post_first_trailer(const struct dm_tx *tx)
{
    return (uint64_t)(uintptr_t)tx->ring.trailer -
           (uint64_t)tx->ring.slot * (uint32_t)tx->ring.stride;
}

/* Copy triplets to where they may stay, if the provider has not. */
static struct dm_tx_desc *post_keep(struct dm_tx *tx, DAT_COUNT n_iov, const DAT_LMR_TRIPLET *iov,
                                    const DAT_RMR_TRIPLET *rmr)
{
    struct dm_tx_desc *desc = dm_tx_desc(tx, NULL);

    if (desc == NULL)
        return NULL;
    memcpy(desc->iov, iov, (size_t)n_iov * sizeof(*iov));
    if (rmr != NULL)
        desc->rmr = *rmr;
    return desc;
}

static DAT_RETURN post_write(struct dm_tx *tx, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                             enum dm_cookie_kind kind, DAT_RMR_TRIPLET *rmr,
                             DAT_COMPLETION_FLAGS flags)
{
    struct dm_tx_desc *desc = post_keep(tx, n_iov, iov, rmr);

    return DAT_EP_POST_RDMA_WRITE(tx->ep, n_iov, desc != NULL ? desc->iov : iov,
                                  dm_tx_cookie(tx, kind), desc != NULL ? &desc->rmr : rmr, flags);
}

static DAT_RETURN post_send(struct dm_tx *tx, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                            enum dm_cookie_kind kind, DAT_COMPLETION_FLAGS flags)
{
    struct dm_tx_desc *desc = post_keep(tx, n_iov, iov, NULL);

    return DAT_EP_POST_SEND(tx->ep, n_iov, desc != NULL ? desc->iov : iov, dm_tx_cookie(tx, kind),
                            flags);
}

/*
 * The basic design: the data, then the trailer as a word of its own (the head). What was consumed (the
 * tail) is not in it, but in a third write, back (eager/credit.c). The data are a post that is no
 * record, so that the numbers of posts go on by one.
 */
static DAT_RETURN post_basic(struct dm_conn *conn, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                             DAT_RMR_TRIPLET *rmr, enum dm_cookie_kind kind,
                             DAT_COMPLETION_FLAGS flags)
{
    struct dm_tx *tx = &conn->tx;
    DAT_LMR_TRIPLET *last = &iov[n_iov - 1];
    DAT_LMR_TRIPLET head;
    DAT_RETURN rc = DAT_SUCCESS;

    head.virtual_address = last->virtual_address + last->segment_length - DM_TRAILER_LEN;
    head.segment_length = DM_TRAILER_LEN;
    head.lmr_context = tx->ring.lctx;
    *(uint64_t *)(uintptr_t)head.virtual_address &= ~(UINT64_C(0xffff) << DM_TRAILER_CREDIT);
    conn->rx.n_credited = conn->credits.tail;
    last->segment_length -= DM_TRAILER_LEN;
    rmr->segment_length -= DM_TRAILER_LEN;
    n_iov -= last->segment_length == 0;
    if (n_iov > 0) {
        rc = post_write(tx, n_iov, iov, DM_COOKIE_QUIET, rmr, DAT_COMPLETION_SUPPRESS_FLAG);
        tx->n_extra++;
        conn->ia->counts.n_writes++;
    }
    if (rc != DAT_SUCCESS)
        return rc;
    rmr->virtual_address = tx->heads + (head.virtual_address - post_first_trailer(tx)) /
                                           (uint32_t)tx->ring.stride * DM_TRAILER_LEN;
    rmr->segment_length = DM_TRAILER_LEN;
    return post_write(tx, 1, &head, kind, rmr, flags);
}

/* A record that is not one write, or whose triplets the provider keeps. */
DAT_RETURN dm_tx_post_other(struct dm_conn *conn, DAT_COUNT n_iov, DAT_LMR_TRIPLET *iov,
                            DAT_RMR_TRIPLET *rmr, enum dm_cookie_kind kind,
                            DAT_COMPLETION_FLAGS flags)
{
    if (conn->tx.protocol == DM_RECORD_BASIC)
        return post_basic(conn, n_iov, iov, rmr, kind, flags);
    if (conn->tx.protocol == DM_RECORD_SEND)
        return post_send(&conn->tx, n_iov, iov, kind, flags);
    return post_write(&conn->tx, n_iov, iov, kind, rmr, flags);
}

DAT_RETURN dm_tx_post_mixed(struct dm_conn *conn, DAT_LMR_TRIPLET *lmr, uint32_t space)
{
    uint64_t remote = lmr->virtual_address + conn->tx.ring.delta;
    DAT_LMR_TRIPLET iov[2];
    uint32_t more = dm_eager_clean(conn, space, &iov[0]);

    if (more == 0)
        return dm_tx_post(conn, 1, lmr, remote, space + DM_TRAILER_LEN, false);
    iov[1] = *lmr;
    return dm_tx_post(conn, 2, iov, remote - more, more + space + DM_TRAILER_LEN, false);
}

DAT_RETURN dm_eager_write(struct dm_conn *conn, DAT_LMR_TRIPLET *lmr, DAT_RMR_TRIPLET *rmr,
                          bool is_signalled)
{
    struct dm_tx *tx = &conn->tx;
    DAT_COMPLETION_FLAGS flags;
    enum dm_cookie_kind kind = dm_tx_signal_kind(conn, is_signalled, &flags);
    DAT_RETURN rc;

    *(rmr != NULL ? &conn->ia->counts.n_writes : &conn->ia->counts.n_sends) += 1;
    dm_serial_enter(tx->is_serial);
    if (rmr != NULL)
        rc = post_write(tx, 1, lmr, kind, rmr, flags);
    else
        rc = post_send(tx, 1, lmr, kind, flags);
    dm_serial_leave(tx->is_serial);
    tx->n_extra++;
    return rc;
}

DAT_RETURN dm_eager_write_word(struct dm_conn *conn, size_t at, uint64_t word, bool is_signalled)
{
    uint64_t *out = dm_tx_out(conn);
    DAT_LMR_TRIPLET lmr;
    DAT_RMR_TRIPLET rmr;

    *out = word;
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)out;
    lmr.segment_length = sizeof(*out);
    lmr.lmr_context = conn->region.lmr.lctx;
    rmr.virtual_address = conn->ctl_remote + at;
    rmr.segment_length = sizeof(*out);
    rmr.rmr_context = conn->tx.rctx;
    return dm_eager_write(conn, &lmr, &rmr, is_signalled);
}

DAT_RETURN dm_eager_post_again(struct dm_conn *conn, const void *trailer, uint32_t space)
{
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    lmr.virtual_address = (DAT_VADDR)(uintptr_t)trailer - space;
    lmr.segment_length = space + DM_TRAILER_LEN;
    lmr.lmr_context = conn->tx.ring.lctx;
    rc = dm_tx_post(conn, 1, &lmr, lmr.virtual_address + conn->tx.ring.delta,
                    space + DM_TRAILER_LEN, false);
    conn->tx.n_extra++;
    *(conn->tx.protocol == DM_RECORD_SEND ? &conn->ia->counts.n_sends
                                          : &conn->ia->counts.n_writes) += 1;
    return rc;
}

void dm_eager_repeat(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint64_t *trailer;
    uint32_t slot;
    uint32_t len;
    DAT_RETURN rc;

    while (tx->n_redo > 0 &&
           tx->n_posted + tx->n_extra - tx->sq.done + DM_TX_RESERVE < tx->sq.size) {
        slot = (tx->ring.slot + tx->n_slots - tx->n_redo) % tx->n_slots;
        trailer = (void *)dm_eager_place_sent(conn, slot);
        len = (uint32_t)*trailer & DM_TRAILER_LEN_MASK;
        *trailer = (*trailer & ~(UINT64_C(0xffff) << DM_TRAILER_CREDIT)) |
                   (uint64_t)(conn->rx.n_consumed & 0xffff) << DM_TRAILER_CREDIT;
        conn->rx.n_credited = conn->rx.n_consumed;
        rc = dm_eager_post_again(conn, trailer, len > 0 ? dm_record_space(len) : 0);
        if (rc != DAT_SUCCESS) {
            dm_conn_post_failed(conn, rc);
            return;
        }
        tx->n_redo--;
        conn->ia->counts.n_again++;
    }
}
