/*
 * Request forms (MPI-4.0 section 12.3.5): MPI_Rput, MPI_Rget, MPI_Raccumulate,
 * MPI_Rget_accumulate. A request counts the transfers of its call; it is complete when the
 * origin's buffers may be used again, and what was asked for is there.
 */
#include "onesided/call.h"
#include "onesided/flush.h"
#include "onesided/state.h"

struct rma_req {
    struct dm_req req; /* first member */
    MPI_Win win;       /* the program may free the window before it looks at the request */
};

static void rma_req_free_req(struct dm_req *req)
{
    dm_pool_put(&dm_rma_state.reqs, dm_container_of(req, struct rma_req, req));
}

/* After a failure: whose error handler is it? */
static int rma_req_finish(struct dm_req *req, MPI_Status *status)
{
    (void)status;
    if (dm_win_get(dm_container_of(req, struct rma_req, req)->win) != req->win)
        req->win = NULL;
    return req->err == DM_OK ? DM_OK : DM_FAIL(req->err, "the one-sided transfer failed");
}

static const struct dm_req_ops ops = {.free = rma_req_free_req, .finish = rma_req_finish};

void dm_rma_req_start(void)
{
    dm_pool_init(&dm_rma_state.reqs, sizeof(struct rma_req), 64, 0);
}

int dm_rma_req_begin(struct dm_rma_call *call)
{
    struct rma_req *r;

    _Static_assert(offsetof(struct rma_req, req) == 0, "requests are the first member");
    if (!dm_rma_is_passive(call->win, call->target))
        return DM_FAIL(DM_ERR_RMA_SYNC,
                       "a request-based transfer needs a lock of target %d: call "
                       "MPI_Win_lock or MPI_Win_lock_all first",
                       call->target);
    r = dm_pool_get(&dm_rma_state.reqs);
    if (r == NULL)
        return DM_FAIL(DM_ENOMEM, "request, %zu bytes", sizeof(*r));
    dm_req_init(&r->req, DM_REQ_RMA, &ops, NULL);
    dm_req_ref(&r->req); /* the operation's, besides the program's */
    r->req.win = call->win;
    r->win = call->win->obj.handle;
    call->req = &r->req;
    return DM_OK;
}

void dm_rma_req_step(struct dm_req *req, int err)
{
    if (err != DM_OK && req->err == DM_OK)
        req->err = err;
    if (--req->n_pending == 0)
        dm_req_unref(req);
}

int dm_rma_req_end(struct dm_rma_call *call, int err, struct dm_req **req_p)
{
    /* a transfer that failed at once is in the request, too, which nobody will see */
    dm_rma_req_step(call->req, DM_OK);
    if (err != DM_OK)
        dm_req_unref(call->req);
    else
        *req_p = call->req;
    return err;
}

/* Memory that this process can address: nothing is left to wait for when the call returns. */
static bool req_is_done_by_call(const struct dm_win *win, int target)
{
    return dm_rma_is_passive(win, target) && win->peers[target].map != NULL;
}

static int req_done(int err, struct dm_req **req_p)
{
    return err == DM_OK ? dm_req_new_done(req_p) : err;
}

int dm_rput(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
            MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win,
            struct dm_req **req_p)
{
    struct dm_rma_call call = {.win = win, .target = target};
    int err;

    if (target == MPI_PROC_NULL)
        return dm_req_new_done(req_p);
    if (req_is_done_by_call(win, target))
        return req_done(
            dm_put(origin, origin_count, origin_type, target, disp, target_count, target_type, win),
            req_p);
    err = dm_rma_req_begin(&call);
    if (err != DM_OK)
        return err;
    err = dm_rma_put(&call, origin, origin_count, origin_type, disp, target_count, target_type);
    return dm_rma_req_end(&call, err, req_p);
}

int dm_rget(void *origin, size_t origin_count, struct dm_type *origin_type, int target,
            MPI_Aint disp, size_t target_count, struct dm_type *target_type, struct dm_win *win,
            struct dm_req **req_p)
{
    struct dm_rma_call call = {.win = win, .target = target};
    int err;

    if (target == MPI_PROC_NULL)
        return dm_req_new_done(req_p);
    if (req_is_done_by_call(win, target))
        return req_done(
            dm_get(origin, origin_count, origin_type, target, disp, target_count, target_type, win),
            req_p);
    err = dm_rma_req_begin(&call);
    if (err != DM_OK)
        return err;
    err = dm_rma_get(&call, origin, origin_count, origin_type, disp, target_count, target_type);
    return dm_rma_req_end(&call, err, req_p);
}

int dm_raccumulate(const void *origin, size_t origin_count, struct dm_type *origin_type, int target,
                   MPI_Aint disp, size_t target_count, struct dm_type *target_type,
                   struct dm_op *op, struct dm_win *win, struct dm_req **req_p)
{
    struct dm_rma_call call = {.win = win, .target = target};
    int err;

    if (target == MPI_PROC_NULL)
        return dm_req_new_done(req_p);
    if (req_is_done_by_call(win, target) &&
        dm_rma_quick_accumulate(origin, origin_count, origin_type, target, disp, target_count,
                                target_type, op, win, &err))
        return req_done(err, req_p);
    err = dm_rma_req_begin(&call);
    if (err != DM_OK)
        return err;
    err = dm_rma_accumulate(&call, origin, origin_count, origin_type, disp, target_count,
                            target_type, op);
    return dm_rma_req_end(&call, err, req_p);
}

int dm_rget_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type,
                       void *result, size_t result_count, struct dm_type *result_type, int target,
                       MPI_Aint disp, size_t target_count, struct dm_type *target_type,
                       struct dm_op *op, struct dm_win *win, struct dm_req **req_p)
{
    struct dm_rma_call call = {.win = win, .target = target};
    int err;

    if (target == MPI_PROC_NULL)
        return dm_req_new_done(req_p);
    if (req_is_done_by_call(win, target) &&
        dm_rma_quick_get_accumulate(origin, origin_count, origin_type, result, result_count,
                                    result_type, target, disp, target_count, target_type, op, win,
                                    &err))
        return req_done(err, req_p);
    err = dm_rma_req_begin(&call);
    if (err != DM_OK)
        return err;
    err = dm_rma_get_accumulate(&call, origin, origin_count, origin_type, result, result_count,
                                result_type, disp, target_count, target_type, op);
    return dm_rma_req_end(&call, err, req_p);
}
