/*
 * The constructors of MPI-4.0 section 5.1.2, and resized: each says what it adds to the type
 * map, make.c does the rest.
 */
#include "mpi/datatype/datatype.h"

#include "mpi/datatype/make.h"

static int check_length(MPI_Count length)
{
    if (length < 0)
        return DM_FAIL(DM_ERR_ARG, "block length %lld is negative", (long long)length);
    return DM_OK;
}

static int check_lengths(struct dm_counts lengths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dm_count_at(lengths, i) < 0)
            return DM_FAIL(DM_ERR_ARG, "block length %lld at index %zu is negative",
                           (long long)dm_count_at(lengths, i), i);
    return DM_OK;
}

int dm_type_contiguous(size_t count, struct dm_type *old, struct dm_type **new_p)
{
    struct dm_type_env *env = dm_env_new(MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    struct dm_make make;

    dm_env_int(env, (MPI_Count)count);
    dm_env_type(env, 0, old);
    dm_make_init(&make);
    dm_make_add(&make, 0, old, (MPI_Count)count);
    return dm_make_end(&make, env, new_p);
}

/* stride in bytes. */
static int make_vector(size_t count, MPI_Count blocklength, MPI_Aint stride, struct dm_type *old,
                       struct dm_type_env *env, struct dm_type **new_p)
{
    struct dm_make make;

    dm_env_type(env, 0, old);
    dm_make_init(&make);
    dm_make_add(&make, 0, old, blocklength);
    dm_make_repeat(&make, (MPI_Count)count, stride);
    return dm_make_end(&make, env, new_p);
}

int dm_type_vector(size_t count, MPI_Count blocklength, MPI_Count stride, struct dm_type *old,
                   struct dm_type **new_p)
{
    struct dm_type_env *env;
    bool is_overflow = false;
    MPI_Aint bytes = dm_make_at(0, stride, old->extent, &is_overflow);
    int err = check_length(blocklength);

    if (err != DM_OK)
        return err;
    if (is_overflow)
        return DM_FAIL(DM_ERR_COUNT, "stride %lld of elements of %lld bytes does not fit 63 bits",
                       (long long)stride, (long long)old->extent);
    env = dm_env_new(MPI_COMBINER_VECTOR, 3, 0, 1);
    dm_env_int(env, (MPI_Count)count);
    dm_env_int(env, blocklength);
    dm_env_int(env, stride);
    return make_vector(count, blocklength, bytes, old, env, new_p);
}

int dm_type_create_hvector(size_t count, MPI_Count blocklength, MPI_Aint stride,
                           struct dm_type *old, struct dm_type **new_p)
{
    struct dm_type_env *env;
    MPI_Count wide = stride;
    int err = check_length(blocklength);

    if (err != DM_OK)
        return err;
    env = dm_env_new(MPI_COMBINER_HVECTOR, 2, 1, 1);
    dm_env_int(env, (MPI_Count)count);
    dm_env_int(env, blocklength);
    dm_env_addrs(env, dm_counts_wide(&wide), 1);
    return make_vector(count, blocklength, stride, old, env, new_p);
}

/* Blocks at displacements of `unit` bytes; all of length if lengths is none. */
static int make_indexed(size_t count, const struct dm_counts *lengths, MPI_Count length,
                        struct dm_counts displacements, MPI_Aint unit, struct dm_type *old,
                        struct dm_type_env *env, struct dm_type **new_p)
{
    struct dm_make make;
    struct dm_block_list blocks = {.n = count,
                                   .lengths = lengths,
                                   .length = length,
                                   .displacements = displacements,
                                   .unit = unit};

    dm_env_type(env, 0, old);
    dm_make_init(&make);
    dm_make_blocks(&make, &blocks, old);
    return dm_make_end(&make, env, new_p);
}

int dm_type_indexed(size_t count, struct dm_counts blocklengths, struct dm_counts displacements,
                    struct dm_type *old, struct dm_type **new_p)
{
    struct dm_type_env *env;
    int err = check_lengths(blocklengths, count);

    if (err != DM_OK)
        return err;
    env = dm_env_new(MPI_COMBINER_INDEXED, 2 * count + 1, 0, 1);
    dm_env_int(env, (MPI_Count)count);
    dm_env_ints(env, blocklengths, count);
    dm_env_ints(env, displacements, count);
    return make_indexed(count, &blocklengths, 0, displacements, old->extent, old, env, new_p);
}

int dm_type_create_hindexed(size_t count, struct dm_counts blocklengths,
                            struct dm_counts displacements, struct dm_type *old,
                            struct dm_type **new_p)
{
    struct dm_type_env *env;
    int err = check_lengths(blocklengths, count);

    if (err != DM_OK)
        return err;
    env = dm_env_new(MPI_COMBINER_HINDEXED, count + 1, count, 1);
    dm_env_int(env, (MPI_Count)count);
    dm_env_ints(env, blocklengths, count);
    dm_env_addrs(env, displacements, count);
    return make_indexed(count, &blocklengths, 0, displacements, 1, old, env, new_p);
}

int dm_type_create_indexed_block(size_t count, MPI_Count blocklength,
                                 struct dm_counts displacements, struct dm_type *old,
                                 struct dm_type **new_p)
{
    struct dm_type_env *env;
    int err = check_length(blocklength);

    if (err != DM_OK)
        return err;
    env = dm_env_new(MPI_COMBINER_INDEXED_BLOCK, count + 2, 0, 1);
    dm_env_int(env, (MPI_Count)count);
    dm_env_int(env, blocklength);
    dm_env_ints(env, displacements, count);
    return make_indexed(count, NULL, blocklength, displacements, old->extent, old, env, new_p);
}

int dm_type_create_hindexed_block(size_t count, MPI_Count blocklength,
                                  struct dm_counts displacements, struct dm_type *old,
                                  struct dm_type **new_p)
{
    struct dm_type_env *env;
    int err = check_length(blocklength);

    if (err != DM_OK)
        return err;
    env = dm_env_new(MPI_COMBINER_HINDEXED_BLOCK, 2, count, 1);
    dm_env_int(env, (MPI_Count)count);
    dm_env_int(env, blocklength);
    dm_env_addrs(env, displacements, count);
    return make_indexed(count, NULL, blocklength, displacements, 1, old, env, new_p);
}

int dm_type_create_struct(size_t count, struct dm_counts blocklengths,
                          struct dm_counts displacements, const MPI_Datatype *types,
                          struct dm_type **new_p)
{
    struct dm_type_env *env;
    struct dm_make make;
    int err = check_lengths(blocklengths, count);

    if (err != DM_OK)
        return err;
    env = dm_env_new(MPI_COMBINER_STRUCT, count + 1, count, count);
    dm_env_int(env, (MPI_Count)count);
    dm_env_ints(env, blocklengths, count);
    dm_env_addrs(env, displacements, count);
    dm_make_init(&make);
    for (size_t i = 0; i < count; i++) {
        struct dm_type *type = dm_type_get(types[i]);
        MPI_Aint disp = dm_make_at(0, 1, dm_count_at(displacements, i), &make.span.is_overflow);
        MPI_Count n = dm_count_at(blocklengths, i);

        dm_env_type(env, i, type);
        if (types[i] == MPI_LB && n > 0)
            dm_make_mark_lb(&make, disp);
        else if (types[i] == MPI_UB && n > 0)
            dm_make_mark_ub(&make, disp);
        else
            dm_make_add(&make, disp, type, n);
    }
    dm_make_pad(&make);
    return dm_make_end(&make, env, new_p);
}

int dm_type_create_resized(struct dm_type *old, MPI_Aint lb, MPI_Aint extent,
                           struct dm_type **new_p)
{
    struct dm_type_env *env = dm_env_new(MPI_COMBINER_RESIZED, 0, 2, 1);
    MPI_Count addrs[2] = {lb, extent};
    struct dm_make make;
    MPI_Aint ub;

    dm_env_addrs(env, dm_counts_wide(addrs), 2);
    dm_env_type(env, 0, old);
    dm_make_init(&make);
    ub = dm_make_at(lb, 1, extent, &make.span.is_overflow);
    dm_make_add(&make, 0, old, 1);
    dm_make_bounds(&make, lb, ub);
    return dm_make_end(&make, env, new_p);
}
