/*
 * Groups: ordered sets of processes.
 */
#ifndef DM_MPI_CORE_GROUP_H
#define DM_MPI_CORE_GROUP_H

#include "mpi/core/handle.h"

struct dm_node_map; /* mpi/node/node.h */

/* An ordered set of processes. Immutable once made. */
struct dm_group {
    struct dm_obj obj;
    int size;
    int rank;                  /* mine, or MPI_UNDEFINED */
    MPI_Session session;       /* it is derived from, or MPI_SESSION_NULL */
    int *procs;                /* process number of each rank; NULL: the identity */
    struct dm_node_map *nodes; /* one block of memory, made by src/mpi/node on demand; or NULL */
};

static inline int dm_group_proc(const struct dm_group *g, int rank)
{
    return g->procs == NULL ? rank : g->procs[rank];
}
/*
 * A new group holding a copy of procs (size may be 0); one reference, no handle yet. It takes
 * references of processes of other jobs. from: the group that it is derived from, or NULL.
 */
int dm_group_new(int size, const int *procs, const struct dm_group *from,
                 struct dm_group **group_p);
/* The same with procs itself, malloc's, which the group takes over, also when it fails; NULL: the identity. */
int dm_group_of(int size, int *procs, const struct dm_group *from, struct dm_group **group_p);
/* A copy with a handle, for the program. */
int dm_group_copy(const struct dm_group *from, struct dm_group **group_p);
void dm_group_ref(struct dm_group *group);
void dm_group_unref(struct dm_group *group);
/* Are all of its processes of this process's job? All of them say the same. */
bool dm_group_is_own(const struct dm_group *group);
/* Rank of a process in a group, or MPI_UNDEFINED. */
static inline int dm_group_rank_of(const struct dm_group *group, int proc)
{
    if (group->procs == NULL)
        return proc >= 0 && proc < group->size ? proc : MPI_UNDEFINED;
    for (int i = 0; i < group->size; i++)
        if (group->procs[i] == proc)
            return i;
    return MPI_UNDEFINED;
}

#endif
