/*
 * Questions about communicators, and their end.
 */
#include "mpi/comm/comm.h"
#include "mpi/pt2pt/pt2pt.h"

int dm_comm_remote_size(struct dm_comm *comm, int *size)
{
    if (comm->remote == NULL)
        return DM_FAIL(DM_ERR_COMM, "an intracommunicator has no remote group");
    *size = comm->remote->size;
    return DM_OK;
}

/* The program's view of a group that a communicator holds: one object, one handle. */
static int show_group(struct dm_group *group, struct dm_group **group_p)
{
    int err = DM_OK;

    *group_p = NULL;
    if (group->obj.handle == 0)
        err = dm_handle_new(DM_KIND_GROUP, &group->obj);
    if (err != DM_OK)
        return err;
    dm_group_ref(group);
    *group_p = group;
    return DM_OK;
}

int dm_comm_group(struct dm_comm *comm, struct dm_group **group_p)
{
    return show_group(comm->group, group_p);
}

int dm_comm_remote_group(struct dm_comm *comm, struct dm_group **group_p)
{
    if (comm->remote == NULL)
        return DM_FAIL(DM_ERR_COMM, "an intracommunicator has no remote group");
    return show_group(comm->remote, group_p);
}

int dm_comm_compare(struct dm_comm *comm1, struct dm_comm *comm2, int *result)
{
    int local;
    int remote = MPI_IDENT;
    int err;

    *result = MPI_UNEQUAL;
    if (comm1 == comm2) {
        *result = MPI_IDENT;
        return DM_OK;
    }
    if ((comm1->remote == NULL) != (comm2->remote == NULL))
        return DM_OK;
    err = dm_group_compare(comm1->group, comm2->group, &local);
    if (err == DM_OK && comm1->remote != NULL)
        err = dm_group_compare(comm1->remote, comm2->remote, &remote);
    if (err != DM_OK)
        return err;
    if (local == MPI_IDENT && remote == MPI_IDENT)
        *result = MPI_CONGRUENT;
    else if (local != MPI_UNEQUAL && remote != MPI_UNEQUAL)
        *result = MPI_SIMILAR;
    return DM_OK;
}

int dm_comm_free(struct dm_comm *comm)
{
    int err = dm_attr_delete_all(comm->obj.handle, &comm->attrs);

    if (err != DM_OK)
        return err;
    dm_p2p_bsend_end(&comm->bsend);
    comm->is_freed = true;
    dm_handle_drop(DM_KIND_COMM, &comm->obj);
    dm_comm_unref(comm);
    return DM_OK;
}
