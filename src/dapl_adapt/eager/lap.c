/*
 * The sender's way round its rings.
 *
 * Many peers must not cost much memory: short records go to cells, which are a few pages for all of
 * them. A record that does not fit goes to a slot, behind an empty one in a cell that says so; a few
 * short ones in a row, and the last of them says that the next is in a cell again. Slots and cells are
 * consumed in the order of records, and credits count both.
 *
 * A peer that is one of few, and has shown that it is used, has slots alone: neighbours in memory are
 * fetched ahead by the one who reads while the other writes, and lines that were just read are dearer
 * to write than old ones.
 *
 * With many peers a lap through the slots ends before the last one when the receiver has consumed at
 * least half of it, and it is as long as the bursts of lately; a receiver that falls behind makes laps
 * longer, up to a part of the slots. A slot is filled again when its record of the lap before has been
 * consumed: while the lap is not longer than that one, no more records in slots may be unconsumed than
 * it had. The receiver does not know where the sender stops: it is asked for credits.
 *
 * Generations are told apart by 24 bits: one lap in LAP_FULL goes through all slots, so that no
 * trailer is as old as that.
 */
#include "dapl_adapt/eager/lap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/credit.h"

#define LAP_STEP  8                   /* slots from one look to the next */
#define LAP_FULL  (UINT32_C(1) << 20) /* laps */
#define MOST_LAPS 16                  /* in which bursts are forgotten */
#define PART_ALL  512                 /* slots of all peers together */
#define ROW       4                   /* short records, before cells are used again */
#define HOT       64                  /* records */

static uint32_t lap_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Slots of the ring that are for this peer among the others. */
static uint32_t lap_part(const struct dm_conn *conn)
{
    const struct dm_tx *tx = &conn->tx;
    uint32_t n = (uint32_t)conn->adapt->poll.n_active;

    if (!tx->lap.is_short || n * tx->n_slots <= PART_ALL)
        return tx->n_slots;
    return lap_least(PART_ALL / n > LAP_STEP ? PART_ALL / n : LAP_STEP, tx->n_slots);
}

/* Has this peer slots alone, and all of them? */
static bool lap_is_hot(const struct dm_conn *conn)
{
    return lap_part(conn) == conn->tx.n_slots &&
           (!conn->tx.lap.has_cells || conn->tx.n_posted >= HOT - 1);
}

static void lap_begin(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    tx->ring.end = tx->n_slots;
    if (tx->lap.in_cells) {
        tx->ring.look = tx->n_slots - 1;
        tx->short_below = 0;
    } else if (lap_is_hot(conn)) {
        tx->ring.look = UINT32_MAX;
        tx->short_below = 0;
    } else {
        tx->ring.look = tx->ring.slot + LAP_STEP - 1;
        tx->short_below = tx->lap.has_cells ? DM_CELL_MAX + 1 : 0;
    }
}

void dm_eager_lap_start(struct dm_conn *conn, bool has_cells)
{
    conn->tx.lap.last = conn->tx.n_slots;
    conn->tx.lap.has_cells = conn->tx.lap.in_cells = has_cells;
    lap_begin(conn);
}

static void lap_switch(struct dm_tx *tx)
{
    struct dm_tx_ring other = tx->idle;

    tx->idle = tx->ring;
    tx->ring = other;
    tx->lap.in_cells = !tx->lap.in_cells;
    tx->lap.in_row = 0;
    *(tx->lap.in_cells ? &tx->lap.left : &tx->lap.entered) = tx->n_posted;
}

void dm_eager_lap_next(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint64_t flags = tx->lap.flags;
    uint32_t n = tx->ring.slot;

    tx->lap.flags = 0;
    if (n == tx->n_slots || (flags & DM_TRAILER_LAP_END) != 0) {
        tx->ring.slot = 0;
        tx->ring.trailer -= (size_t)n * tx->ring.stride;
        tx->ring.tag = dm_trailer_tag(++tx->ring.gen);
        if (!tx->lap.in_cells) {
            tx->lap.last = n;
            tx->lap.most -= (tx->lap.most + MOST_LAPS - 1) / MOST_LAPS;
        }
    }
    if ((flags & DM_TRAILER_SWITCH) != 0)
        lap_switch(tx);
    lap_begin(conn);
}

/* Slots that are free when nothing is unconsumed, from the present one on. */
static uint32_t lap_slots(const struct dm_tx *tx)
{
    uint32_t slot = tx->lap.in_cells ? tx->idle.slot : tx->ring.slot;

    return slot < tx->lap.last ? tx->lap.last : tx->n_slots;
}

/* So many records in slots may be unconsumed, the one that goes to the present slot included. */
static uint32_t lap_room(const struct dm_conn *conn)
{
    return lap_least(lap_slots(&conn->tx), lap_part(conn));
}

/*
 * Of n_used records, the last of those up to `number`, how many are in slots at most: those between
 * the last stay and this one are in cells.
 */
static uint32_t lap_in_slots(const struct dm_tx *tx, uint32_t number, uint32_t n_used)
{
    uint32_t here = number - tx->lap.entered, away = tx->lap.entered - tx->lap.left;

    if (!tx->lap.has_cells || n_used <= here)
        return n_used;
    return n_used <= here + away ? here : n_used - away;
}

uint32_t dm_eager_lap_credits(struct dm_conn *conn, uint32_t n_used)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t all = n_used < tx->n_slots ? tx->n_slots - n_used : 0;
    uint32_t room, n;

    if (tx->lap.in_cells)
        return all;
    room = lap_room(conn);
    n = lap_in_slots(tx, tx->n_posted, n_used);
    if (n < room)
        return lap_least(all, room - n);
    if (tx->n_posted - tx->lap.asked < n_used)
        return 0;
    /* The part has become smaller, and the peer knows nothing: one more, that asks. */
    tx->lap.asked = tx->n_posted - n_used;
    return lap_least(all, n < lap_slots(tx) && room < tx->n_slots);
}

/* Is this short record one of several? Only of those in slots. */
static bool lap_is_row(struct dm_tx *tx)
{
    tx->lap.in_row = tx->n_posted == tx->lap.row_end ? tx->lap.in_row + 1 : 1;
    tx->lap.row_end = tx->n_posted + 1;
    return tx->lap.in_row >= ROW;
}

static uint64_t lap_ask(struct dm_tx *tx)
{
    tx->lap.asked = tx->n_posted + 1;
    return DM_TRAILER_ASK;
}

/* The last cell of a lap: from here on this peer may have slots alone, when those are free. */
static uint64_t lap_look_cells(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    if (tx->ring.slot < tx->ring.look || !lap_is_hot(conn) ||
        dm_eager_count_used(conn) > tx->n_posted - tx->lap.left)
        return 0;
    tx->n_avail = lap_least(tx->n_avail, 1 + lap_slots(tx));
    return tx->lap.flags = DM_TRAILER_SWITCH;
}

/* May the lap end with this slot? `used`: of the records in slots, with this one. */
static bool lap_look_slots(struct dm_conn *conn, uint32_t used)
{
    struct dm_tx *tx = &conn->tx;

    if (tx->ring.slot < tx->ring.look || tx->ring.slot + 1 == tx->n_slots)
        return false;
    tx->ring.look += LAP_STEP;
    return tx->lap.is_short && tx->ring.gen % LAP_FULL != LAP_FULL - 1 &&
           2 * used <= tx->ring.slot + 1 && tx->lap.most <= tx->ring.slot + 1;
}

uint64_t dm_eager_lap_look(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t room, used;
    uint64_t flags = 0;

    if (tx->lap.in_cells)
        return tx->lap.flags != 0 ? 0 : lap_look_cells(conn);
    room = lap_room(conn);
    used = lap_in_slots(tx, tx->n_posted + 1, dm_eager_count_used(conn) + 1);
    if (used > tx->lap.most)
        tx->lap.most = used;
    if (len < tx->short_below && lap_is_row(tx))
        flags |= DM_TRAILER_SWITCH;
    if (lap_look_slots(conn, used)) {
        flags |= DM_TRAILER_LAP_END;
        room = tx->ring.slot + 1;
        tx->n_avail = lap_least(tx->n_avail, 1 + room - used);
    }
    tx->lap.flags = flags;
    if (flags != 0)
        tx->ring.end = tx->ring.slot + 1;
    if (tx->n_avail == 1 && room < tx->n_slots && used >= room)
        flags |= lap_ask(tx);
    return flags;
}

int dm_eager_leave_cells(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint64_t flags = DM_TRAILER_SWITCH;
    int err;

    tx->lap.flags = DM_TRAILER_SWITCH;
    tx->ring.end = tx->ring.slot + 1;
    if (dm_eager_count_used(conn) > tx->n_posted - tx->lap.left) /* some in slots: is there room? */
        flags |= lap_ask(tx);
    err = dm_eager_send_empty(conn, flags);
    tx->n_avail = lap_least(tx->n_avail, dm_eager_lap_credits(conn, dm_eager_count_used(conn)));
    return err;
}
