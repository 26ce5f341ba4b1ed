/*
 * Walking over the records that are here and unread.
 */
#include "dapl_adapt/eager/walk.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"

bool dm_rx_walk_has(const struct dm_rx *rx, const struct dm_rx_walk *walk)
{
    return walk->n < rx->n_most && dm_rx_ring_has(&walk->ring);
}

void dm_rx_walk_next(struct dm_rx_walk *walk)
{
    uint64_t word = atomic_load_explicit(walk->ring.trailer, memory_order_relaxed);

    walk->n += dm_rx_ring_next(&walk->ring, &walk->idle, word);
}

uint32_t dm_eager_unread(const struct dm_conn *conn, uint64_t *word_p)
{
    const struct dm_rx *rx = &conn->rx;
    struct dm_rx_walk walk = {rx->ring, rx->idle, 0};

    if (rx->ring.gen == 0) /* no ring yet */
        return 0;
    for (; dm_rx_walk_has(rx, &walk); dm_rx_walk_next(&walk))
        *word_p = atomic_load_explicit(walk.ring.trailer, memory_order_relaxed);
    return walk.n;
}

uint32_t dm_eager_arrived(const struct dm_conn *conn)
{
    uint64_t word;

    return conn->rx.n_consumed + dm_eager_unread(conn, &word);
}
