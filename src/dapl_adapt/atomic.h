/*
 * Atomic operations of providers, inside the layer.
 */
#ifndef DM_DAPL_ADAPT_ATOMIC_H
#define DM_DAPL_ADAPT_ATOMIC_H

#include "dapl_adapt/adapt.h"

/* Do fetch-and-adds work over this rail? Tried by the first call, which may take some milliseconds. */
bool dm_atomic_can(struct dm_adapt *adapt, struct dm_ia *ia);
/* The rail that dm_adapt_words_new takes, or NULL. */
struct dm_ia *dm_atomic_rail(struct dm_adapt *adapt, bool is_far, bool is_any);
/* Post one. */
DAT_RETURN dm_atomic_post(struct dm_ia *ia, DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *lmr,
                          DAT_DTO_COOKIE cookie, DAT_RMR_TRIPLET *rmr, uint64_t add);
/* It ends with err, though it has not completed. */
void dm_atomic_finish(struct dm_adapt *adapt, struct dm_rdma *rdma, int err);
/* Before its `done` is called. */
void dm_atomic_done(struct dm_adapt *adapt, struct dm_rdma *rdma);
/* Connections are gone: free what they needed. */
void dm_atomic_free(struct dm_adapt *adapt);

#endif
