/*
 * From process numbers to ranks of a group, in constant time.
 */
#ifndef DM_MPI_COMM_PROCMAP_H
#define DM_MPI_COMM_PROCMAP_H

#include <stdlib.h>

#include "mpi/core/core.h"

struct dm_procmap {
    const struct dm_group *group;
    int *ranks; /* by process number, or NULL: the group answers fast enough itself */
    int n;
};

#define DM_PROCMAP_SEARCH 1024 /* comparisons that are cheaper than a table */

/* A table of a group's ranks. DM_ENOMEM. */
int dm_procmap_fill(struct dm_procmap *map);
/* For about n_questions questions. DM_ENOMEM. The group must live as long. */
static inline int dm_procmap_open(struct dm_procmap *map, const struct dm_group *group,
                                  int n_questions)
{
    *map = (struct dm_procmap){.group = group};
    if (group->procs == NULL || (int64_t)group->size * n_questions <= DM_PROCMAP_SEARCH)
        return DM_OK;
    return dm_procmap_fill(map);
}
static inline void dm_procmap_close(struct dm_procmap *map)
{
    if (dm_unlikely(map->ranks != NULL))
        free(map->ranks);
    map->ranks = NULL;
}
/* Rank of a process in the group, or MPI_UNDEFINED. */
static inline int dm_procmap_rank(const struct dm_procmap *map, int proc)
{
    if (map->ranks == NULL)
        return dm_group_rank_of(map->group, proc);
    return proc >= 0 && proc < map->n ? map->ranks[proc] : MPI_UNDEFINED;
}

#endif
