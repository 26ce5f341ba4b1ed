/*
 * Shared receive queues, between the files that serve them.
 */
#ifndef DM_PROVIDERS_SHM_SRQ_H
#define DM_PROVIDERS_SHM_SRQ_H

#include "providers/shm/rdma.h"

uint64_t dm_shm_desc_state(uint64_t pos, uint32_t owner, enum dm_desc_phase phase);

/* Have a receive of the peer's shared queue in ep->taken; false if there is
 * none to be had. It stays there until it is given back, or the connection
 * ends. The busy word is even. */
bool dm_shm_srq_claim(struct dm_shm_ep *ep);
/* It is used: its descriptor is free from now on. The busy word is odd. */
void dm_shm_srq_give_back(struct dm_shm_ep *ep);
/* Must the connection break instead of taking one more receive? */
bool dm_shm_srq_is_refused(struct dm_shm_ep *ep);
/* Has the peer that signs so claimed a receive of our queue and not given it
 * back? */
bool dm_shm_srq_has_claim(struct dm_shm_ep *ep, uint32_t owner);
/* Raise the event of the low watermark if it has fired; ia->lock is held. */
void dm_shm_srq_mark_check(struct dm_shm_srq *srq);
/* Complete one receive of ours as flushed; ia->lock is held. */
void dm_shm_recv_flush_one(struct dm_shm_ep *ep, uint64_t cookie);

#endif
