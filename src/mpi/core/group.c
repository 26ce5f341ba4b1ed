/*
 * Groups: immutable lists of process numbers. A group holds a reference on each of its processes that
 * is of another job, which keeps the number and the connection alive.
 */
#include "mpi/core/core.h"

#include <stdlib.h>
#include <string.h>

/* One reference more, or less, to each process of another job. */
static void group_count_foreign(const struct dm_group *group, int n)
{
    for (int i = 0; group->procs != NULL && i < group->size; i++) {
        int proc = group->procs[i];

        if (!dm_world_is_foreign(proc))
            continue;
        if (dm_world.count_foreign != NULL)
            dm_world.count_foreign(proc, n);
        if (n > 0)
            dm_adapt_proc_ref(dm_chan_adapt(dm_world.chan), proc);
        else
            dm_adapt_proc_put(dm_chan_adapt(dm_world.chan), proc);
    }
}

int dm_group_new(int size, const int *procs, const struct dm_group *from, struct dm_group **group_p)
{
    int *copy = NULL;

    *group_p = NULL;
    if (procs != NULL && size > 0) {
        copy = malloc((size_t)size * sizeof(*procs));
        if (copy == NULL)
            return DM_FAIL(DM_ENOMEM, "group of %d processes", size);
        memcpy(copy, procs, (size_t)size * sizeof(*procs));
    }
    return dm_group_of(size, copy, from, group_p);
}

int dm_group_of(int size, int *procs, const struct dm_group *from, struct dm_group **group_p)
{
    struct dm_group *group = dm_obj_take(DM_KIND_GROUP, sizeof(*group));

    *group_p = NULL;
    if (group == NULL) {
        free(procs);
        return DM_FAIL(DM_ENOMEM, "group object");
    }
    *group = (struct dm_group){.obj.refs = 1,
                               .size = size,
                               .session = from != NULL ? from->session : MPI_SESSION_NULL,
                               .procs = procs};
    group_count_foreign(group, 1);
    group->rank = dm_group_rank_of(group, dm_world.rank);
    *group_p = group;
    return DM_OK;
}

int dm_group_copy(const struct dm_group *from, struct dm_group **group_p)
{
    int err = dm_group_new(from->size, from->procs, from, group_p);

    if (err != DM_OK)
        return err;
    err = dm_handle_new(DM_KIND_GROUP, &(*group_p)->obj);
    if (err != DM_OK) {
        dm_group_unref(*group_p);
        *group_p = NULL;
    }
    return err;
}

void dm_group_ref(struct dm_group *group)
{
    group->obj.refs++;
}

void dm_group_unref(struct dm_group *group)
{
    if (group == NULL || group->obj.handle == MPI_GROUP_EMPTY || --group->obj.refs > 0)
        return;
    dm_handle_drop(DM_KIND_GROUP, &group->obj);
    group_count_foreign(group, -1);
    free(group->procs);
    free(group->nodes);
    dm_obj_free(DM_KIND_GROUP, group);
}

bool dm_group_is_own(const struct dm_group *group)
{
    for (int i = 0; group->procs != NULL && i < group->size; i++)
        if (dm_world_is_foreign(group->procs[i]))
            return false;
    return true;
}
