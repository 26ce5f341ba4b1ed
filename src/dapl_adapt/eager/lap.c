/*
 * The sender's way round the ring.
 *
 * A lap ends before the last slot when the receiver has consumed at least half of it, and it is as
 * long as the bursts of lately: then few slots are used again and again, and stay in caches; a
 * receiver that falls behind makes laps longer. So the memory of a connection is that of the records
 * which were under way at a time.
 *
 * A slot is filled again when its record of the lap before has been consumed: while the lap is not
 * longer than that one, no more records may be unconsumed than it had. Who is connected with many
 * gives each of them a part of its ring only, and asks for credits when that is used up, since the
 * receiver does not know the size of the part.
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

#define LAP_STEP     8                   /* slots from one look to the next */
#define LAP_FULL     (UINT32_C(1) << 20) /* laps */
#define MOST_LAPS    16                  /* in which bursts are forgotten */
#define FEW_PEERS    4                   /* each has all of its ring */
#define PART_ALL     512                 /* slots of all peers together, */
#define PART_RECORDS 8                   /* and of each one for so many records */

static void lap_begin(struct dm_tx *tx)
{
    tx->slot = 0;
    tx->lap.end = tx->n_slots;
    tx->lap.look = tx->n_slots < LAP_STEP ? tx->n_slots - 1 : LAP_STEP - 1;
}

void dm_eager_lap_start(struct dm_tx *tx)
{
    lap_begin(tx);
    tx->lap.last = tx->n_slots;
}

void dm_tx_next_lap(struct dm_tx *tx)
{
    tx->trailer -= (size_t)tx->lap.end * tx->stride;
    tx->tag = dm_trailer_tag(++tx->gen);
    tx->lap.last = tx->lap.end;
    tx->lap.most -= (tx->lap.most + MOST_LAPS - 1) / MOST_LAPS;
    lap_begin(tx);
}

/* Of the ring, for this peer among the others: more when it has shown that it is used. */
static uint32_t lap_part(const struct dm_conn *conn)
{
    const struct dm_tx *tx = &conn->tx;
    uint32_t n = (uint32_t)conn->adapt->poll.n_active, most, part;

    if (!tx->lap.is_short || n <= FEW_PEERS)
        return tx->n_slots;
    most = PART_ALL / n < tx->n_slots ? PART_ALL / n : tx->n_slots;
    part = tx->n_posted / PART_RECORDS;
    part = part < most ? part : most;
    return part > LAP_STEP ? part : LAP_STEP;
}

/* Slots that are free when nothing is unconsumed, from the present one on. */
static uint32_t lap_slots(const struct dm_tx *tx)
{
    return tx->slot < tx->lap.last ? tx->lap.last : tx->n_slots;
}

/* So many records may be unconsumed, the one that goes to the present slot included. */
static uint32_t lap_room(const struct dm_conn *conn)
{
    uint32_t slots = lap_slots(&conn->tx), part = lap_part(conn);

    return slots < part ? slots : part;
}

uint32_t dm_eager_lap_credits(struct dm_conn *conn, uint32_t n_used)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t room = lap_room(conn);

    if (n_used < room)
        return room - n_used;
    if (tx->n_posted - tx->lap.asked < n_used)
        return 0;
    /* The part has become smaller, and the peer knows nothing: one more, that asks. */
    tx->lap.asked = tx->n_posted - n_used;
    return n_used < lap_slots(tx) && room < tx->n_slots;
}

static bool lap_may_end(const struct dm_tx *tx, uint32_t n_used)
{
    return tx->lap.is_short && tx->gen % LAP_FULL != 0 && 2 * n_used <= tx->slot + 1 &&
           tx->lap.most <= tx->slot + 1;
}

uint64_t dm_eager_look_at_lap(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t room = lap_room(conn);
    uint32_t used = dm_eager_count_used(conn) + 1; /* with this one */
    uint64_t flags = 0;

    if (used > tx->lap.most)
        tx->lap.most = used;
    if (tx->slot >= tx->lap.look && tx->slot + 1 < tx->n_slots) {
        if (lap_may_end(tx, used)) {
            flags = DM_TRAILER_LAP_END;
            tx->lap.end = room = tx->slot + 1;
            if (tx->n_avail > 1 + room - used)
                tx->n_avail = 1 + room - used;
        } else {
            tx->lap.look += LAP_STEP;
        }
    }
    if (tx->n_avail == 1 && room < tx->n_slots && used >= room) {
        flags |= DM_TRAILER_ASK;
        tx->lap.asked = tx->n_posted + 1;
    }
    return flags;
}
