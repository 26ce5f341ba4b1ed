/*
 * Which records the peer has consumed: counts of slots and cells.
 *
 * 16 bits of a count look like news 65536 slots later. So the ones in trailers are of use once; and
 * a record that is not read for long is asked ahead of that, together with all others that are here,
 * which then say nothing more.
 */
#include "dapl_adapt/eager/used.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/walk.h"
#include "util/port.h"

#define LOOK_EVERY 16384 /* slots and cells; with a ring's, at most 4096, much less than 65536 */

/* Was the record that was read last one of those? */
static bool credit_is_stale(struct dm_conn *conn)
{
    const struct dm_rx *rx = &conn->rx;

    if (dm_likely(!conn->credits.has_stale))
        return false;
    conn->credits.has_stale = conn->credits.stale - (rx->n_consumed + (rx->left > 0)) <= rx->n_most;
    return conn->credits.has_stale;
}

/* Take what the last of the unread records says, for all of them. */
static void credit_look_ahead(struct dm_conn *conn)
{
    struct dm_rx *rx = &conn->rx;
    uint64_t word = 0;
    uint32_t n = rx->protocol != DM_RECORD_WRITE ? 0 /* it is known on arrival, or comes apart */
                                                 : dm_eager_unread(conn, &word);
    uint32_t end = rx->n_consumed + n;

    if (n > 0 && (!conn->credits.has_stale || end != conn->credits.stale))
        rx->peer_credit = (uint32_t)(word >> DM_TRAILER_CREDIT) & 0xffff;
    conn->credits.looked = conn->tx.n_filled;
    conn->credits.has_stale = n > 0;
    conn->credits.stale = end;
}

uint32_t dm_eager_count_used(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t written = (uint32_t)atomic_load_explicit(&conn->ctl->credit, memory_order_acquire);
    uint32_t used = tx->n_filled - conn->credits.acked_by_peer;
    uint32_t other;

    if (credit_is_stale(conn))
        conn->rx.peer_credit = conn->credits.acked_by_peer & 0xffff;
    if (dm_unlikely(tx->n_filled - conn->credits.looked >= LOOK_EVERY))
        credit_look_ahead(conn);
    other = (tx->n_filled - conn->rx.peer_credit) & 0xffff;
    if (other < used)
        used = other;
    if (written != conn->credits.written && tx->n_filled - written < used)
        used = tx->n_filled - written; /* all bits: it may be old */
    conn->credits.written = written;
    conn->credits.acked_by_peer = tx->n_filled - used;
    conn->rx.peer_credit = conn->credits.acked_by_peer & 0xffff;
    return used;
}
