/*
 * What the direct all-to-all algorithms share.
 */
#ifndef DM_MPI_COLL_ALG_ALLTOALL_EXCHANGE_H
#define DM_MPI_COLL_ALG_ALLTOALL_EXCHANGE_H

#include "mpi/coll/run.h"

/*
 * Every pair of ranks exchanges its blocks directly, at most `window` pairs at a time;
 * equal blocks, different counts, or different types. With MPI_IN_PLACE the old content
 * is packed away first.
 */
void dm_coll_alltoall_exchange(struct dm_run *run, const struct dm_coll_args *a, int window);

#endif
