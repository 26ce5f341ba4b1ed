/*
 * Other instances, whose segments are mapped here. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_PEER_H
#define DM_PROVIDERS_SHM_TRANSPORT_PEER_H

#include "providers/shm/ia.h"
#include "providers/shm/transport/sock.h"

enum { DM_SHM_MAP_BUCKETS = 64 };

struct dm_shm_map;
struct dm_shm_peer;

/* Can we copy to and from its memory (process_vm)? It is tried when it matters. */
enum dm_shm_cma { DM_CMA_UNKNOWN, DM_CMA_NO, DM_CMA_YES };

/* Another instance, possibly of this process, whose segment is mapped here. Its
 * contents are the peer's: see wire.h for what is trusted. */
struct dm_shm_peer {
    struct dm_list link;
    struct dm_shm_peer *same; /* another process says that it has the same id */
    int n_refs;               /* connections and endpoints */
    uint64_t id;
    pid_t pid;
    struct dm_shm_hdr *hdr;
    size_t size;
    bool is_part; /* of the arena, which is mapped anyway */
    _Atomic enum dm_shm_cma cma;
    bool is_apart;   /* its descriptors cannot be opened here */
    bool is_gone;    /* its process has died, or has closed it */
    bool is_suspect; /* its doorbell was not there a moment ago */
    bool is_unrung;  /* it is to be rung once more, see inbox.h */
    uint64_t qual;   /* its key in peers_by_qual, 0: none */
    uint32_t slot;   /* in the list of peers in our segment */
    struct dm_shm_name doorbell;
    struct dm_shm_guarded *guarded; /* NULL: we are no guard of it */
    struct dm_shm_map *maps[DM_SHM_MAP_BUCKETS];
};

/* Does the segment have these bytes? */
static inline bool dm_shm_peer_has(const struct dm_shm_peer *peer, uint64_t offset, uint64_t len)
{
    return offset <= peer->size && len <= peer->size - offset;
}

/* Whose segment. */
struct dm_shm_who {
    uint64_t id;
    uint64_t mask; /* the bits of it that are known */
    pid_t pid;
};

/* fd: of its segment, or of an arena that has it, -1: of none. NULL: it is no segment, or no memory. */
struct dm_shm_peer *dm_shm_peer_get(struct dm_shm_ia *ia, int fd, const struct dm_shm_who *who);
/* The same, if it is mapped already. */
struct dm_shm_peer *dm_shm_peer_find(struct dm_shm_ia *ia, uint64_t id, pid_t pid);
bool dm_shm_peer_can_cma(struct dm_shm_peer *peer);
void dm_shm_peer_hold(struct dm_shm_peer *peer);
void dm_shm_peer_put(struct dm_shm_ia *ia, struct dm_shm_peer *peer);
/* Can this be one of its endpoints (struct dm_shm_link_ep), with a queue of
 * receives that lies in the segment? */
bool dm_shm_peer_ep_ok(const struct dm_shm_peer *peer, uint64_t offset);
/* The same of a shared receive queue, whose parts may move. */
bool dm_shm_peer_srq_ok(const struct dm_shm_peer *peer, const struct dm_shm_link_srq *srq);
/* An event ring in the peer's segment; NULL if there is none at this offset. */
struct dm_evd_ring *dm_shm_peer_ring(const struct dm_shm_peer *peer, uint64_t offset);

#endif
