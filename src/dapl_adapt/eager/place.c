/*
 * The sender's way round its rings.
 *
 * Many peers must not cost much memory: short records go to cells, which are a few pages for all of
 * them, each to as many as it is long. One that does not fit goes to a slot, behind an empty one in a cell
 * that says so. After a few short ones in slots the last of them says that the next is in a cell again.
 * Slots and cells are consumed in the order of records, and credits count both.
 *
 * A peer that is one of few, has shown that it is used, and gets bursts of records, has slots alone:
 * neighbours in memory are fetched ahead by the one who reads while the other writes, and lines that
 * were just read are dearer to write than old ones. But the first way through the slots touches new
 * pages with every record, up to tens of microseconds each: who sends little, or one after the other,
 * is spared that. Where processes outnumber cores short ones stay in cells: there are more of them
 * than slots, and a sender may fill as many as there are before the receiver has the core.
 *
 * A round through the cells ends with as many as there are slots, but not few, if the receiver keeps up, else
 * later, up to a part of them. So many credits are always possible, as the receiver tells what it has consumed
 * after half of that. It ends before the last cells, as the longest record must fit.
 *
 * Else a round through the slots ends before the last one when the receiver has consumed
 * at least half of it, and it is as long as the bursts of lately. A receiver that falls behind makes
 * rounds longer, up to a part of the slots. A slot is filled again when its record of the round
 * before has been consumed: while the round is not longer than that one, no more records in slots
 * may be unconsumed than it had. The receiver does not know where the sender stops: it is asked for
 * credits.
 *
 * Messages, which arrive in their order wherever they come from, always go round all slots, as receives
 * are posted; short ones are kept in cells instead, until they are credited, and arrive in cells.
 *
 * Generations are told apart by 24 bits: one round in ROUND_FULL goes through all slots, so that no
 * trailer is as old as that.
 */
#include "dapl_adapt/eager/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/eager/lend.h"
#include "dapl_adapt/eager/used.h"

#define ROUND_STEP  4  /* slots from one look to the next, */
#define ROUND_FEW   16 /* slots of a round at least, with few peers; a look at half of them, too */
#define FEW         4
#define ASK_LEN     4096                /* a record so long is worth to be asked about */
#define ROUND_FULL  (UINT32_C(1) << 20) /* rounds */
#define MOST_ROUNDS 16                  /* in which bursts are forgotten */
#define PART_ALL    512                 /* slots of all peers together, */
#define PART_LONG   256  /* of those that send long records, where processes share a cache, */
#define LONG_ROUNDS 4    /* for so many rounds after such a one */
#define PART_CELLS  8192 /* cells of all peers together */
#define ROW         4    /* short records, before cells are used again */
#define HOT_PART    4    /* of the slots, for so many of them bursts have to be, */
#define HOT_SLOTS   64   /* after so many records in slots */
#define HOT         4096 /* or in slots and cells, which gain what the pages of all slots cost */
#define LONG_AGO    (UINT32_C(1) << 30) /* slots and cells */

static uint32_t place_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t place_most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void place_forget_most(uint32_t *most_p)
{
    *most_p -= (*most_p + MOST_ROUNDS - 1) / MOST_ROUNDS;
}

/* Its part, at least that many, of `all` that the peers have together, where it could have `own`. */
static uint32_t place_share(const struct dm_conn *conn, uint32_t own, uint32_t all, uint32_t least)
{
    uint32_t n = (uint32_t)conn->adapt->poll.n_active;

    if (n * own <= all)
        return own;
    return place_least(all / n > least ? all / n : least, own);
}

uint32_t dm_eager_place_part(const struct dm_conn *conn, bool has_long)
{
    const struct dm_tx *tx = &conn->tx;
    bool is_long = has_long && conn->adapt->is_oversubscribed;

    if (!tx->place.is_short)
        return tx->n_slots;
    return place_share(conn, tx->n_slots, is_long ? PART_LONG : PART_ALL, ROUND_STEP);
}

static uint32_t place_part(const struct dm_conn *conn)
{
    return dm_eager_place_part(conn, conn->tx.place.n_long > 0);
}

/* Has it shown that it sends much, or what is too long for cells? */
static bool place_is_used(const struct dm_tx *tx)
{
    uint32_t stay = tx->place.in_cells ? 0 : tx->n_filled - tx->place.entered;

    return tx->n_filled >= HOT - 1 || tx->place.stayed + stay >= HOT_SLOTS;
}

/* Do few peers send? Then longer rounds cost few pages: lines that were read some time ago are cheaper to write. */
static bool place_is_few(const struct dm_conn *conn)
{
    return !conn->adapt->is_oversubscribed && conn->adapt->poll.n_active <= FEW;
}

/* Has this peer slots alone, and all of them? Its bursts need them, and it has shown that it is used. */
static bool place_is_hot(const struct dm_conn *conn)
{
    if (HOT_PART * place_most(conn->tx.place.most, conn->tx.place.burst_cells) < conn->tx.n_slots)
        return false;
    return place_part(conn) == conn->tx.n_slots &&
           (!conn->tx.place.has_cells || place_is_used(&conn->tx));
}

/* And leaves the cells, which are more: where a rank sends all that it has before the other one reads, that counts. */
static bool place_leaves_cells(const struct dm_conn *conn)
{
    return place_is_hot(conn) &&
           !(conn->adapt->is_oversubscribed && conn->tx.place.n_cells > conn->tx.n_slots);
}

void dm_eager_place_long(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;

    tx->place.n_long = LONG_ROUNDS;
    if (!tx->place.in_cells && tx->ring.look == UINT32_MAX && !place_is_hot(conn))
        tx->ring.look = tx->ring.slot + ROUND_STEP - 1;
}

/* In so many of the ring that is in use a record may begin. */
static uint32_t place_n(const struct dm_tx *tx)
{
    return tx->place.in_cells ? tx->place.n_begin : tx->n_slots;
}

static uint32_t place_round(const struct dm_tx *tx)
{
    return dm_region_round(tx->n_slots, tx->place.n_cells);
}

static void place_begin(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t cells_end = dm_eager_place_cells_max(tx) + 1;

    tx->ring.end = place_n(tx);
    if (tx->place.in_cells) {
        tx->ring.look = tx->ring.slot < place_round(tx) ? place_round(tx) - 1 : tx->ring.slot;
        tx->short_below = 0;
    } else if (place_is_hot(conn)) {
        tx->ring.look = UINT32_MAX;
        tx->short_below = place_leaves_cells(conn) || !tx->place.has_cells ? 0 : cells_end;
    } else {
        tx->ring.look = tx->ring.slot + (place_is_few(conn) ? ROUND_FEW / 2 : ROUND_STEP) - 1;
        tx->short_below = tx->place.has_cells ? cells_end : 0;
    }
}

void dm_eager_place_start(struct dm_conn *conn, bool has_cells)
{
    conn->tx.place.last = conn->tx.n_slots;
    conn->tx.place.last_cells = conn->tx.place.n_cells;
    conn->tx.place.has_cells = conn->tx.place.in_cells = has_cells;
    place_begin(conn);
    if (has_cells) /* the first round is as short as it is */
        conn->tx.ring.look = UINT32_MAX;
}

static void place_switch(struct dm_tx *tx)
{
    struct dm_tx_ring other = tx->idle;

    if (!tx->place.in_cells && tx->place.stayed < HOT_SLOTS)
        tx->place.stayed += place_least(tx->n_filled - tx->place.entered, HOT_SLOTS);
    tx->idle = tx->ring;
    tx->ring = other;
    tx->place.in_cells = !tx->place.in_cells;
    tx->place.in_row = 0;
    if (tx->place.in_cells)
        tx->n_avail = 0; /* what is free in one ring may not be in the other */
    *(tx->place.in_cells ? &tx->place.left : &tx->place.entered) = tx->n_filled;
}

/* Counts go round in 32 bits: what was long ago must not look like just now. */
static void place_forget(struct dm_tx *tx)
{
    uint32_t then = tx->n_filled - LONG_AGO / 2;

    if (tx->n_filled - tx->place.asked > LONG_AGO)
        tx->place.asked = then;
    if (tx->place.in_cells && tx->n_filled - tx->place.left > LONG_AGO)
        tx->place.left = then;
    else if (!tx->place.in_cells && tx->n_filled - tx->place.entered > LONG_AGO)
        tx->place.left = tx->place.entered = then;
}

/* ---- short records of messages ---- */

static char *place_trailer(const struct dm_conn *conn, uint32_t slot, bool in_cell)
{
    char *mem = conn->region.ptr;

    if (in_cell)
        return mem + dm_region_cells_shadow(conn->ring.n_slots, conn->ring.stride) +
               (size_t)slot * DM_CELL_LEN + DM_CELL_MAX;
    return mem + dm_region_shadow(conn->ring.n_slots, conn->ring.stride) +
           (size_t)(slot + 1) * conn->ring.stride - DM_TRAILER_LEN;
}

/* The generation of the last record of a slot. */
static uint32_t place_gen(const struct dm_tx *tx, uint32_t slot)
{
    return slot < tx->ring.slot ? tx->ring.gen : tx->ring.gen - 1;
}

/* No record of that generation is in this cell. */
static void place_mark(const struct dm_conn *conn, uint32_t slot, uint32_t gen)
{
    *(uint64_t *)(void *)place_trailer(conn, slot, true) = dm_trailer_tag(gen + 1);
}

char *dm_eager_place_sent(const struct dm_conn *conn, uint32_t slot)
{
    const struct dm_tx *tx = &conn->tx;
    char *cell;

    if (!tx->place.is_packed)
        return place_trailer(conn, slot, false);
    cell = place_trailer(conn, slot, true);
    if ((*(uint64_t *)(void *)cell ^ dm_trailer_tag(place_gen(tx, slot))) >> DM_TRAILER_TAG == 0)
        return cell;
    return place_trailer(conn, slot, false);
}

/* From slots to cells nothing is copied, back what may have to be sent again. */
static void place_convert(struct dm_conn *conn, bool is_packed)
{
    for (uint32_t i = 0; i < conn->tx.n_slots; i++) {
        char *sent = dm_eager_place_sent(conn, i), *slot = place_trailer(conn, i, false);

        if (is_packed)
            place_mark(conn, i, place_gen(&conn->tx, i));
        else if (sent != slot)
            memcpy(slot - DM_CELL_MAX, sent - DM_CELL_MAX, DM_CELL_LEN);
    }
}

void dm_eager_place_pack(struct dm_conn *conn, bool is_packed)
{
    struct dm_tx *tx = &conn->tx;

    if (tx->place.is_packed == is_packed)
        return;
    if (tx->n_filled > 0)
        place_convert(conn, is_packed);
    tx->place.is_packed = is_packed;
    tx->place.is_out = false;
    tx->ring.stride = tx->ring.step = is_packed ? DM_CELL_LEN : (int32_t)conn->ring.stride;
    tx->ring.max = is_packed ? DM_CELL_MAX : conn->ring.stride - DM_TRAILER_LEN;
    tx->ring.trailer = place_trailer(conn, tx->ring.slot, is_packed);
}

bool dm_eager_place_unpack_one(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;

    if (len > conn->ring.stride - DM_TRAILER_LEN)
        return false;
    place_mark(conn, tx->ring.slot, tx->ring.gen);
    tx->place.is_out = true;
    tx->ring.trailer = place_trailer(conn, tx->ring.slot, false);
    tx->ring.end = tx->ring.slot + 1;
    return true;
}

/* ---- from record to record ---- */

void dm_eager_place_next(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    uint64_t flags = tx->place.flags;
    uint32_t n = tx->ring.slot;

    if (tx->loan.places != NULL) {
        dm_eager_lend_posted(conn);
        return;
    }
    if (tx->place.is_out) {
        tx->place.is_out = false;
        tx->ring.trailer = place_trailer(conn, n, true);
    }
    tx->place.flags = 0;
    if (n >= place_n(tx) || (flags & DM_TRAILER_ROUND_END) != 0) {
        tx->ring.slot = 0;
        tx->ring.trailer -= (ptrdiff_t)n * tx->ring.step;
        tx->ring.delta -= (uint64_t)((ptrdiff_t)n * (tx->ring.stride - tx->ring.step));
        tx->ring.gen++;
        place_forget_most(tx->place.in_cells ? &tx->place.burst_cells : &tx->place.most);
        if (!conn->ring.peer_has_srq) /* whose records have the sender in its place */
            tx->ring.tag = dm_trailer_tag(tx->ring.gen);
        if (tx->place.in_cells) {
            tx->place.last_cells = n;
            if ((flags & DM_TRAILER_ROUND_END) == 0)
                tx->n_avail = 0; /* what was free was so up to the end */
        } else {
            tx->place.last = n;
            tx->place.n_long -= tx->place.n_long > 0;
        }
    }
    place_forget(tx);
    if ((flags & DM_TRAILER_SWITCH) != 0)
        place_switch(tx);
    place_begin(conn);
}

/* Slots that are free when nothing is unconsumed, from the present one on. */
static uint32_t place_slots(const struct dm_tx *tx)
{
    uint32_t slot = tx->place.in_cells ? tx->idle.slot : tx->ring.slot;

    return slot < tx->place.last ? tx->place.last : tx->n_slots;
}

/* So many records in slots may be unconsumed, the one that goes to the present slot included. */
static uint32_t place_limit(const struct dm_conn *conn)
{
    return place_least(place_slots(&conn->tx), place_part(conn));
}

/* So many cells may be filled when n_used are unconsumed: up to those of the round before that are, or the end. */
static uint32_t place_cells_credits(const struct dm_conn *conn, uint32_t n_used)
{
    const struct dm_tx *tx = &conn->tx;
    uint32_t part = place_share(conn, tx->place.n_cells, PART_CELLS, place_round(tx)), n;

    if (n_used >= part)
        return 0;
    if (n_used <= tx->ring.slot)
        n = tx->place.n_cells - tx->ring.slot;
    else
        n = n_used < tx->place.last_cells ? tx->place.last_cells - n_used : 0;
    n = place_least(n, part - n_used);
    /* with fewer a sender that needs several would look again and again */
    return tx->ring.is_mixed && n < tx->place.cells_most ? 0 : n;
}

/*
 * Of n_used records, the last of those up to `number`, how many are in slots at most: those between
 * the last stay and this one are in cells.
 */
static uint32_t place_in_slots(const struct dm_tx *tx, uint32_t number, uint32_t n_used)
{
    uint32_t here = number - tx->place.entered, away = tx->place.entered - tx->place.left;

    if (!tx->place.has_cells || n_used <= here)
        return n_used;
    return n_used <= here + away ? here : n_used - away;
}

uint32_t dm_eager_place_credits(struct dm_conn *conn, uint32_t n_used)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t all = n_used < tx->place.n_cells ? tx->place.n_cells - n_used : 0;
    uint32_t limit, n;

    if (tx->place.in_cells)
        return place_cells_credits(conn, n_used);
    limit = place_limit(conn);
    n = place_in_slots(tx, tx->n_filled, n_used);
    if (n < limit)
        return place_least(all, limit - n);
    if (tx->n_filled - tx->place.asked < n_used)
        return 0;
    /* The part has become smaller, and the peer knows nothing: one more, that asks. */
    tx->place.asked = tx->n_filled - n_used;
    return place_least(all, n < place_slots(tx) && limit < tx->n_slots);
}

/* Is this short record one of several? Only of those in slots. */
static bool place_is_row(struct dm_tx *tx)
{
    tx->place.in_row = tx->n_filled == tx->place.row_end ? tx->place.in_row + 1 : 1;
    tx->place.row_end = tx->n_filled + 1;
    return tx->place.in_row >= ROW;
}

static uint64_t place_ask(struct dm_tx *tx)
{
    tx->place.asked = tx->n_filled + 1;
    return DM_TRAILER_ASK;
}

/*
 * With this record as many cells as a round has at least have been used. From here on the peer may have slots
 * alone, when those are free; or the round ends, as the receiver does not fall behind.
 */
static uint64_t place_look_cells(struct dm_conn *conn, uint32_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t n_own, n, used;

    if (tx->ring.slot < tx->ring.look)
        return 0;
    n_own = dm_record_cells(dm_record_space(len), tx->ring.shift);
    n = tx->ring.slot + n_own;
    used = dm_eager_count_used(conn);
    if (used > tx->place.burst_cells)
        tx->place.burst_cells = used;
    if (place_leaves_cells(conn) && used <= tx->n_filled - tx->place.left) {
        tx->n_avail = place_least(tx->n_avail, n_own + place_slots(tx));
        tx->place.flags = DM_TRAILER_SWITCH;
    } else if (n < tx->place.n_cells && 2 * (used + n_own) <= n &&
               tx->ring.gen % ROUND_FULL != ROUND_FULL - 1) {
        tx->n_avail = place_least(tx->n_avail, n - used);
        tx->place.flags = DM_TRAILER_ROUND_END;
    } else {
        tx->ring.look += ROUND_STEP;
        return 0;
    }
    tx->ring.end = n;
    return tx->place.flags;
}

/*
 * With this slot the round may end. Or it goes on, as the peer may have consumed more than it has told: before long
 * records take new pages, or the round gets longer than the last one, it is asked. `used`: of the records in slots,
 * with this one.
 */
static uint64_t place_look_slots(struct dm_conn *conn, uint32_t used, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t n = tx->ring.slot + 1;

    if (tx->ring.slot < tx->ring.look || n == tx->n_slots)
        return 0;
    tx->ring.look += ROUND_STEP;
    if (!tx->place.is_short || tx->ring.gen % ROUND_FULL == ROUND_FULL - 1)
        return 0;
    if (2 * used <= n && tx->place.most <= n)
        return n < ROUND_FEW && place_is_few(conn) ? 0 : DM_TRAILER_ROUND_END;
    if (len < ASK_LEN && n + ROUND_STEP <= tx->place.last)
        return 0;
    return tx->n_filled - tx->place.asked >= ROUND_STEP ? place_ask(tx) : 0;
}

uint64_t dm_eager_place_look(struct dm_conn *conn, size_t len)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t limit, used;
    uint64_t flags = 0;

    if (tx->place.in_cells)
        return tx->place.flags != 0 ? 0 : place_look_cells(conn, (uint32_t)len);
    limit = place_limit(conn);
    used = place_in_slots(tx, tx->n_filled + 1, dm_eager_count_used(conn) + 1);
    if (used > tx->place.most)
        tx->place.most = used;
    if (len < tx->short_below && place_is_row(tx))
        flags |= DM_TRAILER_SWITCH;
    flags |= place_look_slots(conn, used, len);
    if ((flags & DM_TRAILER_ROUND_END) != 0) {
        limit = tx->ring.slot + 1;
        tx->n_avail = place_least(tx->n_avail, 1 + limit - used);
    }
    tx->place.flags = flags & ~DM_TRAILER_ASK;
    if (tx->place.flags != 0)
        tx->ring.end = tx->ring.slot + 1;
    if (tx->n_avail == 1 && limit < tx->n_slots && used >= limit)
        flags |= place_ask(tx);
    return flags;
}

uint64_t dm_eager_place_leave_cells(struct dm_conn *conn)
{
    struct dm_tx *tx = &conn->tx;
    /* Some in slots: there may be no place for one more. */
    bool is_asking = dm_eager_count_used(conn) > tx->n_filled - tx->place.left;

    tx->place.flags = DM_TRAILER_SWITCH;
    tx->ring.end = tx->ring.slot + 1;
    return DM_TRAILER_SWITCH | (is_asking ? place_ask(tx) : 0);
}
