/*
 * Remote keys that have been looked up, and pieces of remote memory.
 */
#ifndef DM_PROVIDERS_SHM_RKEY_H
#define DM_PROVIDERS_SHM_RKEY_H

#include "providers/shm/transport/seg.h"

struct dm_shm_ep;

/* A remote region that has been looked up, valid while the entry has this serial. */
struct dm_shm_rkey {
    DM_ALIGNED(64) uint32_t key;
    uint32_t priv;
    uint64_t serial;
    const struct dm_shm_key *entry;
    uint64_t va;
    uint64_t len;
    char *data;    /* where va is mapped here; NULL: not mapped */
    uint64_t addr; /* where va is in the peer */
};

enum { DM_SHM_RKEYS = 16 };

/* A part of the remote side of a request. */
struct dm_shm_piece {
    const struct dm_shm_key *entry;
    uint64_t serial;
    uint64_t va;
    uint64_t len;
    char *data; /* NULL: copy with process_vm */
};

enum dm_shm_find {
    DM_FIND_OK,
    DM_FIND_BAD,  /* the key or the range may not be used */
    DM_FIND_LOCK, /* only with ia->lock */
    DM_FIND_MAP,  /* the region is being mapped */
    DM_FIND_STAGE /* it can be reached by staged copies only */
};

/* Where len bytes of the remote side are, which needs all of these privileges. Sets *piece if
 * DM_FIND_OK. */
enum dm_shm_find dm_shm_rkey_find(struct dm_shm_ep *ep, const DAT_RMR_TRIPLET *at, uint64_t len,
                                  uint32_t priv, bool is_locked, struct dm_shm_piece *piece);
/* Are the regions of these pieces still what they were? The busy word is odd. */
bool dm_shm_pieces_valid(const struct dm_shm_piece *piece, uint32_t n);

#endif
