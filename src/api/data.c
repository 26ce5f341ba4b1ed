/*
 * The data symbols of MPICH's library that programs and the distribution's Fortran library refer to.
 * Only their addresses matter, or they are set by the Fortran library, or for it.
 */
#include "api/api.h"
#include "mpi.h"
#include "util/port.h"

static int unweighted;
static int weights_empty;
DM_EXPORT int *const MPI_UNWEIGHTED = &unweighted;
DM_EXPORT int *const MPI_WEIGHTS_EMPTY = &weights_empty;
DM_EXPORT void *MPIR_C_MPI_UNWEIGHTED;
DM_EXPORT void *MPIR_C_MPI_WEIGHTS_EMPTY;

DM_EXPORT MPI_Fint *MPI_F_STATUS_IGNORE;
DM_EXPORT MPI_Fint *MPI_F_STATUSES_IGNORE;
DM_EXPORT MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ;
DM_EXPORT MPI_F08_status MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
DM_EXPORT int MPIR_F08_MPI_IN_PLACE;
DM_EXPORT int MPIR_F08_MPI_BOTTOM;
DM_EXPORT MPI_F08_status *MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
DM_EXPORT MPI_F08_status *MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;

DM_EXPORT struct MPIR_T_pvar_handle_s *const MPI_T_PVAR_ALL_HANDLES =
    (struct MPIR_T_pvar_handle_s *)-1;

/* Not initializers: of these variables the Fortran library's own copies may be the ones in use. */
void dm_data_start(void)
{
    MPIR_C_MPI_UNWEIGHTED = MPI_UNWEIGHTED;
    MPIR_C_MPI_WEIGHTS_EMPTY = MPI_WEIGHTS_EMPTY;
}
