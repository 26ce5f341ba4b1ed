/*
 * Credits.
 *
 * Credits are counts of slots and cells whose records were consumed, absolute: their low 16 bits in
 * the trailer of every record; and, when much is owed and nothing goes back, written to a word in the
 * peer's control page. The sender takes whichever is further.
 */
#include "dapl_adapt/eager/credit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/lend.h"
#include "dapl_adapt/eager/place.h"
#include "dapl_adapt/eager/notify.h"
#include "dapl_adapt/eager/post.h"
#include "dapl_adapt/eager/used.h"
#include "dapl_adapt/provider/dat.h"
#include "util/err.h"
#include "util/port.h"

void dm_eager_refill(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t credits;
    uint32_t queue;
    uint32_t used;

    if (dm_unlikely(conn->parting.is_end_sent)) { /* what comes now goes by the next connection */
        tx->n_avail = 0;
        return;
    }
    if (dm_unlikely(tx->n_redo > 0)) {
        conn->adapt->ops->drain(conn->adapt);
        dm_eager_repeat(conn);
        if (tx->n_redo > 0 || dm_conn_is_moving(conn) || dm_conn_is_lost(conn)) {
            tx->n_avail = 0;
            return;
        }
    }
    used = dm_eager_count_used(conn);
    credits = dm_eager_place_credits(conn, used);
    if (tx->protocol == DM_RECORD_SEND) /* one is kept to be able to give credits */
        credits = credits > 0 ? credits - 1 : 0;
    used = tx->n_posted + tx->n_extra - tx->sq.done;
    if (dm_unlikely(used + DM_TX_RESERVE >= tx->sq.size)) {
        conn->adapt->ops->drain(conn->adapt);
        if (dm_conn_is_moving(conn) || dm_conn_is_lost(conn)) { /* it broke just now */
            tx->n_avail = 0;
            return;
        }
        used = tx->n_posted + tx->n_extra - tx->sq.done;
    }
    queue = used + DM_TX_RESERVE < tx->sq.size ? tx->sq.size - DM_TX_RESERVE - used : 0;
    if (dm_unlikely(tx->protocol == DM_RECORD_BASIC)) /* two posts for a record */
        queue /= 2;
    tx->n_avail = credits < queue ? credits : queue;
    if (tx->loan.places != NULL && tx->n_avail > 0) /* one at a time */
        tx->n_avail = dm_eager_lend(conn);
}

int dm_eager_send_empty(struct dm_conn *conn, uint64_t flags)
{
    struct dm_tx *tx = &conn->tx;
    DAT_RETURN rc;

    if (tx->loan.places != NULL && !dm_eager_lend(conn))
        return DM_OK; /* what asks for it asks again */
    dm_tx_write_trailer(conn, 0);
    *(uint64_t *)(void *)tx->ring.trailer |= flags;
    rc = dm_tx_post_here(conn, 0);
    if (tx->n_avail == 0)
        tx->n_avail = 1; /* the held-back one is used */
    dm_tx_advance(conn, 0);
    if (rc != DAT_SUCCESS)
        return dm_conn_post_failed(conn, rc);
    dm_eager_notify(conn);
    return DM_OK;
}

/* Write the count to the peer's control page. */
static void credit_write(struct dm_conn *conn, bool is_signalled)
{
    DAT_RETURN rc;

    conn->rx.n_credited = conn->credits.tail = conn->rx.n_consumed;
    conn->rx.is_asked = false;
    rc = dm_eager_write_word(conn, offsetof(struct dm_ctl, credit), conn->rx.n_consumed,
                             is_signalled);
    if (rc != DAT_SUCCESS)
        dm_conn_post_failed(conn, rc);
    else
        dm_eager_notify(conn);
}

/* By send: an empty record, for which one credit and request are kept. */
static void credit_by_send(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t used = (tx->n_filled - conn->rx.peer_credit) & 0xffff;

    if (tx->n_redo > 0) /* these carry it */
        return;
    if (tx->n_posted + tx->n_extra - tx->sq.done >= tx->sq.size)
        return;
    if (used >= tx->n_slots &&
        conn->failover.n_moves > 0) { /* the other side may be in the same place */
        credit_write(conn, false);
        return;
    }
    /*
     * Without any credit wait: the peer has sent its own message of this kind, which
     * brings some, and reading that asks again.
     */
    if (used < tx->n_slots)
        dm_eager_send_empty(conn, 0);
}

/* The peer need not come back when the connection ends now: so many records were all. */
static DAT_RETURN credit_write_disconnect(struct dm_conn *conn)
{
    uint64_t word = DM_CTL_PARTS | conn->tx.n_filled;

    if (conn->adapt->is_quiet)
        word |= DM_CTL_ENDS;
    return dm_eager_write_word(conn, offsetof(struct dm_ctl, peer_closing), word, true);
}

/* Is there a request for it? */
static bool credit_may_disconnect(struct dm_conn *conn)
{
    const struct dm_tx *tx = &conn->tx;

    return tx->n_redo == 0 &&
           tx->n_posted + tx->n_extra - tx->sq.done + DM_TX_RESERVE < tx->sq.size;
}

bool dm_eager_part(struct dm_conn *conn)
{
    DAT_RETURN rc;

    if (conn->state != DM_CONN_UP || !conn->links->at[DM_LINK_PIPE].may_post)
        return false;
    if (!credit_may_disconnect(conn))
        dm_eager_refill(conn);
    if (conn->state != DM_CONN_UP || !credit_may_disconnect(conn))
        return false;
    conn->parting.last = conn->tx.n_posted + conn->tx.n_extra + 1;
    rc = credit_write_disconnect(conn);
    if (rc == DAT_SUCCESS)
        dm_eager_notify(conn);
    else
        dm_conn_post_failed(conn, rc);
    return rc == DAT_SUCCESS;
}

void dm_eager_flush(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    if (dm_conn_is_lost(conn) || !conn->links->at[DM_LINK_PIPE].may_post)
        return;
    if ((dm_conn_can_move(conn) || conn->who.foreign != NULL) && credit_may_disconnect(conn)) {
        if (credit_write_disconnect(conn) != DAT_SUCCESS)
            tx->sq.done = tx->n_posted + tx->n_extra; /* nothing to wait for */
    } else if (tx->n_posted + tx->n_extra != tx->sq.done &&
               tx->n_posted + tx->n_extra - tx->sq.done < tx->sq.size) {
        credit_write(conn, true);
    }
}

void dm_eager_credit(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    if (dm_conn_is_lost(conn) || !conn->links->at[DM_LINK_PIPE].may_post)
        return;
    if (tx->protocol == DM_RECORD_SEND) {
        credit_by_send(conn);
        return;
    }
    if (tx->n_posted + tx->n_extra - tx->sq.done >= tx->sq.size) {
        conn->adapt->ops->drain(conn->adapt);
        if (tx->n_posted + tx->n_extra - tx->sq.done >= tx->sq.size || dm_conn_is_moving(conn))
            return;
    }
    credit_write(conn, false);
    if (tx->n_avail > 0)
        dm_eager_refill(conn);
}
