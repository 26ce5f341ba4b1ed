/*
 * MPI's functions on attributes (MPI-4.0 section 7.7), and the predefined attributes.
 */
#include "api/api.h"

#include <stdint.h>

/* What MPI_Comm_get_attr points to; the values do not change while MPI is up. */
static struct {
    int tag_ub;
    int host;
    int io;
    int wtime_is_global;
    int universe_size;
    int last_used_code;
    int appnum;
} values;

/* The value of a predefined key; false when it is none, NULL at *value_p when it is not set. */
static bool comm_predefined(int keyval, int **value_p)
{
    *value_p = NULL;
    switch (keyval) {
    case MPI_TAG_UB:
        values.tag_ub = INT32_MAX;
        *value_p = &values.tag_ub;
        return true;
    case MPI_HOST:
        values.host = MPI_PROC_NULL;
        *value_p = &values.host;
        return true;
    case MPI_IO:
        values.io = MPI_ANY_SOURCE;
        *value_p = &values.io;
        return true;
    case MPI_WTIME_IS_GLOBAL:
        values.wtime_is_global = 0;
        *value_p = &values.wtime_is_global;
        return true;
    case MPI_UNIVERSE_SIZE:
        values.universe_size = dm_world.universe_size;
        if (values.universe_size > 0)
            *value_p = &values.universe_size;
        return true;
    case MPI_LASTUSEDCODE:
        values.last_used_code = dm_errcode_last();
        *value_p = &values.last_used_code;
        return true;
    case MPI_APPNUM:
        values.appnum = dm_world.appnum;
        if (values.appnum >= 0)
            *value_p = &values.appnum;
        return true;
    default:
        return false;
    }
}

static int attr_refuse_predefined(int keyval)
{
    return DM_FAIL(DM_ERR_KEYVAL, "attribute 0x%x is predefined and cannot be changed",
                   (unsigned)keyval);
}

static bool attr_is_predefined(int keyval)
{
    return (uint32_t)keyval >> 26 == (DM_HANDLE_BUILTIN | DM_KIND_KEYVAL);
}

/* Fortran's predefined keys are one higher than C's. */
static int attr_c_key(int keyval)
{
    return attr_is_predefined(keyval) ? (keyval - 1) | 1 : keyval;
}

/* ---- communicators ---- */

int dm_comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *del,
                          int *keyval, void *extra)
{
    return dm_keyval_new(DM_KIND_COMM, copy, del, extra, keyval);
}

int dm_comm_free_keyval(int *keyval)
{
    return attr_is_predefined(*keyval) ? attr_refuse_predefined(*keyval)
                                       : dm_keyval_free(DM_KIND_COMM, keyval);
}

int dm_comm_set_attr_as(struct dm_comm *comm, int keyval, void *value, int type)
{
    if (attr_is_predefined(keyval))
        return attr_refuse_predefined(keyval);
    return dm_attr_set(DM_KIND_COMM, comm->obj.handle, &comm->attrs, keyval, value,
                       (enum dm_attr_type)type);
}

int dm_comm_set_attr(struct dm_comm *comm, int keyval, void *value)
{
    return dm_comm_set_attr_as(comm, keyval, value, DM_ATTR_PTR);
}

int dm_comm_get_attr_as(struct dm_comm *comm, int keyval, void *value_p, int *flag, int type)
{
    int *found;

    if (!comm_predefined(attr_c_key(keyval), &found))
        return dm_attr_get(DM_KIND_COMM, comm->attrs, keyval, value_p, flag,
                           (enum dm_attr_type)type);
    *flag = found != NULL;
    if (found != NULL && type == DM_ATTR_PTR)
        *(int **)value_p = found;
    else if (found != NULL)
        *(intptr_t *)value_p = *found;
    return DM_OK;
}

int dm_comm_get_attr(struct dm_comm *comm, int keyval, void *value_p, int *flag)
{
    return dm_comm_get_attr_as(comm, keyval, value_p, flag, DM_ATTR_PTR);
}

int dm_comm_delete_attr(struct dm_comm *comm, int keyval)
{
    if (attr_is_predefined(keyval))
        return attr_refuse_predefined(keyval);
    return dm_attr_delete(DM_KIND_COMM, comm->obj.handle, &comm->attrs, keyval);
}

/* ---- datatypes ---- */

int dm_type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *del,
                          int *keyval, void *extra)
{
    return dm_keyval_new(DM_KIND_TYPE, copy, del, extra, keyval);
}

int dm_type_free_keyval(int *keyval)
{
    return dm_keyval_free(DM_KIND_TYPE, keyval);
}

int dm_type_set_attr_as(struct dm_type *type, int keyval, void *value, int as)
{
    return dm_attr_set(DM_KIND_TYPE, type->obj.handle, &type->attrs, keyval, value,
                       (enum dm_attr_type)as);
}

int dm_type_set_attr(struct dm_type *type, int keyval, void *value)
{
    return dm_type_set_attr_as(type, keyval, value, DM_ATTR_PTR);
}

int dm_type_get_attr_as(struct dm_type *type, int keyval, void *value_p, int *flag, int as)
{
    return dm_attr_get(DM_KIND_TYPE, type->attrs, keyval, value_p, flag, (enum dm_attr_type)as);
}

int dm_type_get_attr(struct dm_type *type, int keyval, void *value_p, int *flag)
{
    return dm_type_get_attr_as(type, keyval, value_p, flag, DM_ATTR_PTR);
}

int dm_type_delete_attr(struct dm_type *type, int keyval)
{
    return dm_attr_delete(DM_KIND_TYPE, type->obj.handle, &type->attrs, keyval);
}

/* ---- windows ---- */

int dm_win_create_keyval(MPI_Win_copy_attr_function *copy, MPI_Win_delete_attr_function *del,
                         int *keyval, void *extra)
{
    return dm_keyval_new(DM_KIND_WIN, copy, del, extra, keyval);
}

int dm_win_free_keyval(int *keyval)
{
    return attr_is_predefined(*keyval) ? attr_refuse_predefined(*keyval)
                                       : dm_keyval_free(DM_KIND_WIN, keyval);
}

int dm_win_set_attr_as(struct dm_win *win, int keyval, void *value, int type)
{
    if (attr_is_predefined(keyval))
        return attr_refuse_predefined(keyval);
    return dm_attr_set(DM_KIND_WIN, win->obj.handle, &win->attrs, keyval, value,
                       (enum dm_attr_type)type);
}

int dm_win_set_attr(struct dm_win *win, int keyval, void *value)
{
    return dm_win_set_attr_as(win, keyval, value, DM_ATTR_PTR);
}

/* A predefined attribute: the pointer that C gets, and the integer that Fortran does. */
static bool win_predefined(struct dm_win *win, int keyval, void **pointer_p, intptr_t *integer_p)
{
    switch (keyval) {
    case MPI_WIN_BASE:
        *pointer_p = win->base;
        *integer_p = (intptr_t)win->base;
        return true;
    case MPI_WIN_SIZE:
        *pointer_p = &win->size;
        *integer_p = (intptr_t)win->size;
        return true;
    case MPI_WIN_DISP_UNIT:
        *pointer_p = &win->disp_unit;
        *integer_p = win->disp_unit;
        return true;
    case MPI_WIN_CREATE_FLAVOR:
        *pointer_p = &win->flavor;
        *integer_p = (intptr_t)win->flavor;
        return true;
    case MPI_WIN_MODEL:
        *pointer_p = &win->model;
        *integer_p = (intptr_t)win->model;
        return true;
    default:
        return false;
    }
}

int dm_win_get_attr_as(struct dm_win *win, int keyval, void *value_p, int *flag, int type)
{
    void *pointer;
    intptr_t integer;

    if (!win_predefined(win, attr_c_key(keyval), &pointer, &integer))
        return dm_attr_get(DM_KIND_WIN, win->attrs, keyval, value_p, flag, (enum dm_attr_type)type);
    if (type == DM_ATTR_PTR)
        *(void **)value_p = pointer;
    else
        *(intptr_t *)value_p = integer;
    *flag = 1;
    return DM_OK;
}

int dm_win_get_attr(struct dm_win *win, int keyval, void *value_p, int *flag)
{
    return dm_win_get_attr_as(win, keyval, value_p, flag, DM_ATTR_PTR);
}

int dm_win_delete_attr(struct dm_win *win, int keyval)
{
    if (attr_is_predefined(keyval))
        return attr_refuse_predefined(keyval);
    return dm_attr_delete(DM_KIND_WIN, win->obj.handle, &win->attrs, keyval);
}
