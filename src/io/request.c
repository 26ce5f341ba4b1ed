/*
 * Nonblocking transfers: a thread of the library makes them, one after the other, while the program
 * computes; the progress engine completes the requests.
 *
 * The thread takes no lock but that of its queue and touches nothing that is counted: a request holds
 * its file, view and type until it is complete.
 */
#include "io/file.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel/channel.h"
#include "util/glock.h"

struct io_req {
    struct dm_req req;
    struct dm_list link;
    struct dm_move move;
    struct dm_hints hints; /* as they were at the start */
    struct dm_view *view;
    int err;
    char text[512]; /* of the error */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    pthread_t thread;
    bool is_running;
    bool is_ending;
    struct dm_list todo;
    struct dm_list done;
    atomic_int n_done;
    int n_pending; /* not completed yet; used under the global lock only */
    struct dm_chan_hook hook;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static void io_req_free(struct dm_req *req)
{
    dm_file_unref(req->file);
    free(req);
}

/* The error was recorded in another thread, or long ago. */
static int io_req_finish(struct dm_req *req, MPI_Status *status)
{
    (void)status;
    return dm_err_fail(req->err, "%s", ((struct io_req *)req)->text);
}

static const struct dm_req_ops io_req_ops = {.free = io_req_free, .finish = io_req_finish};

static void io_req_set_result(struct io_req *r, int err)
{
    r->err = err;
    r->text[0] = '\0';
    if (err != DM_OK && dm_err_code() == err)
        snprintf(r->text, sizeof(r->text), "%s", dm_err_detail());
}

/* The move is over: what the program's thread has to do about it. */
static void io_req_complete(struct io_req *r)
{
    struct dm_file *f = r->req.file;

    dm_move_count(f, &r->move);
    dm_status_set_bytes(&r->req.status, r->move.done);
    r->req.err = r->err;
    r->req.n_pending = 0;
    f->n_pending--;
    dm_type_unref(r->move.type);
    dm_view_unref(r->view);
    dm_req_unref(&r->req);
}

static int worker_hook(struct dm_chan_hook *hook)
{
    int n = 0;

    if (atomic_load_explicit(&worker.n_done, memory_order_acquire) == 0)
        return 0;
    for (;;) {
        struct io_req *r = NULL;

        pthread_mutex_lock(&worker.lock);
        if (!dm_list_is_empty(&worker.done)) {
            r = dm_container_of(worker.done.next, struct io_req, link);
            dm_list_del(&r->link);
            atomic_fetch_sub_explicit(&worker.n_done, 1, memory_order_relaxed);
        }
        pthread_mutex_unlock(&worker.lock);
        if (r == NULL)
            break;
        worker.n_pending--;
        io_req_complete(r);
        n++;
    }
    if (worker.n_pending == 0)
        dm_chan_hook_del(dm_world.chan, hook);
    return n;
}

static void *worker_main(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&worker.lock);
    for (;;) {
        struct io_req *r;

        while (dm_list_is_empty(&worker.todo) && !worker.is_ending)
            pthread_cond_wait(&worker.cond, &worker.lock);
        if (dm_list_is_empty(&worker.todo))
            break;
        r = dm_container_of(worker.todo.next, struct io_req, link);
        dm_list_del(&r->link);
        pthread_mutex_unlock(&worker.lock);
        io_req_set_result(r, dm_move_run(&r->move));
        pthread_mutex_lock(&worker.lock);
        dm_list_add_tail(&worker.done, &r->link);
        atomic_fetch_add_explicit(&worker.n_done, 1, memory_order_release);
    }
    pthread_mutex_unlock(&worker.lock);
    return NULL;
}

/* Is there a thread? Signals of the program are not for it. */
static bool worker_start(void)
{
    sigset_t all, before;

    if (worker.is_running)
        return true;
    worker.is_ending = false;
    dm_list_init(&worker.todo);
    dm_list_init(&worker.done);
    worker.hook.fn = worker_hook;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker.is_running = pthread_create(&worker.thread, NULL, worker_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return worker.is_running;
}

static int io_req_new(struct dm_file *f, const struct dm_move *m, struct io_req **r_p)
{
    struct io_req *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return DM_FAIL(DM_ENOMEM, "request of a file, %zu bytes", sizeof(*r));
    dm_req_init(&r->req, DM_REQ_IO, &io_req_ops, NULL);
    r->req.file = f; /* for its error handler, also when it is closed meanwhile */
    dm_file_ref(f);
    r->move = *m;
    r->hints = f->hints;
    r->move.hints = &r->hints;
    *r_p = r;
    return DM_OK;
}

int dm_file_started(struct dm_file *f, const struct dm_move *m, int err, struct dm_req **req_p)
{
    struct io_req *r;
    int new_err = io_req_new(f, m, &r);

    if (new_err != DM_OK)
        return err != DM_OK ? err : new_err;
    io_req_set_result(r, err);
    dm_status_set_bytes(&r->req.status, m->done);
    r->req.err = err;
    r->req.n_pending = 0;
    *req_p = &r->req;
    return DM_OK;
}

int dm_file_start(struct dm_file *f, const struct dm_move *m, struct dm_req **req_p)
{
    struct io_req *r;
    int err;

    if (!worker_start()) {
        struct dm_move now = *m;

        err = dm_move_run(&now);
        dm_move_count(f, &now);
        return dm_file_started(f, &now, err, req_p);
    }
    err = io_req_new(f, m, &r);
    if (err != DM_OK)
        return err;
    r->view = f->view;
    dm_view_ref(r->view);
    dm_type_ref(r->move.type);
    dm_req_ref(&r->req);
    f->n_pending++;
    worker.n_pending++;
    dm_chan_hook_add(dm_world.chan, &worker.hook);
    pthread_mutex_lock(&worker.lock);
    dm_list_add_tail(&worker.todo, &r->link);
    pthread_cond_signal(&worker.cond);
    pthread_mutex_unlock(&worker.lock);
    *req_p = &r->req;
    return DM_OK;
}

void dm_file_drain(struct dm_file *f)
{
    while (f->n_pending > 0) {
        (void)dm_chan_progress(dm_world.chan);
        if (f->n_pending > 0)
            dm_wait_timed(DM_WAIT_GREQ_NS);
    }
}

void dm_io_worker_stop(void)
{
    if (!worker.is_running)
        return;
    pthread_mutex_lock(&worker.lock);
    worker.is_ending = true;
    pthread_cond_signal(&worker.cond);
    pthread_mutex_unlock(&worker.lock);
    (void)pthread_join(worker.thread, NULL);
    worker.is_running = false;
    (void)worker_hook(&worker.hook);
}
