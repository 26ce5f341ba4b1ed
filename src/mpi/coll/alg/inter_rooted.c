/*
 * Barrier, broadcast, gather and scatter between two groups. The group of the root takes no
 * part but for the root itself.
 */
#include "mpi/coll/alg/alg.h"

/* Nobody leaves before the other group's leader has told that all of it have come. */
void dm_coll_inter_barrier(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args none = {.rtype = dm_coll_byte()};

    (void)a;
    dm_coll_inside(run);
    dm_coll_barrier_tree(run, &none);
    dm_coll_across(run);
    if (run->rank == 0)
        dm_coll_sendrecv(run, NULL, 0, dm_coll_byte(), 0, NULL, 0, dm_coll_byte(), 0);
    dm_coll_inside(run);
    dm_coll_bcast_binomial(run, &none);
}

void dm_coll_inter_bcast(struct dm_run *run, const struct dm_coll_args *a)
{
    struct dm_coll_args local = *a;

    if (a->root == MPI_PROC_NULL)
        return;
    if (a->root == MPI_ROOT) {
        dm_coll_send(run, a->rbuf, a->rcount, a->rtype, 0);
        return;
    }
    if (run->rank == 0)
        dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, a->root);
    local.root = 0;
    dm_coll_inside(run);
    dm_coll_bcast_binomial(run, &local);
}

void dm_coll_inter_gather(struct dm_run *run, const struct dm_coll_args *a)
{
    if (a->root >= 0 && dm_coll_bytes(a->scount, a->stype) > 0)
        dm_coll_send(run, a->sbuf, a->scount, a->stype, a->root);
    if (a->root != MPI_ROOT)
        return;
    for (int i = 0; i < run->size; i++)
        if (dm_coll_bytes(dm_coll_rcount(a, i), a->rtype) > 0)
            dm_coll_irecv(run, dm_coll_rplace(a, i), dm_coll_rcount(a, i), a->rtype, i);
    dm_coll_wait(run);
}

void dm_coll_inter_scatter(struct dm_run *run, const struct dm_coll_args *a)
{
    if (a->root >= 0 && dm_coll_bytes(a->rcount, a->rtype) > 0)
        dm_coll_recv(run, a->rbuf, a->rcount, a->rtype, a->root);
    if (a->root != MPI_ROOT)
        return;
    for (int i = 0; i < run->size; i++)
        if (dm_coll_bytes(dm_coll_scount(a, i), a->stype) > 0)
            dm_coll_isend(run, dm_coll_splace(a, i), dm_coll_scount(a, i), a->stype, i);
    dm_coll_wait(run);
}
