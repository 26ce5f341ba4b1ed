/*
 * The map of a group, in one block of memory that is freed with the group.
 */
#include "mpi/node/node.h"

#include <stdlib.h>

/* The job's number of the node of a rank. */
static int map_job_node(const struct dm_group *group, int rank)
{
    return dm_chan_node(dm_world.chan, dm_group_proc(group, rank));
}

/* Number the nodes of a group; by the job's numbers, -1: none of the group's. NULL: no memory. */
static int *map_number(const struct dm_group *group, int *n_nodes_p)
{
    int n = 0, *numbers;

    for (int i = 0; i < group->size; i++)
        n = map_job_node(group, i) >= n ? map_job_node(group, i) + 1 : n;
    numbers = malloc((size_t)(n > 0 ? n : 1) * sizeof(*numbers));
    if (numbers == NULL)
        return NULL;
    for (int i = 0; i < n; i++)
        numbers[i] = -1;
    *n_nodes_p = 0;
    for (int i = 0; i < group->size; i++)
        if (numbers[map_job_node(group, i)] < 0)
            numbers[map_job_node(group, i)] = (*n_nodes_p)++;
    return numbers;
}

static int map_count_local(const struct dm_group *group)
{
    int n = 0;

    for (int i = 0; i < group->size && group->rank >= 0; i++)
        n += map_job_node(group, i) == map_job_node(group, group->rank);
    return n;
}

static void map_fill(struct dm_node_map *map, const struct dm_group *group, const int *numbers)
{
    int *ranks = (int *)(void *)(map + 1), *leaders = ranks + map->n_local;
    int *node_of = leaders + map->n_nodes;
    int n_seen = 0, n_local = 0;

    map->node = group->rank >= 0 ? numbers[map_job_node(group, group->rank)] : -1;
    map->is_ordered = true;
    for (int i = 0; i < group->size; i++) {
        node_of[i] = numbers[map_job_node(group, i)];
        if (node_of[i] == n_seen)
            leaders[n_seen++] = i;
        map->is_ordered = map->is_ordered && node_of[i] == n_seen - 1;
        if (i == group->rank)
            map->lrank = n_local;
        if (node_of[i] == map->node)
            ranks[n_local++] = i;
    }
    map->ranks = ranks;
    map->leaders = leaders;
    map->node_of = node_of;
}

const struct dm_node_map *dm_node_map(struct dm_group *group)
{
    struct dm_node_map *map = group->nodes;
    int n_nodes, n_local, *numbers;

    if (map != NULL)
        return map;
    numbers = map_number(group, &n_nodes);
    if (numbers == NULL)
        return NULL;
    n_local = map_count_local(group);
    map = calloc(1, sizeof(*map) + (size_t)(group->size + n_nodes + n_local) * sizeof(int));
    if (map != NULL) {
        map->n_nodes = n_nodes;
        map->n_local = n_local;
        map_fill(map, group, numbers);
    }
    free(numbers);
    group->nodes = map;
    return map;
}

int dm_node_first_remote(const struct dm_group *group, int proc)
{
    for (int i = 0; i < group->size; i++)
        if (!dm_node_is_same(dm_group_proc(group, i), proc))
            return i;
    return -1;
}

bool dm_node_is_one(const struct dm_group *group)
{
    if (group->nodes != NULL)
        return group->nodes->n_nodes == 1;
    return dm_node_first_remote(group, dm_group_proc(group, 0)) < 0;
}

int dm_node_first_proc(void)
{
    int proc = 0;

    while (!dm_node_is_local(proc))
        proc++;
    return proc;
}
