/*
 * Deaths of processes, noticed with few descriptors however many peers there are.
 *
 * A process has up to two guards among its peers, whose names are in its segment. A guard keeps a
 * pidfd of it; few processes are guarded by one. When it dies its guard tells all others, whom it
 * finds in its segment. What nobody guards, and the guards themselves, are looked at by all their peers now
 * and then: whether its doorbell is
 * still there. Whatever a process hears of a death, it looks for itself.
 *
 * ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_GUARD_H
#define DM_PROVIDERS_SHM_TRANSPORT_GUARD_H

#include "providers/shm/progress.h"

struct dm_shm_peer;

struct dm_shm_guard {
    uint64_t due; /* when to look at peers again, ns of CLOCK_MONOTONIC */
    uint32_t n_guarded;
    uint32_t n_peers;
    bool has_suspects;
};

/* A process that we guard. */
struct dm_shm_guarded {
    struct dm_shm_src src; /* with its pidfd */
    struct dm_shm_peer *peer;
};

/* A peer is new, or gone from the list. */
void dm_shm_guard_begin(struct dm_shm_ia *ia, struct dm_shm_peer *peer);
void dm_shm_guard_end(struct dm_shm_ia *ia, struct dm_shm_peer *peer);
/* Its pidfd is readable. */
void dm_shm_guard_ready(struct dm_shm_ia *ia, struct dm_shm_guarded *guarded);
/* Somebody says that this instance is gone. */
void dm_shm_guard_hear(struct dm_shm_ia *ia, uint64_t id);
/* Its doorbell was not there a moment ago: look soon. May be called in any function. */
void dm_shm_guard_suspect(struct dm_shm_ia *ia, struct dm_shm_peer *peer);
/* Look at some peers, if it is time; when it is again. */
uint64_t dm_shm_guard_look(struct dm_shm_ia *ia, uint64_t now);
/* Is its doorbell there? */
bool dm_shm_guard_is_there(const struct dm_shm_peer *peer);
/* Has its process ended, so that none of its threads is in the middle of anything? */
bool dm_shm_guard_has_ended(const struct dm_shm_ia *ia, const struct dm_shm_peer *peer);
/* This instance ends in order: nobody need be told. */
void dm_shm_guard_leave(struct dm_shm_ia *ia);

#endif
