/*
 * Nonblocking transfers: a thread of the library makes them while the program computes; the progress
 * engine completes the requests.
 */
#include "io/request.h"

#include <stdlib.h>
#include <string.h>

#include "channel/channel.h"
#include "util/glock.h"

static void io_req_free(struct dm_req *req)
{
    dm_file_unref(req->file);
    free(req);
}

/* The error was recorded in another thread, or long ago. */
static int io_req_finish(struct dm_req *req, MPI_Status *status)
{
    (void)status;
    return dm_io_result_get(&((struct dm_io_req *)req)->result);
}

/* It goes on: what it has written cannot be taken back. */
static int io_req_cancel(struct dm_req *req)
{
    (void)req;
    return DM_OK;
}

/* Those of an exchange have no job. */
static bool io_req_help(struct dm_req *req)
{
    struct dm_io_req *r = (struct dm_io_req *)req;

    return r->job.part != NULL && dm_io_job_help(&r->job);
}

static const struct dm_req_ops io_req_ops = {
    .free = io_req_free,
    .cancel = io_req_cancel,
    .finish = io_req_finish,
    .help = io_req_help,
};

int dm_io_req_new(struct dm_file *f, const struct dm_move *m, struct dm_io_req **r_p)
{
    struct dm_io_req *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return DM_FAIL(DM_ENOMEM, "request of a file, %zu bytes", sizeof(*r));
    dm_req_init(&r->req, DM_REQ_IO, &io_req_ops, NULL);
    r->req.file = f; /* for its error handler, also when it is closed meanwhile */
    dm_file_ref(f);
    r->move = *m;
    r->hints = f->hints;
    r->move.hints = &r->hints;
    r->view = f->view;
    dm_view_ref(r->view);
    dm_type_ref(r->move.type);
    dm_req_ref(&r->req);
    f->n_pending++;
    *r_p = r;
    return DM_OK;
}

static bool io_req_converts(const struct dm_io_req *r)
{
    return dm_datarep_converts(r->view->rep) && r->staged.mem == NULL;
}

int dm_io_req_stage(struct dm_io_req *r, bool must)
{
    return io_req_converts(r) ? dm_convert_stage(&r->move, &r->staged, must) : DM_OK;
}

void dm_io_req_complete(struct dm_io_req *r)
{
    struct dm_file *f = r->req.file;
    int err;

    if (r->staged.mem != NULL) {
        err = dm_convert_unstage(&r->move, &r->staged);
        if (r->result.err == DM_OK)
            dm_io_result_set(&r->result, err);
    }
    dm_move_count(f, &r->move);
    dm_status_set_bytes(&r->req.status, r->move.done);
    r->req.err = r->result.err;
    r->req.n_pending = 0;
    f->n_pending--;
    f->n_declined -= r->is_declined;
    dm_type_unref(r->move.type);
    dm_view_unref(r->view);
    dm_req_unref(&r->req);
}

static bool io_req_part(void *arg, int *err_p)
{
    return dm_move_part(&((struct dm_io_req *)arg)->move, err_p);
}

/* Alone, and not in atomic mode. */
static void io_req_moved(struct dm_io_req *r)
{
    if (r->move.is_write)
        dm_file_wrote(r->req.file);
    dm_io_req_complete(r);
}

static void io_req_over(void *arg)
{
    struct dm_io_req *r = arg;

    r->result = r->job.result;
    io_req_moved(r);
}

/* Other threads of the program may go on meanwhile. */
static bool io_req_at_once(struct dm_io_req *r)
{
    int levels = dm_glock_release_all(), err;
    bool is_over = dm_move_at_once(&r->move, &err);

    dm_glock_reacquire(levels);
    if (!is_over)
        return false;
    dm_io_result_set(&r->result, err);
    io_req_moved(r);
    return true;
}

void dm_io_req_run(struct dm_io_req *r)
{
    bool converts = io_req_converts(r);
    int err = r->move.is_write ? DM_OK : dm_file_see(r->req.file);

    if (err != DM_OK) {
        dm_io_result_set(&r->result, err);
        dm_io_req_complete(r);
        return;
    }
    if (!converts && io_req_at_once(r))
        return;
    r->job = (struct dm_io_job){.part = io_req_part, .over = io_req_over, .arg = r};
    if (!converts && dm_io_job_start(&r->job))
        return;
    dm_io_result_set(&r->result,
                     converts ? dm_convert_run(&r->move, dm_move_run) : dm_move_run(&r->move));
    io_req_moved(r);
}

int dm_file_started(struct dm_file *f, const struct dm_move *m, int err, struct dm_req **req_p)
{
    struct dm_io_result result;
    struct dm_io_req *r;
    int new_err;

    dm_io_result_set(&result, err);
    new_err = dm_io_req_new(f, m, &r);
    if (new_err != DM_OK)
        return err != DM_OK ? err : new_err;
    r->result = result;
    memset(r->move.n_way, 0, sizeof(r->move.n_way)); /* it has been counted */
    dm_io_req_complete(r);
    *req_p = &r->req;
    return DM_OK;
}

int dm_file_start(struct dm_file *f, const struct dm_move *m, struct dm_req **req_p)
{
    struct dm_io_req *r;
    int err = dm_io_req_new(f, m, &r);

    if (err != DM_OK)
        return err;
    err = dm_io_req_stage(r, false);
    if (err != DM_OK) {
        dm_io_req_complete(r);
        dm_req_unref(&r->req);
        return err;
    }
    *req_p = &r->req;
    dm_io_req_run(r);
    return DM_OK;
}

void dm_file_drain(struct dm_file *f)
{
    uint32_t n_idle = 0;

    while (f->n_pending > 0)
        dm_wait_job_pass(dm_world.chan, &n_idle);
}

static int file_check_split(const struct dm_file *f)
{
    if (f->split.what == NULL)
        return DM_OK;
    return DM_FAIL(DM_ERR_IO, "%s_begin of \"%s\" is under way: call %s_end first", f->split.what,
                   f->disk.path, f->split.what);
}

int dm_file_make_idle(struct dm_file *f)
{
    int err = file_check_split(f);

    if (err == DM_OK)
        dm_file_drain(f);
    return err;
}

int dm_file_check_idle(struct dm_file *f)
{
    int err = file_check_split(f);

    if (err != DM_OK)
        return err;
    if (f->n_pending == f->n_declined)
        dm_file_drain(f);
    if (f->n_pending > 0)
        return DM_FAIL(DM_ERR_REQUEST, "%d requests on \"%s\" are not complete", f->n_pending,
                       f->disk.path);
    return DM_OK;
}
