/*
 * Group operations. Groups are immutable: results are new ones, or MPI_GROUP_EMPTY.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/comm/comm.h"
#include "mpi/comm/procmap.h"

#define FEW_RANKS 64 /* of a group, whose marks need no memory of their own */

/* ---- questions ---- */

int dm_group_translate_ranks(struct dm_group *group1, int n, const int ranks1[],
                             struct dm_group *group2, int ranks2[])
{
    struct dm_procmap map;
    int err = dm_procmap_open(&map, group2, n);

    for (int i = 0; i < n && err == DM_OK; i++) {
        if (ranks1[i] == MPI_PROC_NULL)
            ranks2[i] = MPI_PROC_NULL;
        else if (ranks1[i] < 0 || ranks1[i] >= group1->size)
            err = DM_FAIL(DM_ERR_RANK, "ranks1[%d] is %d, the group has %d members", i, ranks1[i],
                          group1->size);
        else
            ranks2[i] = dm_procmap_rank(&map, dm_group_proc(group1, ranks1[i]));
    }
    dm_procmap_close(&map);
    return err;
}

int dm_group_compare(struct dm_group *group1, struct dm_group *group2, int *result)
{
    struct dm_procmap map;
    bool is_same = true;
    int err;

    *result = MPI_UNEQUAL;
    if (group1->size != group2->size)
        return DM_OK;
    for (int i = 0; i < group1->size && is_same; i++)
        is_same = dm_group_proc(group1, i) == dm_group_proc(group2, i);
    if (is_same) {
        *result = MPI_IDENT;
        return DM_OK;
    }
    err = dm_procmap_open(&map, group2, group1->size);
    if (err != DM_OK)
        return err;
    *result = MPI_SIMILAR;
    for (int i = 0; i < group1->size && *result == MPI_SIMILAR; i++)
        if (dm_procmap_rank(&map, dm_group_proc(group1, i)) == MPI_UNDEFINED)
            *result = MPI_UNEQUAL;
    dm_procmap_close(&map);
    return DM_OK;
}

/* ---- results ---- */

/* The group of a list, derived from another one, for the program; it takes the list over. */
static int group_make(int n, int *procs, const struct dm_group *from, struct dm_group **group_p)
{
    int err;

    if (n == 0) {
        free(procs);
        *group_p = dm_handle_get(DM_KIND_GROUP, MPI_GROUP_EMPTY);
        dm_group_ref(*group_p);
        return DM_OK;
    }
    err = dm_group_of(n, procs, from, group_p);
    if (err == DM_OK) {
        err = dm_handle_new(DM_KIND_GROUP, &(*group_p)->obj);
        if (err != DM_OK) {
            dm_group_unref(*group_p);
            *group_p = NULL;
        }
    }
    return err;
}

static int *group_new_list(size_t n)
{
    return malloc((n + 1) * sizeof(int)); /* never 0 bytes */
}

static int group_no_memory(size_t n)
{
    return DM_FAIL(DM_ENOMEM, "list of %zu processes", n);
}

/* Members of a that are (or are not) in b, appended to procs; their number, or -1: no memory. */
static int group_filter(const struct dm_group *a, const struct dm_group *b, bool is_in, int *procs)
{
    struct dm_procmap map;
    int n = 0;

    if (dm_procmap_open(&map, b, a->size) != DM_OK)
        return -1;
    for (int i = 0; i < a->size; i++) {
        int proc = dm_group_proc(a, i);

        if ((dm_procmap_rank(&map, proc) != MPI_UNDEFINED) == is_in)
            procs[n++] = proc;
    }
    dm_procmap_close(&map);
    return n;
}

int dm_group_union(struct dm_group *group1, struct dm_group *group2, struct dm_group **group_p)
{
    size_t most = (size_t)group1->size + (size_t)group2->size;
    int *procs = group_new_list(most);
    int n;

    *group_p = NULL;
    if (procs == NULL)
        return group_no_memory(most);
    for (int i = 0; i < group1->size; i++)
        procs[i] = dm_group_proc(group1, i);
    n = group_filter(group2, group1, false, procs + group1->size);
    if (n < 0) {
        free(procs);
        return DM_ENOMEM;
    }
    return group_make(group1->size + n, procs,
                      group1->session != MPI_SESSION_NULL ? group1 : group2, group_p);
}

static int group_subset(struct dm_group *group1, struct dm_group *group2, bool is_in,
                        struct dm_group **group_p)
{
    int *procs = group_new_list((size_t)group1->size);
    int n;

    *group_p = NULL;
    if (procs == NULL)
        return group_no_memory((size_t)group1->size);
    n = group_filter(group1, group2, is_in, procs);
    if (n < 0) {
        free(procs);
        return DM_ENOMEM;
    }
    return group_make(n, procs, group1, group_p);
}

int dm_group_intersection(struct dm_group *group1, struct dm_group *group2,
                          struct dm_group **group_p)
{
    return group_subset(group1, group2, true, group_p);
}

int dm_group_difference(struct dm_group *group1, struct dm_group *group2, struct dm_group **group_p)
{
    return group_subset(group1, group2, false, group_p);
}

/* ---- choosing members ---- */

/* A set of ranks being named one by one. */
struct choice {
    const struct dm_group *group;
    bool *is_named; /* by rank; few, or malloc's */
    int *procs;     /* of the named ones, in order */
    int n;
    bool few[FEW_RANKS];
};

static void group_drop_names(struct choice *c)
{
    if (c->is_named != c->few)
        free(c->is_named);
}

static int group_open_choice(struct choice *c, const struct dm_group *group)
{
    c->group = group;
    c->n = 0;
    c->is_named = c->few;
    if (group->size > FEW_RANKS)
        c->is_named = calloc((size_t)group->size, sizeof(*c->is_named));
    else
        memset(c->few, 0, (size_t)group->size * sizeof(*c->few));
    c->procs = group_new_list((size_t)group->size);
    if (c->is_named != NULL && c->procs != NULL)
        return DM_OK;
    free(c->procs);
    group_drop_names(c);
    return group_no_memory((size_t)group->size);
}

static int group_name_rank(struct choice *c, int64_t rank)
{
    if (rank < 0 || rank >= c->group->size)
        return DM_FAIL(DM_ERR_RANK, "rank %lld is not in the group, which has %d members",
                       (long long)rank, c->group->size);
    if (c->is_named[rank])
        return DM_FAIL(DM_ERR_RANK, "rank %d is named twice", (int)rank);
    c->is_named[rank] = true;
    c->procs[c->n++] = dm_group_proc(c->group, (int)rank);
    return DM_OK;
}

static int group_name_range(struct choice *c, const int range[3])
{
    int64_t first = range[0];
    int64_t last = range[1];
    int64_t stride = range[2];
    int err = DM_OK;

    if (stride == 0)
        return DM_FAIL(DM_ERR_ARG, "a range of ranks with stride 0");
    if ((stride > 0 && first > last) || (stride < 0 && first < last))
        return DM_FAIL(DM_ERR_ARG, "a range from rank %d to %d with stride %d", range[0], range[1],
                       range[2]);
    for (int64_t r = first; (stride > 0 ? r <= last : r >= last) && err == DM_OK; r += stride)
        err = group_name_rank(c, r);
    return err;
}

/* The named ranks in the order they were named, or the others in the group's; c is freed. */
static int group_close_choice(struct choice *c, int err, bool is_incl, struct dm_group **group_p)
{
    *group_p = NULL;
    if (err != DM_OK) {
        free(c->procs);
    } else {
        if (!is_incl) {
            c->n = 0;
            for (int i = 0; i < c->group->size; i++)
                if (!c->is_named[i])
                    c->procs[c->n++] = dm_group_proc(c->group, i);
        }
        err = group_make(c->n, c->procs, c->group, group_p);
    }
    group_drop_names(c);
    return err;
}

static int group_choose(struct dm_group *group, int n, const int ranks[], bool is_incl,
                        struct dm_group **group_p)
{
    struct choice c;
    int err = group_open_choice(&c, group);

    if (err != DM_OK)
        return err;
    for (int i = 0; i < n && err == DM_OK; i++)
        err = group_name_rank(&c, ranks[i]);
    return group_close_choice(&c, err, is_incl, group_p);
}

static int group_choose_ranges(struct dm_group *group, int n, int ranges[][3], bool is_incl,
                               struct dm_group **group_p)
{
    struct choice c;
    int err = group_open_choice(&c, group);

    if (err != DM_OK)
        return err;
    for (int i = 0; i < n && err == DM_OK; i++)
        err = group_name_range(&c, ranges[i]);
    return group_close_choice(&c, err, is_incl, group_p);
}

int dm_group_incl(struct dm_group *group, int n, const int ranks[], struct dm_group **group_p)
{
    return group_choose(group, n, ranks, true, group_p);
}

int dm_group_excl(struct dm_group *group, int n, const int ranks[], struct dm_group **group_p)
{
    return group_choose(group, n, ranks, false, group_p);
}

int dm_group_range_incl(struct dm_group *group, int n, int ranges[][3], struct dm_group **group_p)
{
    return group_choose_ranges(group, n, ranges, true, group_p);
}

int dm_group_range_excl(struct dm_group *group, int n, int ranges[][3], struct dm_group **group_p)
{
    return group_choose_ranges(group, n, ranges, false, group_p);
}

int dm_group_free(struct dm_group *group)
{
    /* MPI_GROUP_EMPTY is a result like any other: freeing it is allowed, it stays. */
    dm_group_unref(group);
    return DM_OK;
}
