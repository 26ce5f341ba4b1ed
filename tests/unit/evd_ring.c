/* test: layers=util timeout=20 */
/*
 * The ring of an event dispatcher when producers die: at each step between
 * claiming a slot and publishing it. Nothing of the others is lost, and the
 * ring does not count as full.
 */
#include "providers/common/evd_ring.c"
#include "util/futex.c"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { SIZE = 8, DEAD = 7, ROUNDS = 3 };

static uint64_t head;

/* The next event's number; 0 if there is none. Skips what died. */
static uint32_t take(struct dm_evd_ring *ring)
{
    uint32_t number = 0;

    while (number == 0 && dm_evd_ring_has(ring, head)) {
        struct dm_evd_slot *slot = dm_evd_ring_slot(ring, head);

        if ((atomic_load(&slot->state) & DM_SLOT_PHASE_MASK) == DM_SLOT_FULL)
            number = slot->item.number;
        atomic_store(&slot->state, dm_slot_state(ring->size, head + ring->size, 0, DM_SLOT_FREE));
        head++;
    }
    return number;
}

static void add(struct dm_evd_ring *ring, uint32_t number)
{
    struct dm_evd_item item = {.number = number};

    CHECK(dm_evd_ring_add(ring, DM_EVD_OWNER_LOCAL, &item) == DM_EVD_ADDED);
}

/* Dies after the claim; is_early: before it has moved the tail. */
static void die(struct dm_evd_ring *ring, bool is_early)
{
    uint64_t pos = 0;

    CHECK(dm_evd_ring_claim(ring, DEAD, &pos) != NULL);
    CHECK(dm_evd_ring_is_claimed(ring, pos, DEAD));
    CHECK(!dm_evd_ring_is_claimed(ring, pos, DEAD + 1));
    if (is_early)
        atomic_store(&ring->tail, pos);
}

static void play(bool is_early, bool has_next)
{
    uint64_t size;
    size_t len = (dm_evd_ring_len(SIZE, &size) + 63) / 64 * 64;
    struct dm_evd_ring *ring = aligned_alloc(64, len);

    CHECK(ring != NULL && size == SIZE);
    memset(ring, 0, len);
    head = 0;
    dm_evd_ring_init(ring, size, 1);
    for (uint32_t i = 1; i <= SIZE * ROUNDS; i++) {
        add(ring, i);
        die(ring, is_early);
        if (has_next)
            add(ring, 1000 + i); /* behind the dead one's */
        CHECK(take(ring) == i);
        CHECK(take(ring) == 0);
        dm_evd_ring_invalidate(ring, head, DEAD);
        if (has_next)
            CHECK(take(ring) == 1000 + i);
        CHECK(take(ring) == 0);
    }
    for (uint32_t i = 1; i <= SIZE; i++) /* all slots serve */
        add(ring, i);
    {
        struct dm_evd_item item = {.number = 99};

        CHECK(dm_evd_ring_add(ring, DM_EVD_OWNER_LOCAL, &item) == DM_EVD_FULL);
    }
    for (uint32_t i = 1; i <= SIZE; i++)
        CHECK(take(ring) == i);
    free(ring);
}

int main(void)
{
    play(false, false);
    play(false, true);
    play(true, false);
    play(true, true);
    return test_result();
}
