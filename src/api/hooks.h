/*
 * What libmpi.so exports besides the functions of the standard: the distribution's Fortran and C++
 * libraries call it behind calls of the standard, so that callbacks get their own language's arguments.
 * Those names and types are MPICH's binary interface. Requests' copies, runs and warnings are for our own
 * Fortran library (src/fortran).
 */
#ifndef DM_API_HOOKS_H
#define DM_API_HOOKS_H

#include "mpi.h"
#include "util/copies.h"

/* ---- attributes ---- */

/* What the value of an attribute is: as wide as an address, or MPI-1's INTEGER of Fortran. */
enum { DM_HOOK_ATTR_AINT = 1, DM_HOOK_ATTR_INT = 3 };
int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag, int type);
int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *value, int type);
int MPII_Type_get_attr(MPI_Datatype datatype, int keyval, void *value, int *flag, int type);
int MPII_Type_set_attr(MPI_Datatype datatype, int keyval, void *value, int type);
int MPII_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag, int type);
int MPII_Win_set_attr(MPI_Win win, int keyval, void *value, int type);

/* What is called for a key of another language: fn is the program's function. */
typedef int(dm_hook_copy)(MPI_Comm_copy_attr_function *fn, int handle, int keyval, void *extra,
                          int type, void *value, void **new_value, int *flag);
typedef int(dm_hook_delete)(MPI_Comm_delete_attr_function *fn, int handle, int keyval, int type,
                            void *value, void *extra);
void MPII_Keyval_set_proxy(int keyval, dm_hook_copy *copy, dm_hook_delete *del);

/* ---- operations and error handlers ---- */

/*
 * call gets the arguments in place of the function that the operation or handler was made with. After a handler of C++
 * a call returns MPI_SUCCESS, since it throws what it does not accept; after others the code as the handler leaves it.
 */
void MPII_Op_set_cxx(MPI_Op op, void (*call)(void));
void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*call)(void));
void MPII_Errhandler_set_fortran(MPI_Errhandler errhandler, void (*call)(void));

/* ---- our Fortran library ---- */

/* Print a warning. */
void MPII_Warn(const char *text);
/* The operation of a request works on copies from here on; they are its own. */
void MPII_Request_set_copies(MPI_Request request, struct dm_copies *copies);
/*
 * Call fn for each run of n equal basic types, at their offset, of count elements of a committed type: their extent,
 * and the bytes that each covers. fn must not call MPI. MPI_ERR_TYPE: it is none.
 */
int MPII_Type_each_run(MPI_Count count, MPI_Datatype type,
                       int (*fn)(void *arg, MPI_Aint offset, MPI_Count n, MPI_Datatype basic,
                                 MPI_Aint extent, MPI_Aint len),
                       void *arg);

#endif
