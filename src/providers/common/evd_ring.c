/*
 * Producers' side of an event dispatcher. Invariant: a slot's state only moves
 * FREE -> CLAIMED -> FULL (or SKIP) -> FREE of the next generation; the tail never
 * passes a slot that is FREE for its position.
 */
#include "providers/common/evd_ring.h"

#include "util/futex.h"

size_t dm_evd_ring_len(uint64_t n, uint64_t *size_p)
{
    uint64_t size = 8;

    while (size < n)
        size *= 2;
    *size_p = size;
    return sizeof(struct dm_evd_ring) + size * sizeof(struct dm_evd_slot);
}

void dm_evd_ring_init(struct dm_evd_ring *ring, uint64_t size, uint64_t handle)
{
    ring->handle = handle;
    ring->size = size;
    atomic_store(&ring->cno, 0);
    atomic_store(&ring->tail, 0);
    atomic_store(&ring->word, 0);
    atomic_store(&ring->is_sleeping, 0);
    atomic_store(&ring->want, 0);
    atomic_thread_fence(memory_order_seq_cst);
}

/* More than producers at the same time ever make necessary. */
enum { HELP_MIN = 4096 };

static inline struct dm_evd_slot *ring_claim(struct dm_evd_ring *ring, uint32_t owner,
                                             uint64_t *pos_p)
{
    uint64_t n_helped = 0;

    for (;;) {
        uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
        struct dm_evd_slot *slot = dm_evd_ring_slot(ring, tail);
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        uint64_t is_free = dm_slot_state(ring->size, tail, 0, DM_SLOT_FREE);
        uint64_t gen_before = dm_slot_state(ring->size, tail - ring->size, 0, DM_SLOT_FREE);
        uint64_t pos = tail;

        if (state == is_free) {
            bool is_ours = atomic_compare_exchange_strong(
                &slot->state, &state, dm_slot_state(ring->size, tail, owner, DM_SLOT_CLAIMED));

            atomic_compare_exchange_strong(&ring->tail, &tail, tail + 1);
            if (is_ours) {
                *pos_p = pos;
                return slot;
            }
        } else if (state >> DM_SLOT_POS_SHIFT != gen_before >> DM_SLOT_POS_SHIFT) {
            /* Somebody claimed it and has not moved the tail yet, or has died
             * before he could. Then it may have been consumed already. */
            atomic_compare_exchange_strong(&ring->tail, &tail, tail + 1);
            if (dm_unlikely(++n_helped > 4 * ring->size + HELP_MIN))
                return NULL; /* malformed: a ring of a broken peer */
        } else if (atomic_load(&ring->tail) == tail) {
            return NULL; /* still holds the event of the generation before */
        }
    }
}

bool dm_cno_ring_trigger(struct dm_cno_ring *cno, uint64_t evd)
{
    uint64_t none = 0;

    if (!atomic_compare_exchange_strong(&cno->evd, &none, evd))
        return false;
    if (atomic_load(&cno->sleepers) != 0) {
        atomic_fetch_add(&cno->word, 1);
        dm_futex_wake(&cno->word, 1);
    }
    return atomic_load(&cno->has_agent) != 0;
}

void dm_evd_ring_wake(struct dm_evd_ring *ring)
{
    atomic_fetch_add(&ring->word, 1);
    dm_futex_wake(&ring->word, 1);
}

static inline enum dm_evd_added ring_publish(struct dm_evd_ring *ring, struct dm_evd_slot *slot,
                                             uint64_t pos, uint32_t owner)
{
    int64_t cno;

    /* Sequentially consistent: ordered before the look at is_sleeping. */
    atomic_store(&slot->state, dm_slot_state(ring->size, pos, owner, DM_SLOT_FULL));
    if (atomic_load(&ring->is_sleeping) != 0 &&
        (int64_t)(atomic_load(&ring->tail) - atomic_load(&ring->want)) >= 0)
        dm_evd_ring_wake(ring);
    cno = atomic_load_explicit(&ring->cno, memory_order_acquire);
    if (cno != 0 &&
        dm_cno_ring_trigger((struct dm_cno_ring *)(void *)((char *)ring + cno), ring->handle))
        return DM_EVD_ADDED_AGENT;
    return DM_EVD_ADDED;
}

enum dm_evd_added dm_evd_ring_add(struct dm_evd_ring *ring, uint32_t owner,
                                  const struct dm_evd_item *item)
{
    uint64_t pos;
    struct dm_evd_slot *slot = ring_claim(ring, owner, &pos);

    if (slot == NULL)
        return DM_EVD_FULL;
    slot->item = *item;
    return ring_publish(ring, slot, pos, owner);
}

enum dm_evd_added dm_evd_ring_add_quiet(struct dm_evd_ring *ring, uint32_t owner,
                                        const struct dm_evd_item *item)
{
    uint64_t pos;
    struct dm_evd_slot *slot = ring_claim(ring, owner, &pos);

    if (slot == NULL)
        return DM_EVD_FULL;
    slot->item = *item;
    return dm_evd_ring_publish(ring, slot, pos, owner, true);
}

struct dm_evd_slot *dm_evd_ring_claim(struct dm_evd_ring *ring, uint32_t owner, uint64_t *pos_p)
{
    return ring_claim(ring, owner, pos_p);
}

enum dm_evd_added dm_evd_ring_publish(struct dm_evd_ring *ring, struct dm_evd_slot *slot,
                                      uint64_t pos, uint32_t owner, bool is_quiet)
{
    if (!is_quiet)
        return ring_publish(ring, slot, pos, owner);
    atomic_store_explicit(&slot->state, dm_slot_state(ring->size, pos, owner, DM_SLOT_FULL),
                          memory_order_release);
    return DM_EVD_ADDED;
}

void dm_evd_ring_skip(struct dm_evd_ring *ring, uint64_t pos)
{
    atomic_store_explicit(&dm_evd_ring_slot(ring, pos)->state,
                          dm_slot_state(ring->size, pos, 0, DM_SLOT_SKIP), memory_order_release);
}

bool dm_evd_ring_is_claimed(struct dm_evd_ring *ring, uint64_t pos, uint32_t owner)
{
    return atomic_load(&dm_evd_ring_slot(ring, pos)->state) ==
           dm_slot_state(ring->size, pos, owner, DM_SLOT_CLAIMED);
}

void dm_evd_ring_invalidate(struct dm_evd_ring *ring, uint64_t head, uint32_t owner)
{
    /* who claimed the place at the tail may not have moved that */
    uint64_t tail = atomic_load(&ring->tail);

    for (uint64_t pos = head; pos <= tail && pos - head < ring->size; pos++) {
        struct dm_evd_slot *slot = dm_evd_ring_slot(ring, pos);
        uint64_t state = dm_slot_state(ring->size, pos, owner, DM_SLOT_CLAIMED);

        atomic_compare_exchange_strong(&slot->state, &state,
                                       dm_slot_state(ring->size, pos, 0, DM_SLOT_SKIP));
    }
    if (atomic_load(&ring->is_sleeping) != 0)
        dm_evd_ring_wake(ring);
}
