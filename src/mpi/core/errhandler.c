/*
 * Error handler objects. Calling them is src/api's business.
 *
 * A handler that the program has freed lives on, with its handle, as long as a
 * communicator or window uses it: MPI_Comm_get_errhandler can return it again.
 */
#include "mpi/core/core.h"

struct dm_errhandler dm_errhandlers[DM_EH_N_BUILTIN] = {
    [DM_EH_FATAL] = {.obj = {MPI_ERRORS_ARE_FATAL, 1}, .kind = DM_EH_FATAL},
    [DM_EH_RETURN] = {.obj = {MPI_ERRORS_RETURN, 1}, .kind = DM_EH_RETURN},
    [DM_EH_THROW] = {.obj = {MPIR_ERRORS_THROW_EXCEPTIONS, 1}, .kind = DM_EH_THROW},
    [DM_EH_ABORT] = {.obj = {MPI_ERRORS_ABORT, 1}, .kind = DM_EH_ABORT},
    [DM_EH_UNSET] = {.obj = {MPI_ERRORS_ARE_FATAL, 1}, .kind = DM_EH_UNSET},
};

void dm_errhandler_ref(struct dm_errhandler *eh)
{
    eh->obj.refs++;
}

void dm_errhandler_unref(struct dm_errhandler *eh)
{
    if (eh == NULL || eh->kind != DM_EH_USER || --eh->obj.refs > 0)
        return;
    dm_handle_drop(DM_KIND_ERRHANDLER, &eh->obj);
    dm_obj_free(DM_KIND_ERRHANDLER, eh);
}

static int errhandler_create(enum dm_kind object, struct dm_errhandler **eh_p)
{
    struct dm_errhandler *eh = dm_obj_take(DM_KIND_ERRHANDLER, sizeof(*eh));
    int err;

    *eh_p = NULL;
    if (eh == NULL)
        return DM_FAIL(DM_ENOMEM, "error handler object");
    *eh = (struct dm_errhandler){.kind = DM_EH_USER, .object = (int)object};
    err = dm_handle_new(DM_KIND_ERRHANDLER, &eh->obj);
    if (err != DM_OK) {
        dm_obj_free(DM_KIND_ERRHANDLER, eh);
        return err;
    }
    *eh_p = eh;
    return DM_OK;
}

int dm_comm_create_errhandler(MPI_Comm_errhandler_function *fn, struct dm_errhandler **eh_p)
{
    int err = errhandler_create(DM_KIND_COMM, eh_p);

    if (err == DM_OK)
        (*eh_p)->fn.comm = fn;
    return err;
}

int dm_win_create_errhandler(MPI_Win_errhandler_function *fn, struct dm_errhandler **eh_p)
{
    int err = errhandler_create(DM_KIND_WIN, eh_p);

    if (err == DM_OK)
        (*eh_p)->fn.win = fn;
    return err;
}

int dm_file_create_errhandler(MPI_File_errhandler_function *fn, struct dm_errhandler **eh_p)
{
    int err = errhandler_create(DM_KIND_FILE, eh_p);

    if (err == DM_OK)
        (*eh_p)->fn.file = fn;
    return err;
}

int dm_session_create_errhandler(MPI_Session_errhandler_function *fn, struct dm_errhandler **eh_p)
{
    int err = errhandler_create(DM_KIND_SESSION, eh_p);

    if (err == DM_OK)
        (*eh_p)->fn.session = fn;
    return err;
}

int dm_errhandler_free(struct dm_errhandler *eh)
{
    dm_errhandler_unref(eh);
    return DM_OK;
}

void dm_errhandler_set(struct dm_errhandler **slot_p, struct dm_errhandler *eh)
{
    struct dm_errhandler *old = *slot_p;

    dm_errhandler_ref(eh);
    *slot_p = eh;
    dm_errhandler_unref(old);
}

bool dm_errhandler_is_fatal(const struct dm_errhandler *eh)
{
    return eh->kind == DM_EH_FATAL || eh->kind == DM_EH_ABORT || eh->kind == DM_EH_UNSET;
}

int dm_comm_set_errhandler(struct dm_comm *comm, struct dm_errhandler *eh)
{
    if (dm_errhandler_is_fatal(comm->eh) == dm_errhandler_is_fatal(eh)) {
        dm_errhandler_set(&comm->eh, eh);
        return DM_OK;
    }
    dm_comm_count_fatal(comm, -1);
    dm_errhandler_set(&comm->eh, eh);
    dm_comm_count_fatal(comm, 1);
    return DM_OK;
}

int dm_comm_get_errhandler(struct dm_comm *comm, struct dm_errhandler **eh_p)
{
    dm_errhandler_ref(comm->eh);
    *eh_p = comm->eh;
    return DM_OK;
}
