/*
 * The data symbols of MPICH's library that programs and the distribution's Fortran library refer to.
 * Only their addresses matter, or they are set by the Fortran library, or for it; and one for debuggers.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "config.h"
#include "mpi.h"
#include "util/port.h"

extern char MPIR_dll_name[];

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

/* The library that shows a debugger the queues of messages (src/mqs). Debuggers look for this name. */
DM_EXPORT char MPIR_dll_name[PATH_MAX];

/* It lies beside this library, unless that is part of the program. */
static void data_find_dll(void)
{
    static const char name[] = "libdatum_mqs.so";
    Dl_info me;
    int len;

    if (dladdr(&unweighted, &me) != 0 && strrchr(me.dli_fname, '/') != NULL) {
        len = (int)(strrchr(me.dli_fname, '/') - me.dli_fname);
        snprintf(MPIR_dll_name, sizeof(MPIR_dll_name), "%.*s/%s", len, me.dli_fname, name);
        if (access(MPIR_dll_name, R_OK) == 0)
            return;
    }
    snprintf(MPIR_dll_name, sizeof(MPIR_dll_name), "%s/%s", DM_LIBDIR, name);
}

/* Not initializers: of these variables the Fortran library's own copies may be the ones in use. */
void dm_data_start(void)
{
    MPIR_C_MPI_UNWEIGHTED = MPI_UNWEIGHTED;
    MPIR_C_MPI_WEIGHTS_EMPTY = MPI_WEIGHTS_EMPTY;
    data_find_dll();
}
