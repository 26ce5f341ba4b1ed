/*
 * Completion of one request, or of all; and what else is done to a request.
 *
 * Handles are resolved here once per call. A request that completes loses its
 * handle and the program's reference, unless it is persistent.
 */
#include "mpi/pt2pt/wait.h"

#include <stdio.h>

#include "mpi/pt2pt/p2p.h"
#include "util/err.h"

int dm_p2p_resolve_more(const MPI_Request *request, struct dm_req **req_p)
{
    if (dm_unlikely(!dm_list_is_empty(&dm_p2p.recalled)) && dm_req_is_done_handle(*request)) {
        struct dm_req *req = dm_p2p_recalled(*request);

        if (req != NULL)
            *req_p = req;
    }
    if (*req_p == NULL)
        return DM_FAIL(DM_ERR_REQUEST, "handle 0x%x is not a request, or no more",
                       (unsigned)*request);
    return DM_OK;
}

void dm_p2p_blame(const struct dm_req *req)
{
    if (req->kind == DM_REQ_IO)
        dm_core_blame_file(req->file);
    else if (req->kind == DM_REQ_COLL || req->kind == DM_REQ_PERSISTENT)
        dm_core_blame_coll(req->comm);
    else
        dm_core_blame(req->comm, req->win);
}

int dm_p2p_complete(struct dm_req *req, MPI_Request *request, MPI_Status *status)
{
    int err = req->err;

    if (dm_unlikely(req->kind == DM_REQ_GENERALIZED)) {
        err = dm_greq_end(req);
    } else if (dm_unlikely(err != DM_OK && req->ops->finish != NULL)) {
        err = req->ops->finish(req, &req->status);
    }
    if (dm_unlikely(err != DM_OK))
        dm_p2p_blame(req);
    if (dm_unlikely(req->has_copies))
        dm_req_end_copies(req);
    dm_p2p_status(req, status);
    if (dm_unlikely(req->kind == DM_REQ_PERSISTENT)) {
        dm_req_rest(req);
        return err;
    }
    *request = MPI_REQUEST_NULL;
    if (dm_unlikely(req->obj.refs > 1))
        dm_handle_drop(DM_KIND_REQUEST, &req->obj);
    dm_req_unref(req);
    return err;
}

void dm_p2p_note_failure(struct dm_p2p_failure *first, int index, int err)
{
    bool has_detail = dm_err_code() == err && dm_err_detail()[0] != '\0';

    if (first->index >= 0)
        return;
    first->index = index;
    snprintf(first->why, sizeof(first->why), "%s%s%s",
             err < 0 ? "a callback of the program failed" : dm_err_text(err),
             has_detail ? ": " : "", has_detail ? dm_err_detail() : "");
}

int dm_p2p_in_status(const struct dm_p2p_failure *first)
{
    if (first->index < 0)
        return DM_OK;
    return DM_FAIL(DM_ERR_IN_STATUS, "request %d: %s", first->index, first->why);
}

void dm_p2p_status_empty(MPI_Status *status)
{
    int keep;

    if (status == MPI_STATUS_IGNORE)
        return;
    keep = status->MPI_ERROR;
    dm_status_set_empty(status);
    status->MPI_ERROR = keep;
}

/* A thread of the library moves its data, or this one does; others may need us meanwhile. */
void dm_wait_for_job(struct dm_req *req)
{
    uint32_t n_idle = 0;

    while (!dm_req_is_done(req)) {
        if (req->ops->help(req))
            (void)dm_chan_progress(dm_world.chan);
        else
            dm_wait_job_pass(dm_world.chan, &n_idle);
    }
}

static inline void wait_one(struct dm_req *req)
{
    if (dm_req_is_done(req))
        return;
    if (dm_unlikely(req->kind == DM_REQ_GENERALIZED))
        dm_greq_wait(req);
    else if (dm_unlikely(req->kind == DM_REQ_IO))
        dm_wait_for_job(req);
    else
        dm_wait_for(&req->n_pending);
}

int dm_wait(MPI_Request *request, MPI_Status *status)
{
    struct dm_req *req;
    int err = dm_p2p_resolve(request, &req);

    if (err != DM_OK)
        return err;
    if (req == NULL) {
        dm_p2p_status_empty(status);
        return DM_OK;
    }
    wait_one(req);
    return dm_p2p_complete(req, request, status);
}

/* What a call that does not wait does for a request that is not done. */
static void test_poll(struct dm_req *req)
{
    if (dm_unlikely(req->kind == DM_REQ_GENERALIZED))
        dm_greq_poll(req);
    dm_chan_progress_test(dm_world.chan);
}

/*
 * Is it done? *req_p: the request if it is and has something to complete, else NULL: it is pending,
 * or there is none and the status is empty.
 */
static int test_one(const MPI_Request *request, int *flag, MPI_Status *status,
                    struct dm_req **req_p)
{
    struct dm_req *req;
    int err = dm_p2p_resolve(request, &req);

    *req_p = NULL;
    *flag = 0;
    if (err != DM_OK)
        return err;
    if (req == NULL) {
        *flag = 1;
        dm_p2p_status_empty(status);
        return DM_OK;
    }
    if (!dm_req_is_done(req))
        test_poll(req);
    if (dm_req_is_done(req)) {
        *flag = 1;
        *req_p = req;
    }
    return DM_OK;
}

int dm_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct dm_req *req;
    int err = test_one(request, flag, status, &req);

    return req != NULL ? dm_p2p_complete(req, request, status) : err;
}

/* ---- all ---- */

static MPI_Status *wait_status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* Every handle must be good before anything is done; *all_done_p: nothing to wait for. */
static int wait_check(int count, const MPI_Request requests[], bool *all_done_p)
{
    *all_done_p = true;
    for (int i = 0; i < count; i++) {
        struct dm_req *req;
        int err = dm_p2p_resolve(&requests[i], &req);

        if (err != DM_OK)
            return err;
        if (req == NULL || dm_req_is_done(req))
            continue;
        if (dm_unlikely(req->kind == DM_REQ_GENERALIZED))
            dm_greq_poll(req);
        *all_done_p = *all_done_p && dm_req_is_done(req);
    }
    return DM_OK;
}

/*
 * Complete all in order, waiting; after the loss of a peer only what is done already. Programs look at
 * the error fields also when nothing has failed: they are success then, as in MPICH and Open MPI.
 */
static int wait_complete_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct dm_p2p_failure first; /* its text is written when there is one */
    bool lost = false;

    first.index = -1;
    for (int i = 0; i < count; i++) {
        MPI_Status *status = wait_status_at(statuses, i);
        struct dm_req *req = NULL;
        int err = DM_OK;

        (void)dm_p2p_resolve(&requests[i], &req);
        if (req == NULL) {
            dm_p2p_status_empty(status);
        } else if (lost && !dm_req_is_done(req)) {
            err = DM_ERR_PENDING;
        } else {
            wait_one(req);
            err = dm_p2p_complete(req, &requests[i], status);
        }
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = err;
        if (dm_unlikely(err != DM_OK))
            dm_p2p_note_failure(&first, i, err);
        lost = lost || err == DM_EPEER;
    }
    return dm_p2p_in_status(&first);
}

int dm_waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    bool all_done;
    int err = wait_check(count, requests, &all_done);

    return err != DM_OK ? err : wait_complete_all(count, requests, statuses);
}

/* The same, after a pass of progress where that is needed. */
static int wait_test(int count, const MPI_Request requests[], bool *all_done_p)
{
    int err = wait_check(count, requests, all_done_p);

    if (err != DM_OK || *all_done_p)
        return err;
    dm_chan_progress_test(dm_world.chan);
    return wait_check(count, requests, all_done_p);
}

int dm_testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    bool all_done;
    int err = wait_test(count, requests, &all_done);

    *flag = err == DM_OK && all_done;
    return *flag ? wait_complete_all(count, requests, statuses) : err;
}

/* ---- other ends of a request ---- */

int dm_request_free(MPI_Request *request)
{
    struct dm_req *req;
    int err = dm_p2p_resolve(request, &req);

    if (err != DM_OK)
        return err;
    if (req == NULL)
        return DM_FAIL(DM_ERR_REQUEST, "MPI_REQUEST_NULL cannot be freed");
    if (req->kind == DM_REQ_COLL)
        return DM_FAIL(DM_ERR_REQUEST,
                       "a nonblocking collective operation cannot be freed, only completed");
    *request = MPI_REQUEST_NULL;
    if (req->kind == DM_REQ_GENERALIZED)
        return dm_greq_free(req);
    dm_handle_drop(DM_KIND_REQUEST, &req->obj);
    dm_req_unref(req);
    return DM_OK;
}

int dm_p2p_look(struct dm_req *req, MPI_Status *status)
{
    int err = DM_OK;

    if (req->kind == DM_REQ_GENERALIZED)
        err = req->ops->finish(req, &req->status);
    if (dm_unlikely(req->has_copies))
        dm_req_end_copies(req);
    dm_p2p_status(req, status);
    return err;
}

int dm_request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    struct dm_req *req;
    int err = test_one(&request, flag, status, &req);

    return req != NULL ? dm_p2p_look(req, status) : err;
}

int dm_request_get_status_all(int count, const MPI_Request requests[], int *flag,
                              MPI_Status statuses[])
{
    bool all_done;
    int err = wait_test(count, requests, &all_done);

    *flag = err == DM_OK && all_done;
    for (int i = 0; *flag && err == DM_OK && i < count; i++) {
        struct dm_req *req;

        err = dm_p2p_resolve(&requests[i], &req);
        if (req == NULL)
            dm_p2p_status_empty(wait_status_at(statuses, i));
        else
            err = dm_p2p_look(req, wait_status_at(statuses, i));
    }
    return err;
}

int dm_cancel(MPI_Request *request)
{
    struct dm_req *req;
    int err = dm_p2p_resolve(request, &req);

    if (err != DM_OK)
        return err;
    if (req == NULL)
        return DM_FAIL(DM_ERR_REQUEST, "MPI_REQUEST_NULL cannot be cancelled");
    if (dm_req_is_inactive(req))
        return DM_FAIL(DM_ERR_REQUEST, "the persistent request 0x%x is not started",
                       (unsigned)*request);
    if (req->ops->cancel != NULL)
        return req->ops->cancel(req);
    if (req->kind == DM_REQ_DONE)
        return dm_p2p_cancel_done(*request);
    return DM_FAIL(DM_ERR_REQUEST, "request 0x%x is of an operation that cannot be cancelled",
                   (unsigned)*request);
}

int dm_test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = dm_status_cancelled(status);
    return DM_OK;
}

int dm_get_elements(const MPI_Status *status, struct dm_type *type, MPI_Count *count)
{
    *count = dm_type_elements_of(type, dm_status_bytes(status));
    return DM_OK;
}
