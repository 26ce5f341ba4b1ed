/*
 * Reduce of short vectors among few ranks: the root gets all vectors and combines them in the order of the ranks.
 */
#include "mpi/coll/alg/alg.h"

/* The vectors of the others, in their order; NULL: no memory. */
static char *linear_gather(struct dm_run *run, const struct dm_coll_args *a)
{
    char *others = dm_coll_alloc_typed(run, a->rcount * (size_t)(run->size - 1), a->rtype);
    MPI_Count k = 0;

    for (int i = 0; i < run->size && others != NULL; i++)
        if (i != a->root)
            dm_coll_irecv(run, dm_coll_at(others, (MPI_Count)a->rcount * k++, a->rtype), a->rcount,
                          a->rtype, i);
    dm_coll_wait(run);
    return others;
}

void dm_coll_reduce_linear(struct dm_run *run, const struct dm_coll_args *a)
{
    const void *lower = NULL;
    char *others;
    MPI_Count k = 0;

    if (run->rank != a->root) {
        dm_coll_send(run, a->sbuf, a->rcount, a->rtype, a->root);
        return;
    }
    others = linear_gather(run, a);
    if (others == NULL)
        return;
    /* What is combined lies where the higher rank's vector was; the root's own one is not ours to change. */
    dm_coll_copy(run, a->sbuf, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
    for (int i = 0; i < run->size; i++) {
        void *upper =
            i == a->root ? a->rbuf : dm_coll_at(others, (MPI_Count)a->rcount * k++, a->rtype);

        if (i > 0)
            dm_coll_combine(run, a->op, lower, upper, a->rcount, a->rtype);
        lower = upper;
    }
    dm_coll_copy(run, lower, a->rcount, a->rtype, a->rbuf, a->rcount, a->rtype);
}
