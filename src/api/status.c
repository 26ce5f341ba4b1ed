/*
 * Statuses that a program fills itself (MPI-4.1 sections 3.8 and 13.3), and a look
 * at a request.
 */
#include "api/api.h"

#include <string.h>

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "Fortran's status");
_Static_assert(sizeof(MPI_Status) == sizeof(MPI_F08_status), "and that of mpi_f08");

int dm_status_set_elements(MPI_Status *status, struct dm_type *type, MPI_Count count)
{
    uint64_t bytes = 0;
    int err = type->n_basic == 0 ? DM_OK : dm_type_bytes_of(type, count, &bytes);

    if (err == DM_OK)
        dm_status_set_bytes(status, bytes);
    return err;
}

int dm_status_set_cancelled_flag(MPI_Status *status, int flag)
{
    dm_status_set_cancelled(status, flag != 0);
    return DM_OK;
}

int dm_status_set_error(MPI_Status *status, int err)
{
    status->MPI_ERROR = err;
    return DM_OK;
}

int dm_status_get_error(const MPI_Status *status, int *err)
{
    *err = status->MPI_ERROR;
    return DM_OK;
}

int dm_status_set_source(MPI_Status *status, int source)
{
    status->MPI_SOURCE = source;
    return DM_OK;
}

int dm_status_get_source(const MPI_Status *status, int *source)
{
    *source = status->MPI_SOURCE;
    return DM_OK;
}

int dm_status_set_tag(MPI_Status *status, int tag)
{
    status->MPI_TAG = tag;
    return DM_OK;
}

int dm_status_get_tag(const MPI_Status *status, int *tag)
{
    *tag = status->MPI_TAG;
    return DM_OK;
}

/* Constants that stand for no status, which the Fortran library sets, hold nothing to convert. */
static int check_f_status(const MPI_Fint *f_status)
{
    if (f_status == MPI_F_STATUS_IGNORE || f_status == MPI_F_STATUSES_IGNORE)
        return DM_FAIL(DM_ERR_ARG, "f_status is MPI_F_STATUS%s_IGNORE, but a status is needed",
                       f_status == MPI_F_STATUS_IGNORE ? "" : "ES");
    return DM_OK;
}

static int check_f08_status(const MPI_F08_status *f08_status)
{
    if (f08_status == MPI_F08_STATUS_IGNORE || f08_status == MPI_F08_STATUSES_IGNORE)
        return DM_FAIL(DM_ERR_ARG, "f08_status is MPI_F08_STATUS%s_IGNORE, but a status is needed",
                       f08_status == MPI_F08_STATUS_IGNORE ? "" : "ES");
    return DM_OK;
}

int dm_status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    memcpy(f_status, c_status, sizeof(*c_status));
    return DM_OK;
}

int dm_status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
    memcpy(f08_status, c_status, sizeof(*f08_status));
    return DM_OK;
}

int dm_status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
    int err = check_f08_status(f08_status);

    if (err == DM_OK)
        memcpy(c_status, f08_status, sizeof(*c_status));
    return err;
}

int dm_status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
    int err = check_f08_status(f08_status);

    if (err == DM_OK)
        memcpy(f_status, f08_status, sizeof(*f08_status));
    return err;
}

int dm_status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
    int err = check_f_status(f_status);

    if (err == DM_OK)
        memcpy(f08_status, f_status, sizeof(*f08_status));
    return err;
}

int dm_status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    int err = check_f_status(f_status);

    if (err == DM_OK)
        memcpy(c_status, f_status, sizeof(*c_status));
    return err;
}
