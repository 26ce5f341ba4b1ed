/*
 * MPI_Comm_split_type. The one hardware resource that is told apart is the host, under the name that
 * the standard reserves.
 */
#include <string.h>

#include "mpi/comm/comm.h"

#define RESOURCE_KEY "mpi_hw_resource_type"
#define RESOURCE     "mpi_shared_memory"

static int node_of(int proc)
{
    return dm_chan_node(dm_world.chan, proc);
}

/* The first process of the job on this one's host: means the same in every group. */
static int host_color(void)
{
    int proc = 0;

    while (node_of(proc) != node_of(dm_world.rank))
        proc++;
    return proc;
}

static bool is_on_one_host(const struct dm_group *group)
{
    for (int i = 1; i < group->size; i++)
        if (node_of(dm_group_proc(group, i)) != node_of(dm_group_proc(group, 0)))
            return false;
    return true;
}

/* Would a part for each host be smaller than comm? */
static bool spans_hosts(const struct dm_comm *comm)
{
    const struct dm_group *remote = comm->remote;

    if (!is_on_one_host(comm->group))
        return true;
    return remote != NULL &&
           (!is_on_one_host(remote) ||
            node_of(dm_group_proc(remote, 0)) != node_of(dm_group_proc(comm->group, 0)));
}

static bool names_host(const struct dm_info *info)
{
    const char *value = dm_info_value(info, RESOURCE_KEY);

    return value != NULL && strcmp(value, RESOURCE) == 0;
}

int dm_comm_split_type(struct dm_comm *comm, int type, int key, struct dm_info *info,
                       struct dm_comm **comm_p)
{
    bool is_by_host = false;
    int err = DM_OK;

    *comm_p = NULL;
    switch (type) {
    case MPI_COMM_TYPE_SHARED:
        is_by_host = true;
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
        is_by_host = names_host(info);
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        is_by_host = spans_hosts(comm);
        break;
    case MPI_UNDEFINED:
    case MPIX_COMM_TYPE_NEIGHBORHOOD: /* no kind of neighborhood is known */
        break;
    default:
        err = DM_FAIL(DM_ERR_ARG, "split_type is %d, which is none of MPI_COMM_TYPE_*", type);
    }
    err = dm_comm_split_or_fail(comm, err, is_by_host ? host_color() : MPI_UNDEFINED, key, comm_p);
    if (err != DM_OK || *comm_p == NULL || info == NULL)
        return err;
    if (type == MPI_COMM_TYPE_HW_UNGUIDED)
        return dm_info_set(info, RESOURCE_KEY, RESOURCE);
    return dm_comm_set_info(*comm_p, info);
}
