/*
 * Busy words: an initiator makes its endpoint's word odd while it touches the peer's memory; who
 * takes something away waits until no word is odd. See seg.h.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_QUIESCE_H
#define DM_PROVIDERS_SHM_TRANSPORT_QUIESCE_H

#include "providers/shm/ep.h"

/* Wait until the peer of this endpoint (or of all, if NULL) is not in the
 * middle of an operation that began before the call. False: a peer has been in
 * it for seconds, as it was stopped; it may still write to our memory. ia->lock is held. */
bool dm_shm_quiesce(struct dm_shm_ia *ia, struct dm_shm_ep *only);
/* The same for one peer, for a moment at most. */
bool dm_shm_is_quiet(struct dm_shm_ep *ep);

static inline void dm_shm_busy_begin(struct dm_shm_ep *ep)
{
    atomic_store_explicit(&ep->sh->busy, ++ep->busy, memory_order_relaxed);
    /* The barrier in hardware is up to who takes something away. */
    atomic_signal_fence(memory_order_seq_cst);
    if (dm_unlikely(ep->need_fence))
        atomic_thread_fence(memory_order_seq_cst);
}

static inline void dm_shm_busy_end(struct dm_shm_ep *ep)
{
    atomic_store_explicit(&ep->sh->busy, ++ep->busy, memory_order_release);
}

static inline bool dm_shm_is_up(const struct dm_shm_ep *ep)
{
    return atomic_load_explicit(&ep->peer_sh->link, memory_order_relaxed) == ep->peer_up;
}

#endif
