/*
 * The receiving side of the pipe: peek and consume.
 */
#include "dapl_adapt/eager/rx.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/eager/credit.h"
#include "dapl_adapt/eager/datagram.h"
#include "dapl_adapt/eager/sr.h"
#include "dapl_adapt/public/pipe.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/port.h"

#define PREFETCH_MAX 512 /* bytes of a record */

/* Where the data of the record in front are, when its trailer is not behind them; the credit came apart, too. */
static const char *rx_data_apart(const struct dm_rx *rx, uint32_t len)
{
    if (rx->protocol == DM_RECORD_SEND)
        return dm_eager_sr_at(rx, rx->ring.slot, len);
    return rx->slots + (size_t)(rx->ring.slot + 1) * rx->stride - DM_TRAILER_LEN -
           dm_record_space(len);
}

size_t dm_adapt_eager_peek(struct dm_conn *conn, const void **data_p)
{
    struct dm_rx *rx = &conn->rx;
    uint64_t word;
    uint32_t len;

    if (dm_unlikely(rx->has_datagrams)) {
        len = (uint32_t)dm_eager_datagram_peek(conn, data_p);
        if (rx->has_datagrams)
            return len;
    }
    while (rx->left == 0) {
        word = atomic_load_explicit(rx->ring.trailer, memory_order_acquire);
        if ((word ^ rx->ring.tag) >> DM_TRAILER_TAG != 0)
            return 0;
        len = (uint32_t)word & DM_TRAILER_LEN_MASK;
        if (dm_unlikely(rx->protocol != DM_RECORD_WRITE)) {
            rx->data = rx_data_apart(rx, len);
        } else {
            rx->peer_credit = (uint32_t)(word >> DM_TRAILER_CREDIT) & 0xffff;
            rx->data = (const char *)rx->ring.trailer - dm_record_space(len);
            /* they come from another core, all at once rather than one by one as they are read */
            for (uint32_t at = 0; at + DM_CACHE_LINE < len && at < PREFETCH_MAX;
                 at += DM_CACHE_LINE)
                __builtin_prefetch(rx->data + at);
        }
        rx->left = len;
        rx->len_got += len;
        if (dm_unlikely(len == 0))
            dm_eager_next(conn);
    }
    *data_p = rx->data;
    return rx->left;
}

void dm_adapt_eager_consume(struct dm_conn *conn, size_t len)
{
    struct dm_rx *rx = &conn->rx;

    dm_clock_copied(len);
    if (dm_unlikely(rx->has_datagrams)) {
        dm_eager_datagram_consume(conn, len);
        return;
    }
    rx->data += len;
    rx->left -= (uint32_t)len;
    if (dm_likely(rx->left == 0))
        dm_eager_next(conn);
}

void dm_eager_next(struct dm_conn *conn)
{
    struct dm_rx *rx = &conn->rx;
    uint64_t word = atomic_load_explicit(rx->ring.trailer, memory_order_relaxed);
    uint32_t n;

    if (dm_unlikely(rx->protocol == DM_RECORD_SEND) &&
        dm_eager_sr_repost(conn, rx->ring.slot) != DM_OK)
        return;
    n = dm_rx_ring_next(&rx->ring, &rx->idle, word);
    __builtin_prefetch((char *)rx->ring.trailer + rx->ring.step); /* of the record after the next */
    rx->n_consumed += n;
    if (dm_unlikely(!conn->links->at[DM_LINK_PIPE].may_post && conn->epoch == 0)) {
        /* the connector has spoken: we may too (later epochs: replay.c) */
        conn->links->at[DM_LINK_PIPE].may_post = true;
        dm_eager_datagrams_count(conn);
        dm_eager_refill(conn);
        if (!conn->is_writable_due) {
            conn->is_writable_due = true;
            conn->adapt->poll.n_writable_due++;
        }
    }
    if (dm_unlikely((word & DM_TRAILER_ASK) != 0))
        rx->is_asked = true;
    if (dm_unlikely(dm_rx_owes(rx)))
        dm_eager_credit(conn);
}
