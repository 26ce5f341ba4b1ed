/*
 * Of files only the null one, whose error handler is that of failing to open and delete (MPI-4.0
 * section 14.7): MPI_ERRORS_RETURN until the program says otherwise.
 */
#include "api/api.h"

static struct dm_errhandler *handler; /* NULL: MPI_ERRORS_RETURN */

struct dm_errhandler *dm_file_errhandler(void)
{
    return handler != NULL ? handler : &dm_errhandler_return;
}

int dm_file_set_errhandler(MPI_File file, struct dm_errhandler *eh)
{
    (void)file;
    dm_errhandler_set(&handler, eh);
    return DM_OK;
}

int dm_file_get_errhandler(MPI_File file, struct dm_errhandler **eh_p)
{
    (void)file;
    *eh_p = dm_file_errhandler();
    dm_errhandler_ref(*eh_p);
    return DM_OK;
}

MPI_File dm_file_f2c(MPI_Fint file)
{
    (void)file;
    return MPI_FILE_NULL;
}

MPI_Fint dm_file_c2f(MPI_File file)
{
    (void)file;
    return 0;
}
