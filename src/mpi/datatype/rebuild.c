/*
 * The same datatype over other basic types: what a datatype is in a data representation whose
 * elements have other lengths (MPI-4.0 section 14.5). Displacements in elements follow the new
 * extents, displacements in bytes stay.
 */
#include "mpi/datatype/datatype.h"

#include <stdlib.h>

#include "mpi/datatype/env.h"

static struct dm_counts rebuild_ints(const struct dm_type_env *env, size_t from)
{
    return dm_counts_wide(env->ints + from);
}

static int rebuild_struct(const struct dm_type_env *env, struct dm_type **parts,
                          struct dm_type **new_p)
{
    size_t n = (size_t)env->ints[0];
    MPI_Datatype *handles = malloc((n + 1) * sizeof(*handles));
    int err;

    if (handles == NULL)
        return DM_FAIL(DM_ENOMEM, "%zu datatypes", n);
    for (size_t i = 0; i < n; i++)
        handles[i] = parts[i]->obj.handle;
    err =
        dm_type_create_struct(n, rebuild_ints(env, 1), dm_counts_wide(env->addrs), handles, new_p);
    free(handles);
    return err;
}

static int rebuild_darray(const struct dm_type_env *env, struct dm_type *old,
                          struct dm_type **new_p)
{
    size_t n = (size_t)env->ints[2];
    int *ints = malloc((3 * n + 1) * sizeof(*ints));
    int err;

    if (ints == NULL)
        return DM_FAIL(DM_ENOMEM, "arguments of a datatype");
    for (size_t i = 0; i < 3 * n; i++)
        ints[i] = (int)env->ints[3 + n + i];
    err =
        dm_type_create_darray((int)env->ints[0], (int)env->ints[1], (int)n, rebuild_ints(env, 3),
                              ints, ints + n, ints + 2 * n, (int)env->ints[3 + 4 * n], old, new_p);
    free(ints);
    return err;
}

/* The constructor of env once more, over other types. */
static int rebuild_apply(const struct dm_type_env *env, struct dm_type **parts,
                         struct dm_type **new_p)
{
    const MPI_Count *ints = env->ints;
    size_t n = env->n_ints > 0 ? (size_t)ints[0] : 0;

    switch (env->combiner) {
    case MPI_COMBINER_DUP:
        return dm_type_contiguous(1, parts[0], new_p);
    case MPI_COMBINER_CONTIGUOUS:
        return dm_type_contiguous(n, parts[0], new_p);
    case MPI_COMBINER_VECTOR:
        return dm_type_vector(n, ints[1], ints[2], parts[0], new_p);
    case MPI_COMBINER_HVECTOR:
        return dm_type_create_hvector(n, ints[1], env->addrs[0], parts[0], new_p);
    case MPI_COMBINER_INDEXED:
        return dm_type_indexed(n, rebuild_ints(env, 1), rebuild_ints(env, n + 1), parts[0], new_p);
    case MPI_COMBINER_HINDEXED:
        return dm_type_create_hindexed(n, rebuild_ints(env, 1), dm_counts_wide(env->addrs),
                                       parts[0], new_p);
    case MPI_COMBINER_INDEXED_BLOCK:
        return dm_type_create_indexed_block(n, ints[1], rebuild_ints(env, 2), parts[0], new_p);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return dm_type_create_hindexed_block(n, ints[1], dm_counts_wide(env->addrs), parts[0],
                                             new_p);
    case MPI_COMBINER_STRUCT:
        return rebuild_struct(env, parts, new_p);
    case MPI_COMBINER_SUBARRAY:
        return dm_type_create_subarray((int)n, rebuild_ints(env, 1), rebuild_ints(env, n + 1),
                                       rebuild_ints(env, 2 * n + 1), (int)ints[3 * n + 1], parts[0],
                                       new_p);
    case MPI_COMBINER_DARRAY:
        return rebuild_darray(env, parts[0], new_p);
    case MPI_COMBINER_RESIZED:
        return dm_type_create_resized(parts[0], env->addrs[0], env->addrs[1], new_p);
    default:
        return DM_FAIL(DM_EINTERN, "a datatype of combiner %d cannot be rebuilt", env->combiner);
    }
}

void dm_type_rebuilt_drop(struct dm_type *type)
{
    if (type->is_builtin || type->is_freed)
        dm_type_unref(type);
    else
        (void)dm_type_free(type);
}

static int rebuild_one(struct dm_type *type, dm_type_basic_fn *fn, void *arg,
                       struct dm_type **new_p)
{
    const struct dm_type_env *env = type->env;
    struct dm_type **parts;
    size_t n_made = 0;
    int err = DM_OK;

    if (type->is_builtin || env == NULL)
        return fn(arg, type, new_p);
    parts = calloc(env->n_types + 1, sizeof(struct dm_type *));
    if (parts == NULL)
        return DM_FAIL(DM_ENOMEM, "parts of a datatype");
    while (err == DM_OK && n_made < env->n_types) {
        err = rebuild_one(env->types[n_made], fn, arg, &parts[n_made]);
        n_made += err == DM_OK;
    }
    if (err == DM_OK)
        err = rebuild_apply(env, parts, new_p);
    while (n_made > 0)
        dm_type_rebuilt_drop(parts[--n_made]);
    free(parts);
    return err;
}

int dm_type_rebuild(struct dm_type *type, dm_type_basic_fn *fn, void *arg, struct dm_type **new_p)
{
    int err = rebuild_one(type, fn, arg, new_p);

    if (err == DM_OK)
        err = dm_type_commit(*new_p);
    return err;
}
