/*
 * MPI_Comm_split: every rank votes for a color, those of one color and of one side of the parent
 * are a new group.
 */
#include <stdlib.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/agree.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/intercomm.h"

struct vote {
    int color; /* any but MPI_UNDEFINED is one, as in MPICH */
    int key;
    int has_failed; /* the call fails there */
};

enum { VOTE_INTS = sizeof(struct vote) / sizeof(int) };

struct member {
    int key;
    int rank;
};

static int split_by_key(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/*
 * Those of a group who voted for the color; the group itself if they are all and in its order, NULL
 * if there is none.
 */
static int split_color_group(struct dm_group *parent, const struct vote *votes, int color,
                             struct dm_group **group_p)
{
    size_t size = (size_t)parent->size;
    struct member *members = malloc(size * sizeof(*members));
    int *procs = malloc(size * sizeof(*procs));
    bool is_same = true;
    int n = 0;
    int err = DM_OK;

    *group_p = NULL;
    if (members == NULL || procs == NULL) {
        free(members);
        free(procs);
        return DM_FAIL(DM_ENOMEM, "lists of %d ranks to split", parent->size);
    }
    for (int i = 0; i < parent->size; i++)
        if (votes[i].color == color)
            members[n++] = (struct member){votes[i].key, i};
    qsort(members, (size_t)n, sizeof(*members), split_by_key);
    for (int i = 0; i < n; i++) {
        procs[i] = dm_group_proc(parent, members[i].rank);
        is_same = is_same && members[i].rank == i;
    }
    if (is_same && n == parent->size) {
        dm_group_ref(parent);
        *group_p = parent;
    } else if (n > 0) {
        err = dm_group_new(n, procs, parent, group_p);
    }
    free(members);
    free(procs);
    return err;
}

/*
 * The group of a color among the n ranks whose votes come from an allgather over comm: the remote
 * ones of an intercommunicator. NULL for MPI_UNDEFINED. If the call has failed somewhere it does at
 * all: err is what has been so far.
 */
static int split_vote(struct dm_comm *comm, int err, struct vote mine, struct dm_group **group_p)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    struct dm_group *voters = comm->remote != NULL ? comm->remote : comm->group;
    struct vote *votes = malloc((size_t)voters->size * sizeof(*votes));
    int moved;

    *group_p = NULL;
    if (votes == NULL)
        return DM_FAIL(DM_ENOMEM, "colors and keys of %d ranks", voters->size);
    if (err != DM_OK)
        mine.has_failed = 1;
    moved = dm_allgather(&mine, VOTE_INTS, type, votes, VOTE_INTS, type, comm);
    if (err == DM_OK)
        err = moved;
    for (int i = 0; i < voters->size && err == DM_OK; i++)
        if (votes[i].has_failed)
            err = DM_FAIL(DM_ERR_OTHER, "rank %d%s has failed in the same call", i,
                          comm->remote != NULL ? " of the other group" : "");
    if (err == DM_OK && mine.color != MPI_UNDEFINED)
        err = split_color_group(voters, votes, mine.color, group_p);
    free(votes);
    return err;
}

static int split_intra(struct dm_comm *comm, int err, struct vote mine, struct dm_comm **comm_p)
{
    struct dm_group *group;
    uint32_t ctx;

    err = split_vote(comm, err, mine, &group);
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

/* The ids of a new intercommunicator and of the communicator of its local group. */
static int split_agree_inter(struct dm_comm *comm, uint32_t *ctx_p, uint32_t *local_p)
{
    int err = dm_comm_agree_all(comm->local, local_p);

    if (err != DM_OK)
        return err;
    err = dm_comm_agree_all(comm, ctx_p);
    if (err != DM_OK)
        dm_ctx_put(*local_p);
    return err;
}

static int split_inter(struct dm_comm *comm, int err, struct vote mine, struct dm_comm **comm_p)
{
    struct dm_group *group = NULL;
    struct dm_group *remote = NULL;
    struct dm_comm *local;
    uint32_t ctx;
    uint32_t ctx_local;

    err = split_vote(comm->local, err, mine, &group);
    err = split_vote(comm, err, mine, &remote);
    if (err == DM_OK)
        err = split_agree_inter(comm, &ctx, &ctx_local);
    if (err == DM_OK && remote != NULL) {
        err = dm_comm_new(group, ctx_local, comm->eh, &local);
        if (err == DM_OK)
            err = dm_intercomm_new(group, remote, ctx, local, comm->eh, comm_p);
    } else if (err == DM_OK) {
        /* MPI_UNDEFINED, or a color that nobody of the other side has. */
        dm_ctx_put(ctx);
        dm_ctx_put(ctx_local);
    }
    dm_group_unref(group);
    dm_group_unref(remote);
    return err;
}

int dm_comm_split_or_fail(struct dm_comm *comm, int failed, int color, int key,
                          struct dm_comm **comm_p)
{
    struct vote mine = {color, key, 0};

    *comm_p = NULL;
    return comm->remote != NULL ? split_inter(comm, failed, mine, comm_p)
                                : split_intra(comm, failed, mine, comm_p);
}

int dm_comm_split(struct dm_comm *comm, int color, int key, struct dm_comm **comm_p)
{
    return dm_comm_split_or_fail(comm, DM_OK, color, key, comm_p);
}
