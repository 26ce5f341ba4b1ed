/*
 * New communicators from one that is there: dup, split, create.
 */
#include <stdlib.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/agree.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/intercomm.h"

struct vote {
    int color;
    int key;
};

struct member {
    int key;
    int rank;
};

/* ---- dup ---- */

int dm_comm_dup_bare(struct dm_comm *comm, struct dm_comm **comm_p)
{
    uint32_t ctx;
    int err;

    *comm_p = NULL;
    if (comm->remote != NULL)
        return dm_intercomm_dup(comm, comm_p);
    err = dm_comm_agree_all(comm, &ctx);
    return err == DM_OK ? dm_comm_new(comm->group, ctx, comm->eh, comm_p) : err;
}

int dm_comm_inherit(struct dm_comm *from, struct dm_comm *to)
{
    dm_topo_ref(from->topo);
    to->topo = from->topo;
    return dm_attr_copy_all(from->obj.handle, from->attrs, &to->attrs);
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

/* ---- split ---- */

static int by_key(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The group of those who voted for the color; the parent's own if it has the same members in order. */
static int color_group(const struct dm_comm *comm, const struct vote *votes, int color,
                       struct dm_group **group_p)
{
    struct member *members = malloc((size_t)comm->size * sizeof(*members));
    int *procs = malloc((size_t)comm->size * sizeof(*procs));
    bool is_same = true;
    int n = 0;
    int err = DM_OK;

    if (members == NULL || procs == NULL) {
        free(members);
        free(procs);
        return DM_FAIL(DM_ENOMEM, "lists of %d ranks to split", comm->size);
    }
    for (int i = 0; i < comm->size; i++)
        if (votes[i].color == color)
            members[n++] = (struct member){votes[i].key, i};
    qsort(members, (size_t)n, sizeof(*members), by_key);
    for (int i = 0; i < n; i++) {
        procs[i] = dm_group_proc(comm->group, members[i].rank);
        is_same = is_same && members[i].rank == i;
    }
    if (is_same && n == comm->size) {
        dm_group_ref(comm->group);
        *group_p = comm->group;
    } else {
        err = dm_group_new(n, procs, group_p);
    }
    free(members);
    free(procs);
    return err;
}

/* The color of each rank of comm, from all of them. */
static int collect_votes(struct dm_comm *comm, struct vote mine, struct vote **votes_p)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    int err;

    *votes_p = malloc((size_t)comm->size * sizeof(**votes_p));
    if (*votes_p == NULL)
        return DM_FAIL(DM_ENOMEM, "colors and keys of %d ranks", comm->size);
    err = dm_allgather(&mine, 2, type, *votes_p, 2, type, comm);
    if (err != DM_OK) {
        free(*votes_p);
        *votes_p = NULL;
    }
    return err;
}

int dm_comm_split(struct dm_comm *comm, int color, int key, struct dm_comm **comm_p)
{
    struct vote *votes;
    struct dm_group *group = NULL;
    uint32_t ctx;
    int err;

    *comm_p = NULL;
    if (comm->remote != NULL)
        return DM_FAIL(DM_ENOTSUP, "splitting an intercommunicator");
    err = collect_votes(comm, (struct vote){color, key}, &votes);
    if (err != DM_OK)
        return err;
    if (color != MPI_UNDEFINED)
        err = color_group(comm, votes, color, &group);
    free(votes);
    /* One id serves all colors: their groups have nothing in common. */
    if (err == DM_OK)
        err = dm_comm_agree_all(comm, &ctx);
    if (err == DM_OK && group != NULL)
        err = dm_comm_new(group, ctx, comm->eh, comm_p);
    else if (err == DM_OK)
        dm_ctx_put(ctx);
    dm_group_unref(group);
    return err;
}

/* The first rank of comm on this rank's host. */
static int host_color(const struct dm_comm *comm)
{
    int mine = dm_chan_node(dm_world.chan, dm_world.rank);
    int rank = 0;

    while (rank < comm->rank) {
        if (dm_chan_node(dm_world.chan, dm_group_proc(comm->group, rank)) == mine)
            break;
        rank++;
    }
    return rank;
}

int dm_comm_split_type(struct dm_comm *comm, int type, int key, struct dm_info *info,
                       struct dm_comm **comm_p)
{
    int color = MPI_UNDEFINED;
    int err;

    *comm_p = NULL;
    switch (type) {
    case MPI_COMM_TYPE_SHARED:
        color = comm->remote == NULL ? host_color(comm) : 0;
        break;
    case MPI_UNDEFINED:
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_HW_UNGUIDED:
        break;
    default:
        return DM_FAIL(DM_ERR_ARG, "split type %d; MPI_COMM_TYPE_SHARED is %d", type,
                       MPI_COMM_TYPE_SHARED);
    }
    err = dm_comm_split(comm, color, key, comm_p);
    if (err == DM_OK && *comm_p != NULL && info != NULL)
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
    uint32_t ctx;
    int *ranks;
    int err;

    *comm_p = NULL;
    if (comm->remote != NULL)
        return DM_FAIL(DM_ENOTSUP, "MPI_Comm_create over an intercommunicator");
    err = member_ranks(comm, group, &ranks);
    if (err != DM_OK)
        return err;
    free(ranks);
    err = dm_comm_agree_all(comm, &ctx);
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
    err = dm_comm_agree(&circle, &ctx);
    free(ranks);
    return err == DM_OK ? dm_comm_new(group, ctx, comm->eh, comm_p) : err;
}
