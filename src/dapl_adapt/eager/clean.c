/*
 * Data that could look like a trailer.
 *
 * A record that takes several cells leaves data where later ones may have their trailers: dirty cells, of which the
 * sender keeps a list. The receiver looks at a cell as soon as it has read the record before, so that record brings
 * a trailer along that is not the next one's. It has a source of its own: the shadow buffer may be filled with the
 * next record before this one's write has been executed.
 */
#include "dapl_adapt/eager/clean.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/provider/dat.h"

static void clean_set_dirty(struct dm_tx *tx, uint32_t cell, bool is_dirty)
{
    uint64_t bit = UINT64_C(1) << cell % 64, *word = &tx->place.dirty[cell / 64];

    *word = is_dirty ? *word | bit : *word & ~bit;
}

static bool clean_is_dirty(const struct dm_tx *tx, uint32_t cell)
{
    return (tx->place.dirty[cell / 64] >> cell % 64 & 1) != 0;
}

/* The trailer of a generation that is half of all of them away. It stays until the next record is there. */
static uint64_t *clean_source(const struct dm_conn *conn)
{
    uint32_t half = conn->tx.ring.gen >> 23 & 1;

    conn->ctl->clean[half][0] = dm_trailer_tag((half ^ 1) << 23 | 1 << 22);
    return conn->ctl->clean[half];
}

uint32_t dm_eager_clean(struct dm_conn *conn, uint32_t space, DAT_LMR_TRIPLET *lmr_p)
{
    struct dm_tx *tx = &conn->tx;
    uint32_t n = dm_record_cells(space, tx->ring.shift), next = tx->ring.slot + n;

    for (uint32_t i = tx->ring.slot + 1; i < next; i++)
        clean_set_dirty(tx, i, true);
    if (next >= tx->place.n_begin || (tx->place.flags & DM_TRAILER_ROUND_END) != 0 ||
        !clean_is_dirty(tx, next)) /* no record's data are in the first one's trailer */
        return 0;
    clean_set_dirty(tx, next, false);
    lmr_p->virtual_address = (DAT_VADDR)(uintptr_t)clean_source(conn);
    lmr_p->segment_length = n * DM_CELL_LEN - space;
    lmr_p->lmr_context = conn->region.lmr.lctx;
    return n * DM_CELL_LEN - space;
}
