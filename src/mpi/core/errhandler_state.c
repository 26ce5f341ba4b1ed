/*
 * The predefined error handlers.
 */
#include "mpi/core/core.h"

struct dm_errhandler dm_errhandlers[DM_EH_N_BUILTIN] = {
    [DM_EH_FATAL] = {.obj = {MPI_ERRORS_ARE_FATAL, 1}, .kind = DM_EH_FATAL},
    [DM_EH_RETURN] = {.obj = {MPI_ERRORS_RETURN, 1}, .kind = DM_EH_RETURN},
    [DM_EH_THROW] = {.obj = {MPIR_ERRORS_THROW_EXCEPTIONS, 1}, .kind = DM_EH_THROW},
    [DM_EH_ABORT] = {.obj = {MPI_ERRORS_ABORT, 1}, .kind = DM_EH_ABORT},
};
