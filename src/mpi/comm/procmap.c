/*
 * Rank lookup: a table by process number where a search would be quadratic.
 */
#include "mpi/comm/procmap.h"

#include <stdlib.h>

#define SEARCH_MAX 1024 /* comparisons that are cheaper than a table */

int dm_procmap_open(struct dm_procmap *map, const struct dm_group *group, int n_questions)
{
    int top = -1;

    *map = (struct dm_procmap){.group = group};
    if (group->procs == NULL || (int64_t)group->size * n_questions <= SEARCH_MAX)
        return DM_OK;
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

void dm_procmap_close(struct dm_procmap *map)
{
    free(map->ranks);
    map->ranks = NULL;
}

int dm_procmap_rank(const struct dm_procmap *map, int proc)
{
    if (map->ranks == NULL)
        return dm_group_rank_of(map->group, proc);
    return proc >= 0 && proc < map->n ? map->ranks[proc] : MPI_UNDEFINED;
}
