/*
 * Walking over the records that are here and unread.
 */
#ifndef DM_DAPL_ADAPT_EAGER_WALK_H
#define DM_DAPL_ADAPT_EAGER_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/rx.h"

struct dm_conn;

/* A walk over the records that are here, from the one in front. */
struct dm_rx_walk {
    struct dm_rx_ring ring, idle;
    uint32_t n; /* slots and cells */
};

/* Is there one more, and on to the next. */
bool dm_rx_walk_has(const struct dm_rx *rx, const struct dm_rx_walk *walk);
void dm_rx_walk_next(struct dm_rx_walk *walk);
/* Slots and cells of the peer's records that are here without a gap, since the processes met. */
uint32_t dm_eager_arrived(const struct dm_conn *conn);
/*
 * How many of them are unread, the record that is being read included; *word_p: the last one's
 * trailer.
 */
uint32_t dm_eager_unread(const struct dm_conn *conn, uint64_t *word_p);

#endif
