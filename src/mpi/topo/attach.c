/*
 * What all kinds of topologies share: the new communicator, and questions about the kind.
 */
#include "mpi/topo/attach.h"

#include <stdlib.h>

#include "mpi/comm/comm.h"
#include "mpi/topo/topo.h"

static const char *topo_kind_name(int kind)
{
    return kind == MPI_CART ? "Cartesian" : kind == MPI_GRAPH ? "graph" : "distributed graph";
}

int dm_topo_test(struct dm_comm *comm, int *kind)
{
    *kind = comm->topo != NULL ? comm->topo->kind : MPI_UNDEFINED;
    return DM_OK;
}

int dm_topo_is_other(const struct dm_comm *comm, int kind)
{
    if (comm->topo == NULL)
        return DM_FAIL(DM_ERR_TOPOLOGY, "the communicator has no topology; a %s one is needed",
                       topo_kind_name(kind));
    return DM_FAIL(DM_ERR_TOPOLOGY, "the communicator's topology is a %s one, not a %s one",
                   topo_kind_name(comm->topo->kind), topo_kind_name(kind));
}

int dm_topo_check_comm(const struct dm_comm *comm)
{
    return comm->remote == NULL ? DM_OK
                                : DM_FAIL(DM_ERR_COMM, "a topology for an intercommunicator");
}

int *dm_topo_take(struct dm_topo *topo, size_t *used_p, size_t n)
{
    int *place = topo->mem + *used_p;

    *used_p += n;
    return place;
}

/* The group of n ranks of comm. */
static int group_of(const struct dm_comm *comm, int n, const int order[], struct dm_group **group_p)
{
    int *procs = malloc((size_t)n * sizeof(*procs));
    int err;

    if (procs == NULL)
        return DM_FAIL(DM_ENOMEM, "list of %d processes", n);
    for (int i = 0; i < n; i++)
        procs[i] = dm_group_proc(comm->group, order != NULL ? order[i] : i);
    err = dm_group_new(n, procs, comm->group, group_p);
    free(procs);
    return err;
}

int dm_topo_attach(struct dm_comm *comm, int n, const int order[], struct dm_topo *topo,
                   struct dm_comm **comm_p)
{
    struct dm_group *group;
    int err;

    if (n == comm->size && order == NULL) {
        err = dm_comm_dup_bare(comm, comm_p);
    } else {
        err = group_of(comm, n, order, &group);
        if (err == DM_OK) {
            err = dm_comm_create(comm, group, comm_p);
            dm_group_unref(group);
        }
    }
    if (err == DM_OK && *comm_p != NULL)
        (*comm_p)->topo = topo;
    else
        dm_topo_unref(topo);
    return err;
}
