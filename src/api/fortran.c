/*
 * Hooks of MPICH's library that the distribution's Fortran library calls (libmpichfort.so.12).
 */
#include "api/api.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/glock.h"

/* The request that MPI_GREQUEST_START has just made takes Fortran's callbacks. */
DM_EXPORT void MPII_Grequest_set_lang_f77(MPI_Request request);
DM_EXPORT void MPII_Grequest_set_lang_f77(MPI_Request request)
{
    dm_glock_enter();
    dm_grequest_set_fortran(request);
    dm_glock_leave();
}
