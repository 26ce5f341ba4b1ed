/*
 * Envelope and contents. Values are kept at full width; which of them come out as int is decided
 * when they are asked for.
 */
#include "mpi/datatype/env.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/datatype/life.h"

struct dm_type_env *dm_env_new(int combiner, size_t n_ints, size_t n_addrs, size_t n_types)
{
    size_t n = n_ints + n_addrs + n_types;
    struct dm_type_env *env = malloc(sizeof(*env) + n * sizeof(MPI_Count));

    if (env == NULL)
        return NULL;
    *env = (struct dm_type_env){
        .refs = 1, .combiner = combiner, .n_ints = n_ints, .n_addrs = n_addrs, .n_types = n_types};
    env->ints = (MPI_Count *)(void *)(env + 1);
    env->addrs = env->ints + n_ints;
    env->types = (struct dm_type **)(void *)(env->addrs + n_addrs);
    memset(env->types, 0, n_types * sizeof(struct dm_type *));
    return env;
}

void dm_env_ref(struct dm_type_env *env)
{
    if (env != NULL)
        env->refs++;
}

void dm_env_unref(struct dm_type_env *env)
{
    if (env == NULL || --env->refs > 0)
        return;
    for (size_t i = 0; i < env->n_types; i++)
        if (env->types[i] != NULL)
            dm_type_unref(env->types[i]);
    free(env);
}

void dm_env_int(struct dm_type_env *env, MPI_Count value)
{
    if (env != NULL)
        env->ints[env->n_filled++] = value;
}

void dm_env_ints(struct dm_type_env *env, struct dm_counts values, size_t n)
{
    MPI_Count *to;

    if (env == NULL)
        return;
    to = env->ints + env->n_filled;
    env->n_filled += n;
    if (values.narrow == NULL)
        for (size_t i = 0; i < n; i++)
            to[i] = values.wide[i];
    else
        for (size_t i = 0; i < n; i++)
            to[i] = values.narrow[i];
}

void dm_env_addrs(struct dm_type_env *env, struct dm_counts values, size_t n)
{
    for (size_t i = 0; env != NULL && i < n; i++)
        env->addrs[i] = dm_count_at(values, i);
}

void dm_env_type(struct dm_type_env *env, size_t i, struct dm_type *type)
{
    if (env == NULL)
        return;
    dm_type_ref(type);
    env->types[i] = type;
}

/* Do all integers of the type fit an int? */
static bool env_is_narrow(const struct dm_type_env *env)
{
    for (size_t i = 0; i < env->n_ints; i++)
        if (env->ints[i] > INT_MAX || env->ints[i] < INT_MIN)
            return false;
    return true;
}

static bool env_is_large(const struct dm_type_env *env)
{
    return env->is_large || !env_is_narrow(env);
}

MPI_Datatype dm_type_made_large(struct dm_type *type)
{
    type->env->is_large = true;
    return type->obj.handle;
}

/*
 * How many of the integers are counts of the large form: sizes of processes, ranks and the
 * distribution of darray, and the order, stay int.
 */
static size_t env_n_plain_ints(const struct dm_type_env *env)
{
    switch (env->combiner) {
    case MPI_COMBINER_SUBARRAY:
        return 2;
    case MPI_COMBINER_DARRAY:
        return 4 + 3 * (size_t)env->ints[2];
    default:
        return 0;
    }
}

/* Integer i is a count of the large form. */
static bool env_is_large_int(const struct dm_type_env *env, size_t i)
{
    size_t n_dims;

    switch (env->combiner) {
    case MPI_COMBINER_SUBARRAY: /* ndims, sizes, subsizes, starts, order */
        return i > 0 && i < env->n_ints - 1;
    case MPI_COMBINER_DARRAY: /* size, rank, ndims, gsizes, distribs, dargs, psizes, order */
        n_dims = (size_t)env->ints[2];
        return i >= 3 && i < 3 + n_dims;
    default:
        return true;
    }
}

int dm_type_get_envelope_c(const struct dm_type *type, MPI_Count *n_integers,
                           MPI_Count *n_addresses, MPI_Count *n_large_counts,
                           MPI_Count *n_datatypes, int *combiner)
{
    const struct dm_type_env *env = type->env;
    size_t plain;

    *n_integers = 0;
    *n_addresses = 0;
    *n_large_counts = 0;
    *n_datatypes = 0;
    *combiner = MPI_COMBINER_NAMED;
    if (env == NULL)
        return DM_OK;
    *combiner = env->combiner;
    *n_datatypes = (MPI_Count)env->n_types;
    if (!env_is_large(env)) {
        *n_integers = (MPI_Count)env->n_ints;
        *n_addresses = (MPI_Count)env->n_addrs;
        return DM_OK;
    }
    plain = env_n_plain_ints(env);
    *n_integers = (MPI_Count)plain;
    *n_large_counts = (MPI_Count)(env->n_ints - plain + env->n_addrs);
    return DM_OK;
}

int dm_type_get_envelope(const struct dm_type *type, int *n_integers, int *n_addresses,
                         int *n_datatypes, int *combiner)
{
    const struct dm_type_env *env = type->env;

    if (env != NULL && (!env_is_narrow(env) || env->n_ints > INT_MAX))
        return DM_FAIL(DM_ERR_TYPE, "the datatype has large counts; MPI_Type_get_envelope_c and "
                                    "MPI_Type_get_contents_c can describe it");
    *n_integers = env != NULL ? (int)env->n_ints : 0;
    *n_addresses = env != NULL ? (int)env->n_addrs : 0;
    *n_datatypes = env != NULL ? (int)env->n_types : 0;
    *combiner = env != NULL ? env->combiner : MPI_COMBINER_NAMED;
    return DM_OK;
}

static int env_get_types(const struct dm_type_env *env, MPI_Datatype datatypes[])
{
    for (size_t i = 0; i < env->n_types; i++) {
        struct dm_type *copy;
        int err;

        if (env->types[i]->is_builtin) {
            datatypes[i] = env->types[i]->obj.handle;
            continue;
        }
        err = dm_type_clone(env->types[i], env->types[i]->env, &copy);
        if (err != DM_OK)
            return err;
        datatypes[i] = copy->obj.handle;
    }
    return DM_OK;
}

static int env_check_space(const char *what, const void *array, MPI_Count have, MPI_Count need)
{
    if (need > 0 && array == NULL)
        return DM_FAIL(DM_ERR_ARG, "the array of %s is NULL, the datatype has %lld", what,
                       (long long)need);
    if (have < need)
        return DM_FAIL(DM_ERR_ARG, "room for %lld %s, the datatype has %lld", (long long)have, what,
                       (long long)need);
    return DM_OK;
}

static int env_get_values(const struct dm_type_env *env, bool is_wide, int integers[],
                          MPI_Aint addresses[], MPI_Count large_counts[], MPI_Datatype datatypes[])
{
    for (size_t i = 0; i < env->n_ints; i++) {
        if (is_wide && env_is_large_int(env, i))
            *large_counts++ = env->ints[i];
        else
            *integers++ = (int)env->ints[i];
    }
    for (size_t i = 0; i < env->n_addrs; i++) {
        if (is_wide)
            *large_counts++ = env->addrs[i];
        else
            *addresses++ = env->addrs[i];
    }
    return env_get_types(env, datatypes);
}

static int env_no_contents(const struct dm_type *type)
{
    return DM_FAIL(DM_ERR_TYPE, "%s is predefined: it has no contents", type->name);
}

int dm_type_get_contents_c(const struct dm_type *type, MPI_Count max_integers,
                           MPI_Count max_addresses, MPI_Count max_large_counts,
                           MPI_Count max_datatypes, int integers[], MPI_Aint addresses[],
                           MPI_Count large_counts[], MPI_Datatype datatypes[])
{
    const struct dm_type_env *env = type->env;
    MPI_Count n_ints, n_addrs, n_large, n_types;
    int combiner;
    int err;

    if (env == NULL)
        return env_no_contents(type);
    dm_type_get_envelope_c(type, &n_ints, &n_addrs, &n_large, &n_types, &combiner);
    if ((err = env_check_space("integers", integers, max_integers, n_ints)) != DM_OK ||
        (err = env_check_space("addresses", addresses, max_addresses, n_addrs)) != DM_OK ||
        (err = env_check_space("large counts", large_counts, max_large_counts, n_large)) != DM_OK ||
        (err = env_check_space("datatypes", datatypes, max_datatypes, n_types)) != DM_OK)
        return err;
    return env_get_values(env, env_is_large(env), integers, addresses, large_counts, datatypes);
}

int dm_type_get_contents(const struct dm_type *type, int max_integers, int max_addresses,
                         int max_datatypes, int integers[], MPI_Aint addresses[],
                         MPI_Datatype datatypes[])
{
    int n_ints, n_addrs, n_types, combiner;
    int err;

    if (type->env == NULL)
        return env_no_contents(type);
    if ((err = dm_type_get_envelope(type, &n_ints, &n_addrs, &n_types, &combiner)) != DM_OK ||
        (err = env_check_space("integers", integers, max_integers, n_ints)) != DM_OK ||
        (err = env_check_space("addresses", addresses, max_addresses, n_addrs)) != DM_OK ||
        (err = env_check_space("datatypes", datatypes, max_datatypes, n_types)) != DM_OK)
        return err;
    return env_get_values(type->env, false, integers, addresses, NULL, datatypes);
}
