/*
 * What the distribution's Fortran and C++ libraries call behind the calls of the standard, so that
 * callbacks get their own language's arguments. The names and types are MPICH's binary interface.
 */
#include "api/api.h"
#include "util/glock.h"

void MPII_Keyval_set_proxy(int keyval, dm_attr_copy_proxy *copy, dm_attr_delete_proxy *del);
void MPII_Op_set_cxx(MPI_Op op, void (*call)(void));
void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*call)(void));

DM_EXPORT void MPII_Keyval_set_proxy(int keyval, dm_attr_copy_proxy *copy,
                                     dm_attr_delete_proxy *del)
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

DM_EXPORT void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*call)(void))
{
    struct dm_errhandler *eh;

    dm_glock_enter();
    eh = dm_handle_get(DM_KIND_ERRHANDLER, errhandler);
    if (eh != NULL)
        eh->cxx = (dm_errhandler_cxx *)call;
    dm_glock_leave();
}
