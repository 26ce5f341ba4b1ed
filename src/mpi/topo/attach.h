/*
 * Between the files of src/mpi/topo.
 */
#ifndef DM_MPI_TOPO_ATTACH_H
#define DM_MPI_TOPO_ATTACH_H

#include "mpi/core/core.h"

/*
 * A communicator of n ranks of comm, which are order[0..n) (NULL: the first n), with the topology,
 * whose reference goes over, also when this fails. Collective; n at least 1; topo is NULL where
 * the process is not among them.
 */
int dm_topo_attach(struct dm_comm *comm, int n, const int order[], struct dm_topo *topo,
                   struct dm_comm **comm_p);

/* The topology of comm; DM_ERR_TOPOLOGY unless it is of this kind, with this text. */
int dm_topo_is_other(const struct dm_comm *comm, int kind) DM_COLD;
static inline int dm_topo_of(const struct dm_comm *comm, int kind, const struct dm_topo **topo_p)
{
    *topo_p = comm->topo;
    return dm_likely(comm->topo != NULL && comm->topo->kind == kind) ? DM_OK
                                                                     : dm_topo_is_other(comm, kind);
}
/* DM_ERR_COMM for intercommunicators, which have no topologies. */
int dm_topo_check_comm(const struct dm_comm *comm);

/* The next n ints of topo->mem, where *used_p are in use. */
int *dm_topo_take(struct dm_topo *topo, size_t *used_p, size_t n);

#endif
