/*
 * Statuses that a program fills itself (MPI-4.0 sections 3.8 and 13.3), and a look
 * at a request.
 */
#include "api/api.h"

#include <string.h>

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "Fortran's status");

int dm_request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct dm_req *req;

    *flag = 1;
    if (request == MPI_REQUEST_NULL) {
        if (status != MPI_STATUS_IGNORE)
            dm_status_set_empty(status);
        return DM_OK;
    }
    req = dm_handle_get(DM_KIND_REQUEST, request);
    if (req == NULL)
        return DM_FAIL(DM_ERR_REQUEST,
                       "request is 0x%x, which is no request, or one that was freed",
                       (unsigned)request);
    if (!dm_req_is_done(req))
        dm_chan_progress(dm_world.chan);
    if (!dm_req_is_done(req)) {
        *flag = 0;
        return DM_OK;
    }
    if (status != MPI_STATUS_IGNORE) {
        *status = req->status;
        if (req->ops->finish != NULL)
            return req->ops->finish(req, status);
    }
    return DM_OK;
}

int dm_status_set_elements(MPI_Status *status, struct dm_type *type, MPI_Count count)
{
    uint64_t whole;

    /* count is of basic elements; so many as make the bytes right are found from whole types. */
    if (type->n_basic == 0) {
        dm_status_set_bytes(status, 0);
        return DM_OK;
    }
    whole = (uint64_t)(count / type->n_basic);
    if (count % type->n_basic != 0 && type->basic == MPI_DATATYPE_NULL)
        return DM_FAIL(DM_ERR_COUNT,
                       "%lld basic elements are no whole number of a datatype of %lld",
                       (long long)count, (long long)type->n_basic);
    dm_status_set_bytes(status,
                        whole * (uint64_t)type->size + (uint64_t)(count % type->n_basic) *
                                                           (uint64_t)(type->size / type->n_basic));
    return DM_OK;
}

int dm_status_set_cancelled_flag(MPI_Status *status, int flag)
{
    dm_status_set_cancelled(status, flag != 0);
    return DM_OK;
}

int dm_status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    memcpy(f_status, c_status, sizeof(*c_status));
    return DM_OK;
}

int dm_status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    memcpy(c_status, f_status, sizeof(*c_status));
    return DM_OK;
}
