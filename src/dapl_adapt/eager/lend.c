/*
 * Buffers of the rail that connections borrow to send from.
 *
 * Where both ends have shared receives a record is a message that is placed by order alone, and the
 * connection does not move. So the sender needs its bytes only until the request has completed, and
 * no shadow of a ring: it takes a buffer of the rail's for each record. Every process of the job is
 * sure of DM_RX_GRANT, so that one that takes nothing does not keep the others from being sent to;
 * the rest are in common.
 */
#include "dapl_adapt/eager/lend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/srq.h"
#include "util/err.h"

int dm_eager_lend_begin(struct dm_conn *conn)
{
    struct dm_tx_loan *loan = &conn->tx.loan;

    for (loan->n = 1; loan->n <= (uint32_t)conn->sq_size;)
        loan->n *= 2;
    loan->places = calloc(loan->n, sizeof(*loan->places));
    if (loan->places == NULL)
        return DM_FAIL(DM_ENOMEM, "buffers of a pipe, %d requests", conn->sq_size);
    conn->tx.ring.lctx = conn->ia->memory.srq->region.lmr.lctx;
    conn->tx.ring.end = 1; /* a round is one record */
    conn->tx.ring.look = UINT32_MAX;
    conn->tx.sq.signal_every = conn->tx.until_signal = 1;
    return DM_OK;
}

bool dm_eager_lend(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    struct dm_rail_srq *srq = conn->ia->memory.srq;
    uint32_t place;

    if (tx->loan.at_hand != 0)
        return true;
    if (tx->loan.n_held >= DM_RX_GRANT && srq->n_common == 0)
        return false;
    srq->n_common -= tx->loan.n_held >= DM_RX_GRANT;
    tx->loan.n_held++;
    place = srq->free[--srq->n_free];
    tx->loan.at_hand = place + 1;
    tx->ring.trailer = dm_rail_srq_buffer(srq, place) + tx->ring.stride - DM_TRAILER_LEN;
    return true;
}

void dm_eager_lend_posted(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    tx->loan.places[(tx->n_posted + tx->n_extra - 1) % tx->loan.n] = tx->loan.at_hand;
    tx->loan.at_hand = 0;
    tx->ring.slot = 0;
}

static void lend_give(struct dm_conn *conn, uint32_t place)
{
    struct dm_rail_srq *srq = conn->ia->memory.srq;

    srq->free[srq->n_free++] = place;
    srq->n_common += conn->tx.loan.n_held > DM_RX_GRANT;
    conn->tx.loan.n_held--;
}

void dm_eager_lend_back(struct dm_conn *conn, uint32_t done)
{
    struct dm_tx_loan *loan = &conn->tx.loan;

    for (; (int32_t)(done - loan->done) > 0; loan->done++) {
        uint32_t *place = &loan->places[loan->done % loan->n];

        if (*place != 0)
            lend_give(conn, *place - 1);
        *place = 0;
    }
}

void dm_eager_lend_end(struct dm_conn *conn)
{
    struct dm_tx_loan *loan = &conn->tx.loan;

    if (loan->places == NULL)
        return;
    dm_eager_lend_back(conn, conn->tx.n_posted + conn->tx.n_extra);
    if (loan->at_hand != 0)
        lend_give(conn, loan->at_hand - 1);
    loan->at_hand = 0;
}
