/*
 * Rank lookup: a table by process number where a search would be quadratic.
 */
#include "mpi/comm/procmap.h"

#include <stdlib.h>

int dm_procmap_fill(struct dm_procmap *map)
{
    const struct dm_group *group = map->group;
    int top = -1;

    for (int i = 0; i < group->size; i++)
        top = group->procs[i] > top ? group->procs[i] : top;
    map->n = top + 1;
    map->ranks = malloc((size_t)map->n * sizeof(*map->ranks));
    if (map->ranks == NULL)
        return DM_FAIL(DM_ENOMEM, "table of %d processes", map->n);
    for (int i = 0; i < map->n; i++)
        map->ranks[i] = MPI_UNDEFINED;
    for (int i = 0; i < group->size; i++)
        map->ranks[group->procs[i]] = i;
    return DM_OK;
}
