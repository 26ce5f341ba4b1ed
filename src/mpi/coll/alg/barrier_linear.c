/*
 * Barrier of few ranks: all report to rank 0, which releases them. As few messages as over a tree, and each rank but 0
 * waits once, which counts where ranks share cores.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_barrier_linear(struct dm_run *run, const struct dm_coll_args *args)
{
    struct dm_type *byte = dm_coll_byte();

    (void)args;
    if (run->rank != 0) {
        dm_coll_send(run, NULL, 0, byte, 0);
        dm_coll_recv(run, NULL, 0, byte, 0);
        return;
    }
    for (int i = 1; i < run->size; i++)
        dm_coll_irecv(run, NULL, 0, byte, i);
    dm_coll_wait(run);
    for (int i = 1; i < run->size; i++)
        dm_coll_isend(run, NULL, 0, byte, i);
    dm_coll_wait(run);
}
