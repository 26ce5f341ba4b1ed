/*
 * Notifying: writes to a ring wake nobody. So a process that goes to sleep says so in the control
 * pages of the peers that write to its rings, and each of them sends one message behind its next
 * record.
 *
 * Whoever sleeps posts the receive first, then writes the word, then looks at the ring once more. A
 * record that the peer had under way before it saw the word gives no notification, and may come
 * after that look: sleeps that begin short and double bound what that costs. A peer clears the word
 * when it notifies, so that a process that is awake gets one notification too many at most.
 *
 * With pending bits (core/pending.h) the word says that a receive is posted, and is written after each
 * notification only; that the process is asleep is in its row, and one of the peers notifies it.
 */
#include "dapl_adapt/eager/notify.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/post.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"

/* Is there space for one more request that is not a record? */
static bool notify_has_space(struct dm_conn *conn, uint32_t reserve)
{
    struct dm_tx *tx = &conn->tx;

    if (tx->n_posted + tx->n_extra - tx->sq.done + reserve >= tx->sq.size)
        conn->adapt->ops->drain(conn->adapt);
    return tx->n_posted + tx->n_extra - tx->sq.done + reserve < tx->sq.size;
}

static bool notify_may_post(const struct dm_conn *conn)
{
    return conn->was_up && !dm_conn_is_lost(conn) && !dm_conn_is_moving(conn) &&
           conn->tx.n_redo == 0 && conn->links->at[DM_LINK_PIPE].may_post;
}

static DAT_RETURN notify_post_recv(struct dm_conn *conn)
{
    const struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    DAT_LMR_TRIPLET *lmr = &conn->rx.notify;
    DAT_RETURN rc;

    lmr->virtual_address = (DAT_VADDR)(uintptr_t)&conn->ctl->notify[0];
    lmr->segment_length = sizeof(conn->ctl->notify[0]);
    lmr->lmr_context = conn->region.lmr.lctx;
    dm_serial_enter(conn->ia->is_serial);
    rc = DAT_EP_POST_RECV(link->ep, 1, lmr, dm_cookie(DM_COOKIE_NOTIFY, link, 0),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(conn->ia->is_serial);
    return rc;
}

bool dm_eager_arm(struct dm_conn *conn)
{
    uint64_t word = conn->tx.pending.row != NULL ? DM_CTL_PENDING | DM_CTL_ARMED : DM_CTL_ARMED;
    DAT_RETURN rc;

    if (conn->is_sendrecv || conn->is_armed)
        return true;
    if (!notify_may_post(conn) || !notify_has_space(conn, DM_TX_RESERVE) || !notify_may_post(conn))
        return false;
    rc = notify_post_recv(conn);
    if (rc == DAT_SUCCESS) {
        conn->is_armed = true;
        rc = dm_eager_write_word(conn, offsetof(struct dm_ctl, asleep), word, false);
    }
    if (rc != DAT_SUCCESS)
        dm_conn_post_failed(conn, rc);
    return rc == DAT_SUCCESS;
}

/* One message, for the receive that the peer has posted before it said so. */
static void notify_send(struct dm_conn *conn)
{
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    atomic_store_explicit(&conn->ctl->asleep, conn->tx.pending.row != NULL ? DM_CTL_PENDING : 0,
                          memory_order_relaxed);
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)&conn->ctl->notify[1];
    lmr.segment_length = sizeof(conn->ctl->notify[1]);
    lmr.lmr_context = conn->region.lmr.lctx;
    /* In the end all that was posted is waited for, and this may be the last. */
    rc = dm_eager_write(conn, &lmr, NULL, conn->adapt->is_quiet);
    if (rc != DAT_SUCCESS)
        dm_conn_post_failed(conn, rc);
    conn->tx.n_avail = 0; /* a request less: the next record counts again */
}

/* Have we to notify it? If so, its word is ours. */
static bool notify_is_due(struct dm_conn *conn)
{
    struct dm_pending_row *row = conn->tx.pending.row;

    if (row == NULL)
        return true;
    if (!dm_pending_is_hot(row, conn->adapt->poll.pending.number))
        dm_pending_set(row, conn->adapt->poll.pending.number);
    return (atomic_load_explicit(&conn->ctl->asleep, memory_order_relaxed) & DM_CTL_ARMED) != 0 &&
           dm_pending_wakes(row);
}

void dm_eager_notify_asleep(struct dm_conn *conn)
{
    if (!notify_is_due(conn))
        return;
    if (conn->tx.protocol != DM_RECORD_SEND && notify_may_post(conn) && notify_has_space(conn, 0) &&
        notify_may_post(conn))
        notify_send(conn);
    else if (conn->tx.pending.row !=
             NULL) /* without space the next record tries again, or others */
        atomic_store(&conn->tx.pending.row->is_asleep, 1);
}
