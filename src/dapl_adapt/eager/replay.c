/*
 * The pipe on another rail: its counts, ring and shadow buffer outlive the endpoint.
 *
 * The receiver's count of records that are here without a gap says what the sender repeats: from
 * the shadow buffer, where a record stays until it is credited, to the same slot with the same
 * generation. Should one have arrived after all it is the same again. A record with parts that were
 * sent from the program's memory, which only rails inside the host do, cannot be repeated: when
 * such a rail breaks before it has arrived the connection is lost. Records that are here and not
 * read stay where they are, or change places within their slots when the new rail carries records
 * in the other way.
 */
#include "dapl_adapt/eager/replay.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/proc.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/eager/credit.h"
#include "dapl_adapt/eager/setup.h"
#include "dapl_adapt/eager/sr.h"
#include "dapl_adapt/eager/walk.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/err.h"

static char *replay_slot_end(const struct dm_rx *rx, uint32_t slot)
{
    return rx->slots + (size_t)(slot + 1) * rx->stride - DM_TRAILER_LEN;
}

/*
 * A message may have been placed, all of it or the end, and not have arrived: as a record that is written it would
 * seem to be here.
 */
static void replay_clear_ends(struct dm_rx *rx)
{
    for (uint32_t slot = 0; slot < rx->n_slots; slot++)
        atomic_store_explicit((_Atomic uint64_t *)(void *)replay_slot_end(rx, slot), 0,
                              memory_order_relaxed);
}

/* Bring the records that are here to where the other way of travelling has them. */
static int replay_change_protocol(struct dm_conn *conn, bool is_recv)
{
    struct dm_rx *rx = &conn->rx;
    struct dm_rx_walk walk = {rx->ring, rx->idle, 0};
    char *at;
    uint64_t word;
    uint32_t len;

    if (dm_eager_sr_alloc(conn) != DM_OK)
        return DM_ENOMEM;
    if (is_recv)
        memset((void *)rx->trailers, 0, rx->n_slots * sizeof(*rx->trailers));
    else
        replay_clear_ends(rx);
    for (; dm_rx_walk_has(rx, &walk); dm_rx_walk_next(&walk)) {
        word = atomic_load_explicit(walk.ring.trailer, memory_order_acquire);
        len = (uint32_t)word & DM_TRAILER_LEN_MASK;
        at = replay_slot_end(rx, walk.ring.slot);
        if (walk.n > 0 || rx->left == 0) { /* else it is being read where it is */
            char *low = dm_eager_sr_at(rx, walk.ring.slot, len);
            char *high = at - dm_record_space(len);

            memmove(is_recv ? low : high, is_recv ? high : low, len);
        }
        if (is_recv)
            atomic_store_explicit(&rx->trailers[walk.ring.slot], word, memory_order_relaxed);
        else
            atomic_store_explicit((_Atomic uint64_t *)(void *)at, word, memory_order_relaxed);
    }
    conn->credits.has_stale = !is_recv; /* what these said is known */
    conn->credits.stale = rx->n_consumed + walk.n;
    rx->protocol = is_recv ? DM_RECORD_SEND : DM_RECORD_WRITE;
    rx->ring.trailer =
        is_recv ? &rx->trailers[rx->ring.slot] : (void *)replay_slot_end(rx, rx->ring.slot);
    rx->ring.step = is_recv ? (int32_t)sizeof(*rx->trailers) : (int32_t)rx->stride;
    return DM_OK;
}

/* The new rail's receives have one part: records go to slots, as they will arrive there. */
static void replay_leave_cells(struct dm_conn *conn)
{
    struct dm_rx *rx = &conn->rx;
    struct dm_rx_walk walk = {rx->ring, rx->idle, 0};

    for (; dm_rx_walk_has(rx, &walk); dm_rx_walk_next(&walk)) {
        uint64_t word = atomic_load_explicit(walk.ring.trailer, memory_order_acquire);
        char *slot = rx->slots + (size_t)walk.ring.slot * rx->stride;
        const char *at = dm_eager_sr_at(rx, walk.ring.slot, (uint32_t)word & DM_TRAILER_LEN_MASK);

        if (at != slot)
            memcpy(slot, at, DM_CELL_LEN);
    }
    rx->cells = NULL;
}

int dm_eager_rx_resume(struct dm_conn *conn, DAT_EP_HANDLE ep)
{
    struct dm_rx *rx = &conn->rx;
    uint32_t here;
    int err = DM_OK;

    if (rx->ring.gen == 0)
        dm_eager_setup_rx(conn);
    here = dm_eager_arrived(conn) - rx->n_consumed;
    if ((rx->protocol == DM_RECORD_SEND) != conn->is_sendrecv)
        err = replay_change_protocol(conn, conn->is_sendrecv);
    if (err != DM_OK || !conn->is_sendrecv)
        return err;
    if (rx->cells != NULL && !dm_eager_sr_can_split(conn->ia))
        replay_leave_cells(conn);
    rx->arrive = (rx->ring.slot + here) % rx->n_slots;
    return dm_eager_sr_post(conn, ep, rx->arrive, rx->n_slots - here);
}

/* The connector's first message of an epoch after the first: the other side may speak then. */
static int replay_speak_first(struct dm_conn *conn)
{
    struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    struct dm_tx *tx = &conn->tx;
    struct dm_tx_desc own, *desc = dm_tx_desc(tx, &own);
    DAT_RETURN rc;

    dm_link_first(link, desc->iov);
    desc->iov[0].segment_length = sizeof(uint64_t);
    dm_serial_enter(tx->is_serial);
    rc = DAT_EP_POST_SEND(tx->ep, 1, desc->iov,
                          dm_cookie(DM_COOKIE_TX, link, tx->n_posted + tx->n_extra),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_leave(tx->is_serial);
    if (rc != DAT_SUCCESS)
        return dm_conn_post_failed(conn, rc);
    tx->n_extra++;
    tx->sq.n_signalled++;
    conn->ia->n_signalled++;
    return DM_OK;
}

int dm_eager_resume(struct dm_conn *conn)
{
    struct dm_link *link = &conn->links->at[DM_LINK_PIPE];
    const struct dm_conn_private *priv = &link->answer;
    struct dm_tx *tx = &conn->tx;
    int err;

    dm_eager_setup(conn, priv->addr, priv->ctx);
    atomic_store_explicit(&conn->ctl->asleep, 0, memory_order_relaxed);
    tx->n_redo = tx->n_filled - priv->arrived;
    conn->credits.acked_by_peer = priv->arrived - priv->unconsumed;
    conn->rx.n_credited = conn->credits.tail = conn->credits.acked_to_peer;
    if (tx->n_redo > tx->n_slots || priv->unconsumed > tx->n_slots)
        return DM_FAIL(DM_EPEER, "%s counts %u records of %u", dm_who(conn->adapt, conn->proc).text,
                       priv->arrived, tx->n_filled);
    if (tx->direct.has_hole && tx->n_posted - tx->direct.hole <= tx->n_redo)
        return DM_FAIL(DM_EPEER, "%s broke while it sent from the program's memory",
                       conn->failover.broken != NULL ? conn->failover.broken->name : "a rail");
    tx->n_avail = 0;
    if (!link->is_active && !link->has_spoken) {
        link->is_due = true;
        conn->ia->n_signalled++;
        return DM_OK;
    }
    err = link->is_active ? replay_speak_first(conn) : DM_OK;
    if (err != DM_OK || dm_conn_is_moving(conn))
        return err;
    link->may_post = true;
    dm_eager_refill(conn);
    return DM_OK;
}
