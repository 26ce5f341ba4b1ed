/*
 * The sender's way round its rings.
 */
#ifndef DM_DAPL_ADAPT_EAGER_PLACE_H
#define DM_DAPL_ADAPT_EAGER_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/tx.h"

struct dm_conn;

/* The first round; has_cells: tx.ring is that of cells, tx.idle that of slots. */
void dm_eager_place_start(struct dm_conn *conn, bool has_cells);
/* Slots of the ring that are for this peer among the others; has_long: when long records go there, too. */
uint32_t dm_eager_place_part(const struct dm_conn *conn, bool has_long);
/* A long one does. */
void dm_eager_place_long(struct dm_conn *conn);
/* The last record of a round is sent: to slot 0, in the next generation, or to the other ring. */
void dm_eager_place_next(struct dm_conn *conn);
/* Bytes of the longest record that goes to cells. */
static inline uint32_t dm_eager_place_cells_max(const struct dm_tx *tx)
{
    return tx->place.cells_most * DM_CELL_LEN - DM_TRAILER_LEN;
}

/*
 * For the record of len bytes that goes to the present slot: it may be the last of its round, or of
 * those there are credits for. Flags for its trailer.
 */
uint64_t dm_eager_place_look(struct dm_conn *conn, size_t len);
/* So many slots or cells may be filled when n_used are unconsumed. */
uint32_t dm_eager_place_credits(struct dm_conn *conn, uint32_t n_used);
/* The next record does not fit in cells: flags of an empty one that goes to the present cell. */
uint64_t dm_eager_place_leave_cells(struct dm_conn *conn);

/*
 * DM_RECORD_SEND: messages arrive in their order, so it does not matter where they are sent from, and
 * short ones are kept in cells. Begin with that, or end it: before the first record, or with a new rail.
 */
void dm_eager_place_pack(struct dm_conn *conn, bool is_packed);
/* The present record, of len bytes, is too long for one cell. False: for a slot, too. */
bool dm_eager_place_unpack_one(struct dm_conn *conn, size_t len);
/* Where the trailer of the last record of that slot is. */
char *dm_eager_place_sent(const struct dm_conn *conn, uint32_t slot);

#endif
