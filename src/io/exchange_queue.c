/*
 * Nonblocking collective transfers: a hook of the progress engine makes them go on, one at a time for each
 * file, in the order of the calls, which is that of all processes.
 */
#include <stdlib.h>

#include "channel/channel.h"
#include "io/exchange_stages.h"
#include "mpi/coll/coll.h"

static struct {
    struct dm_chan_hook hook;
    struct dm_list busy; /* files with a queue */
    bool is_running;     /* sending may make a pass of progress */
} exchange_all;

static void exchange_complete(struct dm_exchange *x)
{
    struct dm_io_req *r = x->request;

    dm_exchange_end(x);
    dm_list_del(&x->link);
    r->result = x->result;
    if (x->is_alone)
        dm_io_req_run(r);
    else
        dm_io_req_complete(r);
    free(x);
}

/* The first of a file's queue, and those behind it. */
static int exchanges_advance(struct dm_exchanges *e)
{
    int n = 0;

    while (!dm_list_is_empty(&e->queue)) {
        struct dm_exchange *x = dm_container_of(e->queue.next, struct dm_exchange, link);

        if (dm_exchange_is_waiting(x))
            break;
        x->awaited = dm_exchange_step(x);
        n++;
        if (x->awaited == NULL)
            exchange_complete(x);
    }
    if (dm_list_is_empty(&e->queue))
        dm_list_del(&e->link);
    return n;
}

static int exchange_hook(struct dm_chan_hook *hook)
{
    struct dm_list *at, *next;
    int n = 0;

    if (exchange_all.is_running)
        return 0;
    exchange_all.is_running = true;
    for (at = exchange_all.busy.next; at != &exchange_all.busy; at = next) {
        struct dm_exchanges *e = dm_container_of(at, struct dm_exchanges, link);
        struct dm_file *f = e->f;

        next = at->next;
        dm_file_ref(f);
        n += exchanges_advance(e);
        dm_file_unref(f);
    }
    exchange_all.is_running = false;
    if (dm_list_is_empty(&exchange_all.busy))
        dm_chan_hook_del(dm_world.chan, hook);
    return n;
}

static void exchange_enqueue(struct dm_exchange *x)
{
    struct dm_exchanges *e = x->f->exchanges;

    if (exchange_all.hook.fn == NULL) {
        exchange_all.hook.fn = exchange_hook;
        dm_list_init(&exchange_all.busy);
    }
    if (dm_list_is_empty(&e->queue))
        dm_list_add_tail(&exchange_all.busy, &e->link);
    dm_list_add_tail(&e->queue, &x->link);
    dm_chan_hook_add(dm_world.chan, &exchange_all.hook);
    (void)exchange_hook(&exchange_all.hook);
}

/* There is no memory for a request: with nothing to move, so that the others do not wait for us. */
static void exchange_take_part(struct dm_file *f, const struct dm_move *m)
{
    struct dm_move none = *m;
    struct dm_exchange x = {.f = f, .m = &none, .is_atomic = dm_exchange_is_atomic(f)};
    uint32_t n_idle = 0;

    none.len = 0;
    dm_exchanges_drain(f);
    while ((x.awaited = dm_exchange_step(&x)) != NULL)
        while (dm_exchange_is_waiting(&x))
            dm_wait_job_pass(dm_world.chan, &n_idle);
    dm_exchange_end(&x);
}

int dm_exchange_start(struct dm_file *f, const struct dm_move *m, int err, struct dm_req **req_p)
{
    struct dm_exchange *x = calloc(1, sizeof(*x));
    struct dm_io_result result;
    int bad;

    dm_io_result_set(&result, err);
    if (x == NULL || dm_io_req_new(f, m, &x->request) != DM_OK) {
        free(x);
        exchange_take_part(f, m);
        bad = DM_FAIL(DM_ENOMEM, "request of a file, %zu bytes", sizeof(*x));
        return err != DM_OK ? dm_io_result_get(&result) : bad;
    }
    *req_p = &x->request->req;
    x->f = f;
    x->m = &x->request->move;
    x->is_atomic = dm_exchange_is_atomic(f);
    if (err == DM_OK) {
        err = dm_io_req_stage(x->request, x->is_atomic);
        dm_io_result_set(&result, err);
    }
    x->request->is_declined = err != DM_OK;
    f->n_declined += x->request->is_declined;
    exchange_enqueue(x);
    if (err == DM_OK)
        return DM_OK;
    dm_req_unref(*req_p);
    return dm_io_result_get(&result);
}

void dm_exchanges_drain(struct dm_file *f)
{
    uint32_t n_idle = 0;

    while (!dm_list_is_empty(&f->exchanges->queue))
        dm_wait_job_pass(dm_world.chan, &n_idle);
}

/* ---- what a file has ---- */

int dm_exchanges_new(struct dm_file *f)
{
    struct dm_exchanges *e = calloc(1, sizeof(*e));

    f->exchanges = e;
    if (e != NULL)
        e->parts = calloc((size_t)f->size, sizeof(*e->parts));
    if (e == NULL || e->parts == NULL)
        return DM_FAIL(DM_ENOMEM, "file of %d processes", f->size);
    e->f = f;
    dm_list_init(&e->link);
    dm_list_init(&e->queue);
    return DM_OK;
}

/* The same at all processes. */
static bool exchanges_are_ready(const struct dm_file *f)
{
    return f->exchanges->gather != NULL ||
           (!dm_plan_is_hinted(f, false) && !dm_plan_is_hinted(f, true));
}

int dm_exchanges_prepare(struct dm_file *f)
{
    struct dm_exchanges *e = f->exchanges;
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    size_t len = sizeof(e->mine);
    int err;

    if (exchanges_are_ready(f))
        return DM_OK;
    err = dm_coll_allgather(&e->mine, len, byte, e->parts, len, byte, f->comm,
                            dm_coll_persistent(NULL, &e->gather));
    if (err == DM_OK)
        err = dm_io_max_init(&e->max, f->comm);
    return err;
}

int dm_exchanges_prepare_all(struct dm_file *f)
{
    int err;

    if (exchanges_are_ready(f))
        return DM_OK;
    err = dm_file_agree(f, dm_exchanges_prepare(f));
    if (err != DM_OK)
        dm_exchanges_stop(f);
    return err;
}

static void exchanges_drop(struct dm_req **req_p)
{
    if (*req_p != NULL)
        dm_req_unref(*req_p);
    *req_p = NULL;
}

void dm_exchanges_stop(struct dm_file *f)
{
    exchanges_drop(&f->exchanges->gather);
    exchanges_drop(&f->exchanges->max.req);
}

void dm_exchanges_free(struct dm_file *f)
{
    if (f->exchanges == NULL)
        return;
    dm_exchanges_stop(f);
    dm_list_del(&f->exchanges->link);
    free(f->exchanges->parts);
    free(f->exchanges);
}
