/*
 * The part of an event dispatcher that its producers touch: a ring that any
 * number of threads of any number of processes add to, and one consumer.
 *
 * It is position independent, so it can lie in memory shared with peers. It
 * is lock-free: a slot is claimed with one compare-and-swap that records the
 * claimer, filled and published. When a peer process dies between claim and
 * publish, dm_evd_ring_invalidate() turns its slots into ones to be skipped.
 *
 * A slot's state word is (first position of the generation << 24 | owner << 2 |
 * phase). The slot for position p is free when it reads (generation of p, FREE); after
 * consumption it becomes (generation of p + size, FREE). So a new ring is all zeros,
 * and its pages are not touched before they are used.
 */
#ifndef DM_PROVIDERS_COMMON_EVD_RING_H
#define DM_PROVIDERS_COMMON_EVD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/port.h"

enum dm_slot_phase { DM_SLOT_FREE, DM_SLOT_CLAIMED, DM_SLOT_FULL, DM_SLOT_SKIP };

#define DM_SLOT_POS_SHIFT  24
#define DM_SLOT_PHASE_MASK 3u
#define DM_EVD_OWNER_LOCAL 0u
#define DM_EVD_OWNER_MAX   0x3fffffu

/* One event; the same layout as DAT_EVENT's data, without the padding. The last
 * word of data is used by connection requests only; in a completion it holds
 * what the event itself has no space for: the second word of the extension
 * data, or the endpoint of an RMR bind. */
struct dm_evd_item {
    uint32_t number; /* DAT_EVENT_NUMBER */
    uint32_t tag;    /* DM_TAG_*: what dequeuing gives back to the endpoint */
    uint64_t data[5];
    uint64_t ext; /* the first word of event_extension_data */
};

enum { DM_ITEM_EXTRA = 4 }; /* index of that last word */

struct dm_evd_slot {
    _Atomic uint64_t state;
    struct dm_evd_item item;
};

/* A notification object, in the same memory as the EVDs that feed it. */
struct dm_cno_ring {
    _Atomic uint64_t evd;  /* handle of the EVD that triggered, or 0 */
    _Atomic uint32_t word; /* futex */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t has_agent;
};

struct dm_evd_ring {
    uint64_t handle;     /* the EVD, for CNOs */
    uint64_t size;       /* slots, a power of two */
    _Atomic int64_t cno; /* distance to the dm_cno_ring, 0: none or disabled */
    DM_ALIGNED(64) _Atomic uint64_t tail;
    DM_ALIGNED(64) _Atomic uint32_t word; /* futex of the waiter */
    _Atomic uint32_t is_sleeping;
    _Atomic uint64_t want; /* wake when the tail reaches this */
    DM_ALIGNED(64) struct dm_evd_slot slots[];
};

enum dm_evd_added {
    DM_EVD_ADDED,
    DM_EVD_ADDED_AGENT, /* and the owner's thread must run a CNO agent */
    DM_EVD_FULL
};

/* Bytes for a ring of n events (rounded up to a power of two in *size_p). */
size_t dm_evd_ring_len(uint64_t n, uint64_t *size_p);
/* In memory that is all zeros. */
void dm_evd_ring_init(struct dm_evd_ring *ring, uint64_t size, uint64_t handle);
/* Add an event and wake who must be woken. owner: DM_EVD_OWNER_LOCAL, or the
 * number that the ring's process gave to the connection. */
enum dm_evd_added dm_evd_ring_add(struct dm_evd_ring *ring, uint32_t owner,
                                  const struct dm_evd_item *item);
/* The same without a notification: nobody is woken, no CNO is triggered. */
enum dm_evd_added dm_evd_ring_add_quiet(struct dm_evd_ring *ring, uint32_t owner,
                                        const struct dm_evd_item *item);
/* The two halves of adding, for who records an intent in between: claim a
 * slot, with its position in *pos_p (NULL when the ring is full); fill in its
 * item; publish it. */
struct dm_evd_slot *dm_evd_ring_claim(struct dm_evd_ring *ring, uint32_t owner, uint64_t *pos_p);
enum dm_evd_added dm_evd_ring_publish(struct dm_evd_ring *ring, struct dm_evd_slot *slot,
                                      uint64_t pos, uint32_t owner, bool is_quiet);
/* Instead of that: the slot that was claimed holds nothing. */
void dm_evd_ring_skip(struct dm_evd_ring *ring, uint64_t pos);
/* Has the owner claimed this position, and not published it? */
bool dm_evd_ring_is_claimed(struct dm_evd_ring *ring, uint64_t pos, uint32_t owner);
/* Wake a sleeping waiter regardless of what is in the ring. */
void dm_evd_ring_wake(struct dm_evd_ring *ring);
/* Forget the claims of a dead process; head is the consumer's position. */
void dm_evd_ring_invalidate(struct dm_evd_ring *ring, uint64_t head, uint32_t owner);
/* Trigger a CNO; true if its owner's thread must run an agent. */
bool dm_cno_ring_trigger(struct dm_cno_ring *cno, uint64_t evd);

static inline uint64_t dm_slot_state(uint64_t size, uint64_t pos, uint32_t owner,
                                     enum dm_slot_phase phase)
{
    return (pos & ~(size - 1)) << DM_SLOT_POS_SHIFT | (uint64_t)owner << 2 | (uint64_t)phase;
}

static inline struct dm_evd_slot *dm_evd_ring_slot(struct dm_evd_ring *ring, uint64_t pos)
{
    return &ring->slots[pos & (ring->size - 1)];
}

/* Is the slot of this position published (or to be skipped)? */
static inline bool dm_evd_ring_has(struct dm_evd_ring *ring, uint64_t pos)
{
    uint64_t state =
        atomic_load_explicit(&dm_evd_ring_slot(ring, pos)->state, memory_order_acquire);
    uint64_t generation = dm_slot_state(ring->size, pos, 0, DM_SLOT_FREE);

    return state >> DM_SLOT_POS_SHIFT == generation >> DM_SLOT_POS_SHIFT &&
           (state & DM_SLOT_PHASE_MASK) >= DM_SLOT_FULL;
}

/* Is the slot free that is claimed next? Others may be faster. */
static inline bool dm_evd_ring_has_space(struct dm_evd_ring *ring)
{
    uint64_t pos = atomic_load_explicit(&ring->tail, memory_order_acquire);

    return atomic_load_explicit(&dm_evd_ring_slot(ring, pos)->state, memory_order_acquire) ==
           dm_slot_state(ring->size, pos, 0, DM_SLOT_FREE);
}

#endif
