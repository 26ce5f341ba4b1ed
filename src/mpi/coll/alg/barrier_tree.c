/*
 * Barrier over a binomial tree: reports travel up to rank 0, the release down. 2 (n - 1)
 * messages in all, the least there can be, which counts where ranks share cores.
 */
#include "mpi/coll/alg/alg.h"

void dm_coll_barrier_tree(struct dm_run *run, const struct dm_coll_args *args)
{
    struct dm_type *byte = dm_coll_byte();
    int64_t step = 1;

    (void)args;
    for (; step < run->size && (run->rank & step) == 0; step *= 2)
        if (run->rank + step < run->size)
            dm_coll_recv(run, NULL, 0, byte, (int)(run->rank + step));
    if (run->rank != 0) {
        dm_coll_send(run, NULL, 0, byte, (int)(run->rank - step));
        dm_coll_recv(run, NULL, 0, byte, (int)(run->rank - step));
    }
    while (step > 1) {
        step /= 2;
        if (run->rank + step < run->size)
            dm_coll_send(run, NULL, 0, byte, (int)(run->rank + step));
    }
}
