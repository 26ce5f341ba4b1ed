/*
 * Functions of the program that C calls with other arguments than Fortran's (MPI-4.0 section 19.1.17):
 * attributes, error handlers of files, generalized requests, data representations. Operations and the
 * other error handlers have the same arguments in both languages.
 */
#include "fortran/fortran.h"

typedef void(any_function)(void);

/* ---- attributes: keys by MPI_Comm_create_keyval and its like, and MPI-1's ---- */

typedef void(copy_aint)(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *in,
                        MPI_Aint *out, MPI_Fint *flag, MPI_Fint *err);
typedef void(delete_aint)(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra,
                          MPI_Fint *err);
typedef void(copy_int)(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *in,
                       MPI_Fint *out, MPI_Fint *flag, MPI_Fint *err);
typedef void(delete_int)(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra,
                         MPI_Fint *err);

static int call_copy_aint(MPI_Comm_copy_attr_function *fn, int handle, int keyval, void *extra,
                          int type, void *value, void **new_value, int *flag)
{
    MPI_Aint state = (MPI_Aint)extra, in = (MPI_Aint)value, out = 0;
    MPI_Fint err = MPI_SUCCESS, is_copied = 0;

    (void)type;
    ((copy_aint *)(any_function *)fn)(&handle, &keyval, &state, &in, &out, &is_copied, &err);
    *new_value = (void *)out;
    *flag = is_copied != 0;
    return err;
}

static int call_delete_aint(MPI_Comm_delete_attr_function *fn, int handle, int keyval, int type,
                            void *value, void *extra)
{
    MPI_Aint state = (MPI_Aint)extra, old = (MPI_Aint)value;
    MPI_Fint err = MPI_SUCCESS;

    (void)type;
    ((delete_aint *)(any_function *)fn)(&handle, &keyval, &old, &state, &err);
    return err;
}

static int call_copy_int(MPI_Comm_copy_attr_function *fn, int handle, int keyval, void *extra,
                         int type, void *value, void **new_value, int *flag)
{
    MPI_Fint state = (MPI_Fint)(MPI_Aint)extra, in = (MPI_Fint)(MPI_Aint)value, out = 0;
    MPI_Fint err = MPI_SUCCESS, is_copied = 0;

    (void)type;
    ((copy_int *)(any_function *)fn)(&handle, &keyval, &state, &in, &out, &is_copied, &err);
    *new_value = (void *)(MPI_Aint)out;
    *flag = is_copied != 0;
    return err;
}

static int call_delete_int(MPI_Comm_delete_attr_function *fn, int handle, int keyval, int type,
                           void *value, void *extra)
{
    MPI_Fint state = (MPI_Fint)(MPI_Aint)extra, old = (MPI_Fint)(MPI_Aint)value;
    MPI_Fint err = MPI_SUCCESS;

    (void)type;
    ((delete_int *)(any_function *)fn)(&handle, &keyval, &old, &state, &err);
    return err;
}

DM_EXPORT void pmpi_comm_create_keyval_(MPI_Comm_copy_attr_function *copy,
                                        MPI_Comm_delete_attr_function *del, MPI_Fint *keyval,
                                        const MPI_Aint *extra, MPI_Fint *ierror)
{
    int err = MPI_Comm_create_keyval(copy, del, keyval, (void *)*extra);

    if (err == MPI_SUCCESS)
        MPII_Keyval_set_proxy(*keyval, call_copy_aint, call_delete_aint);
    dm_f_return(ierror, err);
}
DM_F_NAMES(comm_create_keyval);

DM_EXPORT void pmpi_type_create_keyval_(MPI_Type_copy_attr_function *copy,
                                        MPI_Type_delete_attr_function *del, MPI_Fint *keyval,
                                        const MPI_Aint *extra, MPI_Fint *ierror)
{
    int err = MPI_Type_create_keyval(copy, del, keyval, (void *)*extra);

    if (err == MPI_SUCCESS)
        MPII_Keyval_set_proxy(*keyval, call_copy_aint, call_delete_aint);
    dm_f_return(ierror, err);
}
DM_F_NAMES(type_create_keyval);

DM_EXPORT void pmpi_win_create_keyval_(MPI_Win_copy_attr_function *copy,
                                       MPI_Win_delete_attr_function *del, MPI_Fint *keyval,
                                       const MPI_Aint *extra, MPI_Fint *ierror)
{
    int err = MPI_Win_create_keyval(copy, del, keyval, (void *)*extra);

    if (err == MPI_SUCCESS)
        MPII_Keyval_set_proxy(*keyval, call_copy_aint, call_delete_aint);
    dm_f_return(ierror, err);
}
DM_F_NAMES(win_create_keyval);

DM_EXPORT void pmpi_keyval_create_(MPI_Copy_function *copy, MPI_Delete_function *del,
                                   MPI_Fint *keyval, const MPI_Fint *extra, MPI_Fint *ierror)
{
    int err = MPI_Keyval_create(copy, del, keyval, (void *)(MPI_Aint)*extra);

    if (err == MPI_SUCCESS)
        MPII_Keyval_set_proxy(*keyval, call_copy_int, call_delete_int);
    dm_f_return(ierror, err);
}
DM_ALSO_AS(pmpi_keyval_create_, mpi_keyval_create_);

DM_EXPORT void pmpi_attr_put_(const MPI_Fint *comm, const MPI_Fint *keyval, const MPI_Fint *value,
                              MPI_Fint *ierror)
{
    dm_f_return(ierror,
                MPII_Comm_set_attr(*comm, *keyval, (void *)(MPI_Aint)*value, DM_HOOK_ATTR_INT));
}
DM_ALSO_AS(pmpi_attr_put_, mpi_attr_put_);

DM_EXPORT void pmpi_attr_get_(const MPI_Fint *comm, const MPI_Fint *keyval, MPI_Fint *value,
                              MPI_Fint *flag, MPI_Fint *ierror)
{
    MPI_Aint found = 0;
    int err = MPII_Comm_get_attr(*comm, *keyval, &found, flag, DM_HOOK_ATTR_INT);

    if (err == MPI_SUCCESS && *flag)
        *value = (MPI_Fint)found;
    dm_f_return(ierror, err);
}
DM_ALSO_AS(pmpi_attr_get_, mpi_attr_get_);

/* ---- the predefined functions ---- */

static void no_copy(MPI_Fint *object, MPI_Fint *keyval, void *extra, void *in, void *out,
                    MPI_Fint *flag, MPI_Fint *err)
{
    (void)object;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    *err = MPI_SUCCESS;
}
DM_ALSO_AS(no_copy, mpi_null_copy_fn_);
DM_ALSO_AS(no_copy, mpi_comm_null_copy_fn_);
DM_ALSO_AS(no_copy, mpi_type_null_copy_fn_);
DM_ALSO_AS(no_copy, mpi_win_null_copy_fn_);

static void no_delete(MPI_Fint *object, MPI_Fint *keyval, void *value, void *extra, MPI_Fint *err)
{
    (void)object;
    (void)keyval;
    (void)value;
    (void)extra;
    *err = MPI_SUCCESS;
}
DM_ALSO_AS(no_delete, mpi_null_delete_fn_);
DM_ALSO_AS(no_delete, mpi_comm_null_delete_fn_);
DM_ALSO_AS(no_delete, mpi_type_null_delete_fn_);
DM_ALSO_AS(no_delete, mpi_win_null_delete_fn_);

static void dup_aint(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *in,
                     MPI_Aint *out, MPI_Fint *flag, MPI_Fint *err)
{
    (void)object;
    (void)keyval;
    (void)extra;
    *out = *in;
    *flag = 1;
    *err = MPI_SUCCESS;
}
DM_ALSO_AS(dup_aint, mpi_comm_dup_fn_);
DM_ALSO_AS(dup_aint, mpi_type_dup_fn_);
DM_ALSO_AS(dup_aint, mpi_win_dup_fn_);

DM_EXPORT void mpi_dup_fn_(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *in,
                           MPI_Fint *out, MPI_Fint *flag, MPI_Fint *err)
{
    (void)object;
    (void)keyval;
    (void)extra;
    *out = *in;
    *flag = 1;
    *err = MPI_SUCCESS;
}

/* Only their addresses are used. */
DM_EXPORT void mpi_conversion_fn_null_(void)
{
}
DM_EXPORT void mpi_conversion_fn_null_c_(void)
{
}

/* ---- error handlers of files: their handle is an integer ---- */

typedef void(file_error)(MPI_Fint *file, MPI_Fint *code);

static void call_file_error(int object, void *handle, int *code, void (*fn)(void))
{
    MPI_Fint file = MPI_File_c2f(*(MPI_File *)handle);

    (void)object;
    ((file_error *)fn)(&file, code);
}

DM_EXPORT void pmpi_file_create_errhandler_(MPI_File_errhandler_function *fn, MPI_Fint *errhandler,
                                            MPI_Fint *ierror)
{
    int err = MPI_File_create_errhandler(fn, errhandler);

    if (err == MPI_SUCCESS)
        MPII_Errhandler_set_fortran(*errhandler, (any_function *)call_file_error);
    dm_f_return(ierror, err);
}
DM_F_NAMES(file_create_errhandler);

/* ---- generalized requests ---- */

typedef void(greq_query)(MPI_Aint *extra, MPI_Fint *status, MPI_Fint *err);
typedef void(greq_free)(MPI_Aint *extra, MPI_Fint *err);
typedef void(greq_cancel)(MPI_Aint *extra, MPI_Fint *is_complete, MPI_Fint *err);
struct greq {
    greq_query *query;
    greq_free *free;
    greq_cancel *cancel;
    MPI_Aint
        *extra; /* the program's variable: it sees there what the functions write, as with MPICH */
};

static int call_greq_query(void *arg, MPI_Status *status)
{
    struct greq *g = arg;
    MPI_Fint err = MPI_SUCCESS;

    g->query(g->extra, &status->count_lo, &err);
    return err;
}

static int call_greq_free(void *arg)
{
    struct greq *g = arg;
    MPI_Fint err = MPI_SUCCESS;

    g->free(g->extra, &err);
    free(g);
    return err;
}

static int call_greq_cancel(void *arg, int is_complete)
{
    struct greq *g = arg;
    MPI_Fint err = MPI_SUCCESS;

    g->cancel(g->extra, &is_complete, &err);
    return err;
}

DM_EXPORT void pmpi_grequest_start_(greq_query *query, greq_free *free_fn, greq_cancel *cancel,
                                    MPI_Aint *extra, MPI_Fint *request, MPI_Fint *ierror)
{
    struct greq *g = malloc(sizeof(*g));
    int err = MPI_ERR_NO_MEM;

    if (g == NULL) {
        MPI_Comm_call_errhandler(MPI_COMM_SELF, err);
    } else {
        *g = (struct greq){query, free_fn, cancel, extra};
        err = MPI_Grequest_start(call_greq_query, call_greq_free, call_greq_cancel, g, request);
        if (err != MPI_SUCCESS)
            free(g);
    }
    dm_f_return(ierror, err);
}
DM_F_NAMES(grequest_start);

/* ---- data representations: they stay to the end ---- */

typedef void(convert_int)(void *userbuf, MPI_Fint *datatype, MPI_Fint *count, void *filebuf,
                          MPI_Offset *position, MPI_Aint *extra, MPI_Fint *err);
typedef void(convert_wide)(void *userbuf, MPI_Fint *datatype, MPI_Count *count, void *filebuf,
                           MPI_Offset *position, MPI_Aint *extra, MPI_Fint *err);
typedef void(file_extent)(MPI_Fint *datatype, MPI_Aint *extent, MPI_Aint *extra, MPI_Fint *err);
struct datarep {
    any_function *read;
    any_function *write;
    file_extent *extent;
    MPI_Aint extra;
};

static int convert_small(any_function *fn, void *userbuf, MPI_Datatype datatype, int count,
                         void *filebuf, MPI_Offset position, struct datarep *d)
{
    MPI_Fint err = MPI_SUCCESS;

    ((convert_int *)fn)(userbuf, &datatype, &count, filebuf, &position, &d->extra, &err);
    return err;
}

static int convert_large(any_function *fn, void *userbuf, MPI_Datatype datatype, MPI_Count count,
                         void *filebuf, MPI_Offset position, struct datarep *d)
{
    MPI_Fint err = MPI_SUCCESS;

    ((convert_wide *)fn)(userbuf, &datatype, &count, filebuf, &position, &d->extra, &err);
    return err;
}

static int call_read(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                     MPI_Offset position, void *arg)
{
    struct datarep *d = arg;

    return convert_small(d->read, userbuf, datatype, count, filebuf, position, d);
}

static int call_write(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                      MPI_Offset position, void *arg)
{
    struct datarep *d = arg;

    return convert_small(d->write, userbuf, datatype, count, filebuf, position, d);
}

static int call_read_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
                       MPI_Offset position, void *arg)
{
    struct datarep *d = arg;

    return convert_large(d->read, userbuf, datatype, count, filebuf, position, d);
}

static int call_write_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
                        MPI_Offset position, void *arg)
{
    struct datarep *d = arg;

    return convert_large(d->write, userbuf, datatype, count, filebuf, position, d);
}

static int call_extent(MPI_Datatype datatype, MPI_Aint *extent, void *arg)
{
    struct datarep *d = arg;
    MPI_Fint err = MPI_SUCCESS;

    d->extent(&datatype, extent, &d->extra, &err);
    return err;
}

static struct datarep *datarep_new(any_function *read, any_function *write, file_extent *extent,
                                   MPI_Aint extra)
{
    struct datarep *d = malloc(sizeof(*d));

    if (d != NULL)
        *d = (struct datarep){read, write, extent, extra};
    return d;
}

DM_EXPORT void pmpi_register_datarep_(const char *name, any_function *read, any_function *write,
                                      file_extent *extent, const MPI_Aint *extra, MPI_Fint *ierror,
                                      size_t name_len)
{
    struct datarep *d = datarep_new(read, write, extent, *extra);
    char *name_c = dm_f_text(name, name_len, false);
    int err = MPI_Register_datarep(
        name_c, read == mpi_conversion_fn_null_ ? MPI_CONVERSION_FN_NULL : call_read,
        write == mpi_conversion_fn_null_ ? MPI_CONVERSION_FN_NULL : call_write, call_extent, d);

    if (err != MPI_SUCCESS)
        free(d);
    free(name_c);
    dm_f_return(ierror, err);
}
DM_F_NAMES(register_datarep);

DM_EXPORT void pmpi_register_datarep_c_f08_(const char *name, any_function *read,
                                            any_function *write, file_extent *extent,
                                            const MPI_Aint *extra, MPI_Fint *ierror,
                                            size_t name_len)
{
    struct datarep *d = datarep_new(read, write, extent, *extra);
    char *name_c = dm_f_text(name, name_len, false);
    int err = MPI_Register_datarep_c(
        name_c, read == mpi_conversion_fn_null_c_ ? MPI_CONVERSION_FN_NULL_C : call_read_c,
        write == mpi_conversion_fn_null_c_ ? MPI_CONVERSION_FN_NULL_C : call_write_c, call_extent,
        d);

    if (err != MPI_SUCCESS)
        free(d);
    free(name_c);
    dm_f_return(ierror, err);
}
DM_ALSO_AS(pmpi_register_datarep_c_f08_, mpi_register_datarep_c_f08_);
