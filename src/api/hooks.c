/*
 * Hooks of the Fortran and C++ libraries.
 */
#include "api/hooks.h"

#include "api/api.h"
#include "util/glock.h"
#include "util/log.h"

DM_EXPORT void MPII_Keyval_set_proxy(int keyval, dm_hook_copy *copy, dm_hook_delete *del)
{
    dm_glock_enter();
    dm_keyval_set_proxy(keyval, copy, del);
    dm_glock_leave();
}

DM_EXPORT void MPII_Op_set_cxx(MPI_Op op, void (*call)(void))
{
    struct dm_op *obj;

    dm_glock_enter();
    obj = dm_op_get(op);
    if (obj != NULL)
        obj->cxx = (dm_op_cxx *)call;
    dm_glock_leave();
}

static void errhandler_bind(MPI_Errhandler errhandler, void (*call)(void), bool is_cxx)
{
    struct dm_errhandler *eh;

    dm_glock_enter();
    eh = dm_handle_get(DM_KIND_ERRHANDLER, errhandler);
    if (eh != NULL) {
        eh->bound = (dm_errhandler_bound *)call;
        eh->is_cxx = is_cxx;
    }
    dm_glock_leave();
}

DM_EXPORT void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*call)(void))
{
    errhandler_bind(errhandler, call, true);
}

DM_EXPORT void MPII_Errhandler_set_fortran(MPI_Errhandler errhandler, void (*call)(void))
{
    errhandler_bind(errhandler, call, false);
}

DM_EXPORT void MPII_Warn(const char *text)
{
    dm_log_warn("%s", text);
}

DM_EXPORT void MPII_Request_set_copies(MPI_Request request, struct dm_copies *copies)
{
    struct dm_req *req;

    dm_glock_enter();
    req = dm_req_get(request);
    if (req != NULL)
        dm_req_set_copies(req, copies);
    dm_glock_leave();
}

struct run_call {
    int (*fn)(void *arg, MPI_Aint offset, MPI_Count n, MPI_Datatype basic, MPI_Aint extent,
              MPI_Aint len);
    void *arg;
};

static int run_call_one(void *arg, void *addr, size_t n, int basic)
{
    const struct run_call *call = arg;
    const struct dm_type *type = dm_type_get(basic);

    return call->fn(call->arg, (MPI_Aint)addr, (MPI_Count)n, basic, type->extent,
                    type->true_extent);
}

DM_EXPORT int MPII_Type_each_run(MPI_Count count, MPI_Datatype type,
                                 int (*fn)(void *arg, MPI_Aint offset, MPI_Count n,
                                           MPI_Datatype basic, MPI_Aint extent, MPI_Aint len),
                                 void *arg)
{
    struct run_call call = {.fn = fn, .arg = arg};
    struct dm_type *obj;
    int err = MPI_ERR_TYPE;

    dm_glock_enter();
    obj = dm_type_get(type);
    if (obj != NULL && obj->is_committed)
        err = dm_type_each_run(NULL, (size_t)count, obj, run_call_one, &call);
    dm_glock_leave();
    return err;
}
