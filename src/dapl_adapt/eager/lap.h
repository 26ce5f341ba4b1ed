/*
 * The sender's way round the ring.
 */
#ifndef DM_DAPL_ADAPT_EAGER_LAP_H
#define DM_DAPL_ADAPT_EAGER_LAP_H

#include <stdint.h>

struct dm_conn;
struct dm_tx;

/* The first lap of a ring. */
void dm_eager_lap_start(struct dm_tx *tx);
/* All slots of this lap are filled: to slot 0, in the next generation. */
void dm_tx_next_lap(struct dm_tx *tx);
/*
 * For the record that goes to the present slot: it may be the last of its lap, or of those there
 * are credits for. Flags for its trailer; tx.n_avail is counted anew.
 */
uint64_t dm_eager_look_at_lap(struct dm_conn *conn);
/* So many records may go when n_used are unconsumed. */
uint32_t dm_eager_lap_credits(struct dm_conn *conn, uint32_t n_used);

#endif
