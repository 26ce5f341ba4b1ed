/*
 * Regions of memory that are attached to a dynamic window (win_dynamic.c).
 */
#ifndef DM_ONESIDED_REGION_H
#define DM_ONESIDED_REGION_H

#include "onesided/onesided.h"

/* Attached memory of a dynamic window that RDMA reaches; size 0: none. Odd seq: being changed. */
#define DM_RMA_REGIONS 64 /* of one process; more are reached by packets */
struct dm_rma_region {
    uint32_t seq;
    uint32_t is_file; /* providers map it: RDMA is no system call */
    struct dm_rkey rkey;
    uint64_t base;
    uint64_t size;
};

/* None is attached. */
void dm_rma_regions_init(struct dm_win *win);
/* Do attached regions, perhaps several, cover these bytes (of a dynamic window)? */
bool dm_rma_is_attached(const struct dm_win *win, uint64_t addr, uint64_t len);
/*
 * The key to these bytes of another process of this host, when it has attached them (dynamic
 * windows), and whether providers can map them.
 */
bool dm_rma_region_key(const struct dm_win *win, int target, uint64_t addr, uint64_t len,
                       struct dm_rkey *rkey_p, bool *is_file_p);
/* All regions of this process. */
void dm_rma_detach_all(struct dm_win *win);

#endif
