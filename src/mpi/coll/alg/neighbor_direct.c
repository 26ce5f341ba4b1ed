/*
 * Collectives along a topology by direct messages, all at once.
 *
 * Messages between the same two processes are told apart by their order alone: the k-th edge
 * between them in the list of the sender belongs to the k-th one in the list of the receiver. On a
 * grid that is not so: what went to the neighbour before me comes from the one after it, and both
 * may be the same process, so there the receives of a dimension are posted the other way round.
 */
#include "mpi/coll/alg/alg.h"

static void neighbor_receive(struct dm_run *run, const struct dm_coll_args *a)
{
    const struct dm_topo *topo = run->comm->topo;

    for (int k = 0; k < topo->n_in; k++) {
        int i = topo->kind == MPI_CART ? k ^ 1 : k;
        size_t count = dm_coll_rcount(a, i);
        struct dm_type *type = dm_coll_rtype(a, i);

        if (topo->in[i] != MPI_PROC_NULL && dm_coll_bytes(count, type) > 0)
            dm_coll_irecv(run, dm_coll_rplace(a, i), count, type, topo->in[i]);
    }
}

void dm_coll_neighbor_allgather_direct(struct dm_run *run, const struct dm_coll_args *a)
{
    const struct dm_topo *topo = run->comm->topo;

    neighbor_receive(run, a);
    for (int i = 0; i < topo->n_out && dm_coll_bytes(a->scount, a->stype) > 0; i++)
        if (topo->out[i] != MPI_PROC_NULL)
            dm_coll_isend(run, a->sbuf, a->scount, a->stype, topo->out[i]);
    dm_coll_wait(run);
}

void dm_coll_neighbor_alltoall_direct(struct dm_run *run, const struct dm_coll_args *a)
{
    const struct dm_topo *topo = run->comm->topo;

    neighbor_receive(run, a);
    for (int i = 0; i < topo->n_out; i++) {
        size_t count = dm_coll_scount(a, i);
        struct dm_type *type = dm_coll_stype(a, i);

        if (topo->out[i] != MPI_PROC_NULL && dm_coll_bytes(count, type) > 0)
            dm_coll_isend(run, dm_coll_splace(a, i), count, type, topo->out[i]);
    }
    dm_coll_wait(run);
}
