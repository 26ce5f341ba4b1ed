/*
 * Types by decimal precision and exponent range, as Fortran's selected_real_kind and
 * selected_int_kind choose them (MPI-4.0 section 19.1.5).
 *
 * They are predefined: one object for each pair of arguments, made at first use, kept until the
 * end.
 */
#include <stdlib.h>

#include "mpi/datatype/datatype_state.h"
#include "mpi/datatype/env.h"
#include "mpi/datatype/life.h"

struct dm_type_f90 {
    struct dm_type_f90 *next;
    int combiner;
    int p;
    int r;
    struct dm_type *type;
};

/* What the kinds of gfortran on this architecture can do, in order of size. */
static const struct {
    int p;
    int r;
    int real;
    int complex;
} reals[] = {
    {6, 37, MPI_REAL, MPI_COMPLEX},
    {15, 307, MPI_DOUBLE_PRECISION, MPI_DOUBLE_COMPLEX},
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};
static const struct {
    int r;
    int handle;
} integers[] = {
    {2, MPI_INTEGER1},
    {4, MPI_INTEGER2},
    {9, MPI_INTEGER4},
    {18, MPI_INTEGER8},
};

static int f90_make(int combiner, int p, int r, int like, struct dm_type **type_p)
{
    size_t n = combiner == MPI_COMBINER_F90_INTEGER ? 1 : 2;
    struct dm_type_env *env = dm_env_new(combiner, n, 0, 0);
    struct dm_type_f90 *f90 = malloc(sizeof(*f90));
    int err;

    if (env == NULL || f90 == NULL) {
        err = DM_FAIL(DM_ENOMEM, "datatype");
    } else {
        if (n == 2)
            dm_env_int(env, p);
        dm_env_int(env, r);
        err = dm_type_clone(dm_type_get(like), env, type_p);
    }
    dm_env_unref(env);
    if (err != DM_OK) {
        free(f90);
        return err;
    }
    (*type_p)->is_builtin = true;
    (*type_p)->name[0] = '\0';
    *f90 = (struct dm_type_f90){dm_datatype_state.f90, combiner, p, r, *type_p};
    dm_datatype_state.f90 = f90;
    return DM_OK;
}

/* The type that was made before with these arguments, NULL: none. */
static struct dm_type *f90_find(int combiner, int p, int r)
{
    for (const struct dm_type_f90 *f90 = dm_datatype_state.f90; f90 != NULL; f90 = f90->next)
        if (f90->combiner == combiner && f90->p == p && f90->r == r)
            return f90->type;
    return NULL;
}

static int f90_create_real(int combiner, int p, int r, struct dm_type **type_p)
{
    *type_p = f90_find(combiner, p, r);
    if (*type_p != NULL)
        return DM_OK;
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
        return DM_FAIL(DM_ERR_ARG, "p and r are both MPI_UNDEFINED");
    if ((p < 0 && p != MPI_UNDEFINED) || (r < 0 && r != MPI_UNDEFINED))
        return DM_FAIL(DM_ERR_ARG, "p is %d, r %d; they must not be negative", p, r);
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
        if (p <= reals[i].p && r <= reals[i].r)
            return f90_make(combiner, p, r,
                            combiner == MPI_COMBINER_F90_REAL ? reals[i].real : reals[i].complex,
                            type_p);
    return DM_FAIL(DM_ERR_ARG, "no kind of real has %d decimal digits and the range 10**%d", p, r);
}

int dm_type_create_f90_real(int p, int r, struct dm_type **type_p)
{
    return f90_create_real(MPI_COMBINER_F90_REAL, p, r, type_p);
}

int dm_type_create_f90_complex(int p, int r, struct dm_type **type_p)
{
    return f90_create_real(MPI_COMBINER_F90_COMPLEX, p, r, type_p);
}

int dm_type_create_f90_integer(int r, struct dm_type **type_p)
{
    *type_p = f90_find(MPI_COMBINER_F90_INTEGER, 0, r);
    if (*type_p != NULL)
        return DM_OK;
    if (r < 0)
        return DM_FAIL(DM_ERR_ARG, "r is %d, it must not be negative", r);
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
        if (r <= integers[i].r)
            return f90_make(MPI_COMBINER_F90_INTEGER, 0, r, integers[i].handle, type_p);
    return DM_FAIL(DM_ERR_ARG, "no kind of integer has the range 10**%d", r);
}

void dm_type_f90_stop(void)
{
    struct dm_type_f90 *f90 = dm_datatype_state.f90, *next;

    for (; f90 != NULL; f90 = next) {
        next = f90->next;
        dm_handle_drop(DM_KIND_TYPE, &f90->type->obj);
        f90->type->is_builtin = false;
        f90->type->obj.refs = 1;
        dm_type_unref(f90->type);
        free(f90);
    }
    dm_datatype_state.f90 = NULL;
}
