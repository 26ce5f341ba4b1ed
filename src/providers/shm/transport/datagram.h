/*
 * Datagrams (util/datagram.h) between instances in one arena, which has a box for each (util/arena.h).
 *
 * A sender claims a slot, by a bit, fills it in and marks it full, by another; the owner takes all that are
 * full at once. No step leaves anything half done that others wait for: a sender that dies before the
 * second bit costs a slot.
 *
 * Sleep. The owner: `is_asleep`, then `due`. A sender: full, `due`, then `is_asleep`. All are sequentially
 * consistent, so one of them sees the other's. Of several senders the one that takes `is_asleep` back wakes
 * the owner. Where that sleeps on the word itself, it posts the software event when it is awake. Else, or where the
 * system cannot sleep on two words at a time, its doorbell is rung, and its thread posts the event.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_DATAGRAM_H
#define DM_PROVIDERS_SHM_TRANSPORT_DATAGRAM_H

#include "providers/shm/ia.h"

/* The thread has been woken: for a datagram? With ia->lock. */
void dm_shm_datagram_wake(struct dm_shm_ia *ia);
/* The instance ends. */
void dm_shm_datagram_close(struct dm_shm_ia *ia);

#endif
