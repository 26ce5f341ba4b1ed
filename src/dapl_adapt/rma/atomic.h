/*
 * Words that providers' atomic operations change.
 */
#ifndef DM_DAPL_ADAPT_RMA_ATOMIC_H
#define DM_DAPL_ADAPT_RMA_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>

#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/rdma.h"

struct dm_adapt;

/*
 * Do fetch-and-adds work over this rail? Tried by the first call, which may take some milliseconds.
 */
bool dm_atomic_can(struct dm_adapt *adapt, struct dm_ia *ia);
/* The rail that dm_adapt_words_new takes, or (swaps) dm_adapt_words_at; NULL: none. */
struct dm_ia *dm_atomic_rail(struct dm_adapt *adapt, bool is_remote, bool is_any, bool swaps);
/* Before its `done` is called. */
void dm_atomic_done(struct dm_adapt *adapt, struct dm_rdma *rdma);
/* Connections are gone: free what they needed. */
void dm_atomic_free(struct dm_adapt *adapt);

#endif
