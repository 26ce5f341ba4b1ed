/*
 * Barrier by dissemination: in round k everybody tells the rank 2^k further on.
 * ceil(log2 n) rounds, no root; n messages in each.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_barrier_dissemination(struct dm_run *run, const struct dm_coll_args *args)
{
    struct dm_type *byte = dm_coll_byte();

    (void)args;
    for (int64_t step = 1; step < run->size; step *= 2) {
        int to = (int)((run->rank + step) % run->size);
        int from = (int)((run->rank - step + run->size) % run->size);

        dm_coll_sendrecv(run, NULL, 0, byte, to, NULL, 0, byte, from);
    }
}
