/*
 * New communicators from one that is there: dup and create.
 */
#include <stdlib.h>

#include "mpi/comm/agree.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/intercomm.h"

/* ---- dup ---- */

int dm_comm_dup_or_fail(struct dm_comm *comm, int failed, struct dm_comm **comm_p)
{
    struct dm_comm_circle circle = {.comm = comm};
    uint32_t ctx;
    int err = dm_comm_agree(&circle, failed, &ctx);

    *comm_p = NULL;
    return err == DM_OK ? dm_comm_new(comm->group, ctx, comm->eh, comm_p) : err;
}

int dm_comm_dup_bare(struct dm_comm *comm, struct dm_comm **comm_p)
{
    *comm_p = NULL;
    return comm->remote != NULL ? dm_intercomm_dup(comm, comm_p)
                                : dm_comm_dup_or_fail(comm, DM_OK, comm_p);
}

int dm_comm_inherit(struct dm_comm *from, struct dm_comm *to)
{
    int err;

    dm_topo_ref(from->topo);
    to->topo = from->topo;
    err = dm_attr_copy_all(from->obj.handle, &from->attrs, &to->attrs);
    if (err != DM_OK)
        dm_attr_discard(to->obj.handle, &to->attrs);
    return err;
}

int dm_comm_dup(struct dm_comm *comm, struct dm_comm **comm_p)
{
    int err = dm_comm_dup_bare(comm, comm_p);

    if (err != DM_OK)
        return err;
    err = dm_comm_inherit(comm, *comm_p);
    if (err != DM_OK) {
        dm_comm_unref(*comm_p);
        *comm_p = NULL;
    }
    return err;
}

int dm_comm_dup_with_info(struct dm_comm *comm, struct dm_info *info, struct dm_comm **comm_p)
{
    int err = dm_comm_dup(comm, comm_p);

    if (err == DM_OK)
        err = dm_comm_set_info(*comm_p, info);
    return err;
}

/* ---- create ---- */

/* Ranks in comm of the members of group. */
static int member_ranks(struct dm_comm *comm, struct dm_group *group, int **ranks_p)
{
    int *ranks = malloc(((size_t)group->size + 1) * 2 * sizeof(*ranks));
    int *own;
    int err;

    if (ranks == NULL)
        return DM_FAIL(DM_ENOMEM, "ranks of a group of %d", group->size);
    own = ranks + group->size + 1;
    for (int i = 0; i < group->size; i++)
        own[i] = i;
    err = dm_group_translate_ranks(group, group->size, own, comm->group, ranks);
    for (int i = 0; i < group->size && err == DM_OK; i++)
        if (ranks[i] == MPI_UNDEFINED)
            err = DM_FAIL(DM_ERR_GROUP, "rank %d of the group is not in the communicator", i);
    if (err != DM_OK) {
        free(ranks);
        return err;
    }
    *ranks_p = ranks;
    return DM_OK;
}

int dm_comm_create(struct dm_comm *comm, struct dm_group *group, struct dm_comm **comm_p)
{
    struct dm_comm_circle circle = {.comm = comm};
    uint32_t ctx;
    int *ranks = NULL;
    int err;

    *comm_p = NULL;
    err = member_ranks(comm, group, &ranks);
    free(ranks);
    /* The other side has to be told the group: that is what a split does. */
    if (comm->remote != NULL)
        return dm_comm_split_or_fail(comm, err, group->rank == MPI_UNDEFINED ? MPI_UNDEFINED : 0,
                                     group->rank, comm_p);
    err = dm_comm_agree(&circle, err, &ctx);
    if (err == DM_OK && group->rank != MPI_UNDEFINED)
        err = dm_comm_new(group, ctx, comm->eh, comm_p);
    else if (err == DM_OK)
        dm_ctx_put(ctx);
    return err;
}

int dm_comm_create_group(struct dm_comm *comm, struct dm_group *group, int tag,
                         struct dm_comm **comm_p)
{
    struct dm_comm_circle circle = {.comm = comm, .n = group->size, .me = group->rank, .tag = tag};
    uint32_t ctx;
    int *ranks;
    int err;

    *comm_p = NULL;
    if (comm->remote != NULL)
        return DM_FAIL(DM_ERR_COMM, "MPI_Comm_create_group over an intercommunicator");
    if (group->rank == MPI_UNDEFINED)
        return DM_OK;
    err = member_ranks(comm, group, &ranks);
    if (err != DM_OK)
        return err;
    circle.ranks = ranks;
    err = dm_comm_agree(&circle, DM_OK, &ctx);
    free(ranks);
    return err == DM_OK ? dm_comm_new(group, ctx, comm->eh, comm_p) : err;
}
