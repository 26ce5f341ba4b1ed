/*
 * Bodies of the collectives along a topology.
 */
#include "mpi/coll/select.h"

/* Errors that all processes notice alike, then the run. */
static int neighbor_run(enum dm_coll_kind kind, const char *name, const struct dm_coll_args *a,
                        struct dm_comm *comm, struct dm_coll_how how)
{
    const struct dm_topo *topo = comm->topo;

    if (comm->remote != NULL)
        return DM_FAIL(DM_ERR_COMM, "%s on an intercommunicator", name);
    if (topo == NULL)
        return DM_FAIL(DM_ERR_TOPOLOGY, "%s, but the communicator has no topology", name);
    if (topo->kind == MPI_GRAPH && !topo->of.graph.is_symmetric)
        return DM_FAIL(DM_ERR_TOPOLOGY,
                       "%s on a graph with edges of which only one direction is "
                       "there; MPI_Dist_graph_create can have such",
                       name);
    if (a->sbuf == MPI_IN_PLACE || a->rbuf == MPI_IN_PLACE)
        return DM_FAIL(DM_ERR_BUFFER, "MPI_IN_PLACE is not allowed in a %s", name);
    return dm_coll_run(kind, 0, a, comm, how);
}

int dm_coll_neighbor_allgather(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                               size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                               struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype};

    return neighbor_run(DM_COLL_NEIGHBOR_ALLGATHER, "neighborhood allgather", &a, comm, how);
}

int dm_coll_neighbor_allgatherv(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                                struct dm_counts rcounts, struct dm_counts displs,
                                struct dm_type *rtype, struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = displs,
                             .rtype = rtype};

    return neighbor_run(DM_COLL_NEIGHBOR_ALLGATHER, "neighborhood allgatherv", &a, comm, how);
}

int dm_coll_neighbor_alltoall(const void *sbuf, size_t scount, struct dm_type *stype, void *rbuf,
                              size_t rcount, struct dm_type *rtype, struct dm_comm *comm,
                              struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scount = scount,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rtype = rtype};

    return neighbor_run(DM_COLL_NEIGHBOR_ALLTOALL, "neighborhood alltoall", &a, comm, how);
}

int dm_coll_neighbor_alltoallv(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                               struct dm_type *stype, void *rbuf, struct dm_counts rcounts,
                               struct dm_counts rdispls, struct dm_type *rtype,
                               struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = sdispls,
                             .stype = stype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = rdispls,
                             .rtype = rtype};

    return neighbor_run(DM_COLL_NEIGHBOR_ALLTOALL, "neighborhood alltoallv", &a, comm, how);
}

int dm_coll_neighbor_alltoallw(const void *sbuf, struct dm_counts scounts, struct dm_counts sdispls,
                               const MPI_Datatype *stypes, void *rbuf, struct dm_counts rcounts,
                               struct dm_counts rdispls, const MPI_Datatype *rtypes,
                               struct dm_comm *comm, struct dm_coll_how how)
{
    struct dm_coll_args a = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdispls = sdispls,
                             .stypes = stypes,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdispls = rdispls,
                             .rtypes = rtypes};

    return neighbor_run(DM_COLL_NEIGHBOR_ALLTOALL, "neighborhood alltoallw", &a, comm, how);
}
