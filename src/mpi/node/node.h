/*
 * Nodes: which processes are on one host, and what they do together there.
 *
 * The map of a group is made when somebody first asks for it, and kept with the group:
 * communicators of the same processes, their windows and their collectives have one. Questions
 * that need no map are answered without memory.
 */
#ifndef DM_MPI_NODE_NODE_H
#define DM_MPI_NODE_NODE_H

#include "mpi/core/core.h"

/* Nodes are numbered from 0 in the order of their lowest ranks. */
struct dm_node_map {
    int n_nodes;
    int node;           /* of this process; -1: it is not in the group */
    int n_local;        /* ranks of this node */
    int lrank;          /* of this process */
    bool is_ordered;    /* the ranks of each node follow one another */
    const int *ranks;   /* of the local ranks, ascending */
    const int *leaders; /* the lowest rank of each node */
    const int *node_of; /* the node of each rank */
};

/* The map of a group, which keeps it. NULL: no memory. */
const struct dm_node_map *dm_node_map(struct dm_group *group);

/* Are two processes on one host? */
static inline bool dm_node_is_same(int proc, int other)
{
    return dm_chan_node(dm_world.chan, proc) == dm_chan_node(dm_world.chan, other);
}
/* Is a process on this one's host? */
static inline bool dm_node_is_local(int proc)
{
    return dm_node_is_same(proc, dm_world.rank);
}
/* The lowest rank of a group on another host than that process; -1: none. */
int dm_node_first_remote(const struct dm_group *group, int proc);
/* Is all of a group on one host? */
bool dm_node_is_one(const struct dm_group *group);
/* The first process of the job on this host, which stands for the host in any group. */
int dm_node_first_proc(void);

#endif
