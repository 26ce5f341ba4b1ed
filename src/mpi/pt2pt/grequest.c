/*
 * Generalized requests (MPI-4.0 section 13.2), and MPICH's extension of them by functions that
 * poll and wait.
 *
 * The program holds one reference until its request completes or is freed, the operation another
 * until MPI_Grequest_complete. free_fn is called once, when both are gone or, by a completion call,
 * after query_fn. Callbacks run under the global lock, but for wait_fn, which may block.
 */
#include "mpi/pt2pt/pt2pt.h"

#include <sched.h>
#include <stdlib.h>

#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/wait.h"
#include "util/err.h"
#include "util/glock.h"

struct fns {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    MPIX_Grequest_poll_function *poll; /* NULL: none */
    MPIX_Grequest_wait_function *wait; /* NULL: none */
};

struct greq {
    struct dm_req req;
    struct fns fns;
    void *extra;
    bool is_fortran;
    bool is_freed; /* free_fn was called */
};

/* What Fortran's callbacks take: everything by reference, the error last. */
typedef void fortran_query(void *extra, MPI_Fint *status, MPI_Fint *err);
typedef void fortran_free(void *extra, MPI_Fint *err);
typedef void fortran_cancel(void *extra, MPI_Fint *is_complete, MPI_Fint *err);

_Static_assert(sizeof(MPI_Status) == 5 * sizeof(MPI_Fint), "a status is one of Fortran too");

/* Classes of MPIX_Grequest_class_create; they stay. A class is its number here plus 1. */
static struct {
    struct fns *fns;
    int n;
} classes;

static int greq_call_query(struct greq *g, MPI_Status *status)
{
    MPI_Fint err = MPI_SUCCESS;

    if (!g->is_fortran)
        return dm_err_of_code(g->fns.query(g->extra, status));
    ((fortran_query *)(intptr_t)g->fns.query)(g->extra, (MPI_Fint *)(void *)status, &err);
    return dm_err_of_code(err);
}

static int greq_call_free(struct greq *g)
{
    MPI_Fint err = MPI_SUCCESS;

    if (g->is_freed)
        return DM_OK;
    g->is_freed = true;
    if (!g->is_fortran)
        return dm_err_of_code(g->fns.free(g->extra));
    ((fortran_free *)(intptr_t)g->fns.free)(g->extra, &err);
    return dm_err_of_code(err);
}

static void greq_destroy(struct dm_req *req)
{
    (void)greq_call_free((struct greq *)req);
    free(req);
}

static int greq_cancel(struct dm_req *req)
{
    struct greq *g = (struct greq *)req;
    MPI_Fint is_complete = dm_req_is_done(req), err = MPI_SUCCESS;

    if (!g->is_fortran)
        return dm_err_of_code(g->fns.cancel(g->extra, is_complete));
    ((fortran_cancel *)(intptr_t)g->fns.cancel)(g->extra, &is_complete, &err);
    return dm_err_of_code(err);
}

static int greq_finish(struct dm_req *req, MPI_Status *status)
{
    return greq_call_query((struct greq *)req, status);
}

static const struct dm_req_ops ops = {
    .free = greq_destroy, .cancel = greq_cancel, .finish = greq_finish};

int dm_greq_end(struct dm_req *req)
{
    int query_err = greq_call_query((struct greq *)req, &req->status);
    int free_err = greq_call_free((struct greq *)req);

    return free_err != DM_OK ? free_err : query_err;
}

int dm_greq_free(struct dm_req *req)
{
    int err = dm_req_is_done(req) ? greq_call_free((struct greq *)req) : DM_OK;

    /* MPI_Grequest_complete still needs the handle. */
    dm_req_unref(req);
    return err;
}

static int greq_start(const struct fns *fns, void *extra, struct dm_req **req_p)
{
    struct greq *g = malloc(sizeof(*g));

    if (g == NULL)
        return DM_FAIL(DM_ENOMEM, "generalized request, %zu bytes", sizeof(*g));
    dm_req_init(&g->req, DM_REQ_GENERALIZED, &ops, NULL);
    dm_req_ref(&g->req);
    g->fns = *fns;
    g->extra = extra;
    g->is_fortran = false;
    g->is_freed = false;
    *req_p = &g->req;
    return DM_OK;
}

int dm_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                      MPI_Grequest_cancel_function *cancel_fn, void *extra, struct dm_req **req_p)
{
    struct fns fns = {.query = query_fn, .free = free_fn, .cancel = cancel_fn};

    return greq_start(&fns, extra, req_p);
}

int dm_grequest_start_x(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                        MPI_Grequest_cancel_function *cancel_fn,
                        MPIX_Grequest_poll_function *poll_fn, MPIX_Grequest_wait_function *wait_fn,
                        void *extra, struct dm_req **req_p)
{
    struct fns fns = {query_fn, free_fn, cancel_fn, poll_fn, wait_fn};

    return greq_start(&fns, extra, req_p);
}

int dm_grequest_class_create(MPI_Grequest_query_function *query_fn,
                             MPI_Grequest_free_function *free_fn,
                             MPI_Grequest_cancel_function *cancel_fn,
                             MPIX_Grequest_poll_function *poll_fn,
                             MPIX_Grequest_wait_function *wait_fn, int *class)
{
    struct fns *grown = realloc(classes.fns, ((size_t)classes.n + 1) * sizeof(*grown));

    if (grown == NULL)
        return DM_FAIL(DM_ENOMEM, "class %d of generalized requests", classes.n + 1);
    classes.fns = grown;
    classes.fns[classes.n] = (struct fns){query_fn, free_fn, cancel_fn, poll_fn, wait_fn};
    *class = ++classes.n;
    return DM_OK;
}

int dm_grequest_class_allocate(int class, void *extra, struct dm_req **req_p)
{
    if (class <= 0 || class > classes.n)
        return DM_FAIL(DM_ERR_ARG,
                       "greq_class is %d, which MPIX_Grequest_class_create did not make", class);
    return greq_start(&classes.fns[class - 1], extra, req_p);
}

void dm_greq_stop(void)
{
    free(classes.fns);
    classes.fns = NULL;
    classes.n = 0;
}

/* The request of a handle, DM_ERR_REQUEST when it is no generalized one. */
static int greq_find(MPI_Request handle, struct greq **g_p)
{
    struct dm_req *req;
    int err = dm_p2p_resolve(&handle, &req);

    *g_p = (struct greq *)req;
    if (err != DM_OK)
        return err;
    if (req == NULL || req->kind != DM_REQ_GENERALIZED)
        return DM_FAIL(DM_ERR_REQUEST, "request 0x%x is not a generalized one", (unsigned)handle);
    return DM_OK;
}

int dm_grequest_complete(MPI_Request request)
{
    struct greq *g;
    int err = greq_find(request, &g);

    if (err != DM_OK)
        return err;
    if (dm_req_is_done(&g->req))
        return DM_FAIL(DM_ERR_REQUEST, "the generalized request 0x%x is complete already",
                       (unsigned)request);
    g->req.n_pending = 0;
    /* The program freed it before. */
    if (g->req.obj.refs == 1)
        err = greq_call_free(g);
    dm_req_unref(&g->req);
    return err;
}

void dm_grequest_set_fortran(MPI_Request request)
{
    struct greq *g;

    if (greq_find(request, &g) == DM_OK)
        g->is_fortran = true;
}

/* ---- waiting ---- */

void dm_greq_poll(struct dm_req *req)
{
    struct greq *g = (struct greq *)req;
    MPI_Status status;

    if (dm_req_is_done(req) || g->fns.poll == NULL)
        return;
    dm_status_set_empty(&status);
    /*
     * It says by MPI_Grequest_complete that the operation is over; an error is query_fn's to
     * report.
     */
    (void)g->fns.poll(g->extra, &status);
}

void dm_greq_pass(int *n_idle)
{
    uint32_t n_notified = dm_wait_n_notified();

    if (dm_chan_progress(dm_world.chan) > 0)
        *n_idle = 0;
    if (++*n_idle < DM_WAIT_GREQ_PASSES)
        dm_glock_yield();
    else
        dm_wait_timed(n_notified, DM_WAIT_GREQ_NS);
}

void dm_greq_wait(struct dm_req *req)
{
    struct greq *g = (struct greq *)req;
    int n_idle = 0;

    if (!dm_req_is_done(req) && g->fns.wait != NULL) {
        int levels = dm_glock_release_all();
        MPI_Status status;

        dm_status_set_empty(&status);
        (void)g->fns.wait(1, &g->extra, 0, &status);
        dm_glock_reacquire(levels);
    }
    while (!dm_req_is_done(req)) {
        dm_greq_poll(req);
        if (!dm_req_is_done(req))
            dm_greq_pass(&n_idle);
    }
}
