/*
 * Shared receive queues, between the files that handle them.
 */
#ifndef DM_PROVIDERS_SHM_SRQ_H
#define DM_PROVIDERS_SHM_SRQ_H

#include "providers/shm/ep.h"

struct dm_shm_srq {
    struct dm_srq srq;
    struct dm_shm_link_srq *sh;
    char *descs;
    _Atomic uint64_t *order;
    uint32_t cursor; /* the next descriptor to try */
    uint64_t tail;
};

uint64_t dm_shm_desc_state(uint64_t pos, uint32_t owner, enum dm_desc_phase phase);

/* ---- ours; ia->lock is held ---- */

/* Notify the peers of all its endpoints who wait for a receive. */
void dm_shm_srq_notify(struct dm_shm_srq *srq);
/* Complete as flushed the receives that the peer of this endpoint has claimed
 * and will not complete; it is not in the middle of an operation. */
void dm_shm_srq_reclaim(struct dm_shm_ep *ep, uint32_t owner);
/* Has the peer that signs so claimed a receive of our queue and not released it? */
bool dm_shm_srq_has_claim(struct dm_shm_ep *ep, uint32_t owner);
/* Raise the event of the low watermark if it has fired... */
void dm_shm_srq_mark_check(struct dm_shm_srq *srq);
/* ...and that of the endpoint's soft high watermark, too. */
void dm_shm_marks_check(struct dm_shm_ep *ep);
/* Arm what the attributes of a new endpoint ask for. */
void dm_shm_ep_marks_init(struct dm_shm_ep *ep);

/* ---- the peer's: srq_claim.c ---- */

/* Have a receive of the peer's shared queue in ep->claim; false if there is
 * none to be had. It stays there until it is released, or the connection
 * ends. The busy word is even. */
bool dm_shm_srq_claim(struct dm_shm_ep *ep);
/* It is used: its descriptor is free from now on. The busy word is odd. */
void dm_shm_srq_release(struct dm_shm_ep *ep);
/* Must the connection break instead of taking one more receive? */
bool dm_shm_srq_is_refused(struct dm_shm_ep *ep);

#endif
