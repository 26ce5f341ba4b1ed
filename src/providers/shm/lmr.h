/*
 * Memory regions of this provider.
 */
#ifndef DM_PROVIDERS_SHM_LMR_H
#define DM_PROVIDERS_SHM_LMR_H

#include "providers/shm/ia.h"

struct dm_shm_lmr {
    struct dm_lmr lmr;
    int fd;                   /* a descriptor of its memory for peers, -1: none */
    struct dm_shm_file *file; /* in our segment; NULL: not shown */
    uint64_t fd_offset;
    bool is_exported; /* some peer has asked for the descriptor */
    uint64_t serial;  /* of the key, when it is hidden */
};

/* The region with this key, NULL: none. ia->lock is held. */
struct dm_shm_lmr *dm_shm_lmr_find(struct dm_shm_ia *ia, uint32_t key);

#endif
