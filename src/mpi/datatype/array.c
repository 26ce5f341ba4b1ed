/*
 * Subarrays and distributed arrays (MPI-4.0 sections 5.1.3 and 5.1.4): built dimension by
 * dimension, the fastest first.
 */
#include "mpi/datatype/datatype.h"

#include <stdlib.h>

#include "mpi/datatype/make.h"

static int array_check_order(int ndims, int order)
{
    if (ndims < 1)
        return DM_FAIL(DM_ERR_ARG, "%d dimensions", ndims);
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return DM_FAIL(DM_ERR_ARG, "order %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order);
    return DM_OK;
}

/* The dimension that is n-th when counted from the fastest. */
static int array_nth_dim(int n, int ndims, int order)
{
    return order == MPI_ORDER_FORTRAN ? n : ndims - 1 - n;
}

static int check_subarray(int ndims, struct dm_counts sizes, struct dm_counts subsizes,
                          struct dm_counts starts, int order)
{
    int err = array_check_order(ndims, order);

    for (int d = 0; d < ndims && err == DM_OK; d++) {
        MPI_Count size = dm_count_at(sizes, (size_t)d);
        MPI_Count subsize = dm_count_at(subsizes, (size_t)d);
        MPI_Count start = dm_count_at(starts, (size_t)d);

        /* None, as in MPICH: a process without a part of the array. */
        if (size < 1 || subsize < 0 || subsize > size || start < 0 || start > size - subsize)
            err = DM_FAIL(DM_ERR_ARG, "dimension %d: %lld elements from %lld on, of %lld", d,
                          (long long)subsize, (long long)start, (long long)size);
    }
    return err;
}

int dm_type_create_subarray(int ndims, struct dm_counts sizes, struct dm_counts subsizes,
                            struct dm_counts starts, int order, struct dm_type *old,
                            struct dm_type **new_p)
{
    struct dm_type_env *env;
    struct dm_make make;
    MPI_Aint stride = old->extent; /* from one element of the dimension to the next */
    MPI_Aint first = 0;
    bool is_overflow = false;
    int err = check_subarray(ndims, sizes, subsizes, starts, order);

    if (err != DM_OK)
        return err;
    env = dm_env_new(MPI_COMBINER_SUBARRAY, 3 * (size_t)ndims + 2, 0, 1);
    dm_env_int(env, ndims);
    dm_env_ints(env, sizes, (size_t)ndims);
    dm_env_ints(env, subsizes, (size_t)ndims);
    dm_env_ints(env, starts, (size_t)ndims);
    dm_env_int(env, order);
    dm_env_type(env, 0, old);
    for (int n = 0; n < ndims; n++) {
        size_t d = (size_t)array_nth_dim(n, ndims, order);

        first = dm_make_at(first, dm_count_at(starts, d), stride, &is_overflow);
        stride = dm_make_at(0, dm_count_at(sizes, d), stride, &is_overflow);
    }
    dm_make_init(&make);
    make.span.is_overflow = is_overflow;
    stride = old->extent;
    for (int n = 0; n < ndims; n++) {
        size_t d = (size_t)array_nth_dim(n, ndims, order);

        if (n == 0)
            dm_make_add(&make, first, old, dm_count_at(subsizes, d));
        else
            dm_make_repeat(&make, dm_count_at(subsizes, d), stride);
        stride = dm_make_at(0, dm_count_at(sizes, d), stride, &is_overflow);
    }
    make.span.is_overflow |= is_overflow; /* no elements have begun anew */
    dm_make_bounds(&make, 0, stride);
    return dm_make_end(&make, env, new_p);
}

/* ---- darray ---- */

struct dim {
    MPI_Count gsize;
    int distrib;
    MPI_Count block; /* elements dealt to a process at once */
    int psize;
    int coord; /* of this process */
};

static int array_set_dim(struct dim *dim, int d, int darg)
{
    bool is_default = darg == MPI_DISTRIBUTE_DFLT_DARG;

    if (dim->gsize < 1 || dim->psize < 1)
        return DM_FAIL(DM_ERR_ARG, "dimension %d: %lld elements over %d processes", d,
                       (long long)dim->gsize, dim->psize);
    if (!is_default && darg < 1 && dim->distrib != MPI_DISTRIBUTE_NONE)
        return DM_FAIL(DM_ERR_ARG, "dimension %d: distribution argument %d", d, darg);
    switch (dim->distrib) {
    case MPI_DISTRIBUTE_NONE:
        dim->block = dim->gsize;
        if (dim->psize != 1)
            return DM_FAIL(DM_ERR_ARG, "dimension %d is not distributed, but over %d processes", d,
                           dim->psize);
        return DM_OK;
    case MPI_DISTRIBUTE_BLOCK:
        dim->block = is_default ? (dim->gsize - 1) / dim->psize + 1 : darg;
        if ((dm_int128)dim->block * dim->psize < dim->gsize)
            return DM_FAIL(DM_ERR_ARG, "dimension %d: blocks of %lld for %lld elements", d,
                           (long long)dim->block, (long long)dim->gsize);
        return DM_OK;
    case MPI_DISTRIBUTE_CYCLIC:
        dim->block = is_default ? 1 : darg;
        return DM_OK;
    default:
        return DM_FAIL(DM_ERR_ARG, "dimension %d: %d is no MPI_DISTRIBUTE_", d, dim->distrib);
    }
}

/* This process's part of one dimension, whose elements `inner` are stride bytes apart. */
static int array_make_dim(const struct dim *dim, struct dm_type *inner, MPI_Aint stride,
                          struct dm_type **new_p)
{
    struct dm_make make;
    MPI_Count step = dim->block * dim->psize;
    MPI_Count first = dim->block * dim->coord;
    MPI_Count n_blocks = 0; /* whole ones */
    MPI_Count rest = 0;     /* elements of the last */
    bool is_beyond =
        false; /* of 63 bits: then it is not used, or so is the array, which the caller reports */
    MPI_Aint disp = dm_make_at(0, first, stride, &is_beyond);
    MPI_Aint distance = dm_make_at(0, step, stride, &is_beyond);

    if (first < dim->gsize) {
        n_blocks = (dim->gsize - first) / step;
        rest = (dim->gsize - first) % step;
        n_blocks += rest >= dim->block;
        rest = rest >= dim->block ? 0 : rest;
    }
    dm_make_init(&make);
    dm_make_add_apart(&make, disp, inner, n_blocks > 0 ? dim->block : 0, stride);
    dm_make_repeat(&make, n_blocks, distance);
    disp = dm_make_at(disp, n_blocks, distance, &is_beyond);
    dm_make_add_apart(&make, disp, inner, rest, stride);
    return dm_make_end(&make, dm_env_new(MPI_COMBINER_DUP, 0, 0, 0), new_p);
}

static struct dm_type_env *darray_env(int size, int rank, int ndims, struct dm_counts gsizes,
                                      const int *distribs, const int *dargs, const int *psizes,
                                      int order, struct dm_type *old)
{
    struct dm_type_env *env = dm_env_new(MPI_COMBINER_DARRAY, 4 * (size_t)ndims + 4, 0, 1);

    dm_env_int(env, size);
    dm_env_int(env, rank);
    dm_env_int(env, ndims);
    dm_env_ints(env, gsizes, (size_t)ndims);
    dm_env_ints(env, dm_counts_int(distribs), (size_t)ndims);
    dm_env_ints(env, dm_counts_int(dargs), (size_t)ndims);
    dm_env_ints(env, dm_counts_int(psizes), (size_t)ndims);
    dm_env_int(env, order);
    dm_env_type(env, 0, old);
    return env;
}

/* The process grid is in C order whatever the order of the array is. */
static int array_set_dims(struct dim *dims, int size, int rank, int ndims, struct dm_counts gsizes,
                          const int *distribs, const int *dargs, const int *psizes)
{
    dm_int128 n_procs = 1;
    int rest = rank;

    for (int d = ndims - 1; d >= 0; d--) {
        int err;

        dims[d] = (struct dim){
            .gsize = dm_count_at(gsizes, (size_t)d), .distrib = distribs[d], .psize = psizes[d]};
        err = array_set_dim(&dims[d], d, dargs[d]);
        if (err != DM_OK)
            return err;
        dims[d].coord = rest % psizes[d];
        rest /= psizes[d];
        n_procs *= psizes[d];
        if (n_procs > size)
            break;
    }
    if (n_procs != size)
        return DM_FAIL(DM_ERR_ARG, "the process grid does not have %d processes", size);
    return DM_OK;
}

int dm_type_create_darray(int size, int rank, int ndims, struct dm_counts gsizes,
                          const int *distribs, const int *dargs, const int *psizes, int order,
                          struct dm_type *old, struct dm_type **new_p)
{
    struct dm_make make;
    struct dm_type *inner = old;
    MPI_Aint stride = old->extent;
    struct dim *dims;
    int err = array_check_order(ndims, order);

    if (err != DM_OK)
        return err;
    if (size < 1 || rank < 0 || rank >= size)
        return DM_FAIL(DM_ERR_ARG, "rank %d of %d processes", rank, size);
    dims = calloc((size_t)ndims, sizeof(*dims));
    if (dims == NULL)
        return DM_FAIL(DM_ENOMEM, "dimensions of an array");
    err = array_set_dims(dims, size, rank, ndims, gsizes, distribs, dargs, psizes);
    dm_make_init(&make);
    for (int n = 0; n < ndims && err == DM_OK; n++) {
        int d = array_nth_dim(n, ndims, order);
        struct dm_type *outer = NULL;

        err = array_make_dim(&dims[d], inner, stride, &outer);
        if (inner != old)
            dm_type_free(inner);
        inner = err == DM_OK ? outer : old;
        stride = dm_make_at(0, dims[d].gsize, stride, &make.span.is_overflow);
    }
    free(dims);
    if (err != DM_OK)
        return err;
    dm_make_add(&make, 0, inner, 1);
    dm_make_bounds(&make, 0, stride);
    err = dm_make_end(
        &make, darray_env(size, rank, ndims, gsizes, distribs, dargs, psizes, order, old), new_p);
    dm_type_free(inner);
    return err;
}
