/*
 * A collective transfer is a sequence of stages that goes on until it has to wait for a request. A
 * blocking call waits for that; a hook of the progress engine makes nonblocking ones go on, one at a
 * time for each file, in the order of the calls, which is that of all processes. Their collective
 * operations are persistent ones, so that blocking ones on the same communicator do not meet them.
 */
#include "io/exchange.h"

#include <stdlib.h>

#include "channel/channel.h"
#include "io/agree.h"
#include "io/plan.h"
#include "io/request.h"
#include "io/ship.h"
#include "io/two_phase.h"
#include "mpi/coll/coll.h"

enum exchange_stage {
    EXCHANGE_REPORT, /* what each process accesses */
    EXCHANGE_DECIDE,
    EXCHANGE_LOCK,  /* the first process, in atomic mode; then all get memory */
    EXCHANGE_READY, /* all have it, or nobody begins */
    EXCHANGE_SHIP,  /* views */
    EXCHANGE_SHIPPED,
    EXCHANGE_ROUNDS,
    EXCHANGE_AGREE,
    EXCHANGE_COUNT, /* after an error: what has been written */
    EXCHANGE_COUNTED,
    EXCHANGE_OVER
};

struct dm_exchange {
    struct dm_list link;
    struct dm_file *f;
    struct dm_move *m;
    struct dm_io_req *request; /* NULL: the caller waits */
    bool blocks;               /* the collective operations do, and access to the file */
    enum exchange_stage stage;
    bool is_alone;          /* all move their data by themselves */
    bool is_atomic;         /* others are kept out by the file's lock, */
    bool is_locked;         /* which this process has taken for all */
    uint64_t ticket;        /* of that lock, */
    struct dm_req lock_req; /* and what is waited for until it is ours */
    int64_t good;
    struct dm_req *awaited;
    struct dm_plan plan;
    struct dm_rounds *rounds;
    struct dm_agreement agreement;
    struct dm_io_result result;
};

struct dm_exchanges {
    struct dm_file *f;
    struct dm_list link;  /* in the list of those whose queue is not empty */
    struct dm_list queue; /* of nonblocking ones */
    struct dm_plan_part *parts, mine;
    struct dm_req *gather; /* persistent, of `mine` into parts; NULL: not prepared */
    struct dm_io_max max;
};

static struct {
    struct dm_chan_hook hook;
    struct dm_list busy; /* files with a queue */
    bool is_running;     /* sending may make a pass of progress */
} exchange_all;

/* ---- stages ---- */

static void exchange_note(struct dm_exchange *x, int err)
{
    if (x->result.err == DM_OK && err != DM_OK)
        dm_io_result_set(&x->result, err);
}

static void exchange_to_agree(struct dm_exchange *x, enum exchange_stage stage)
{
    x->agreement = (struct dm_agreement){.comm = x->f->comm,
                                         .max = &x->f->exchanges->max,
                                         .blocks = x->blocks,
                                         .result = &x->result};
    x->stage = stage;
}

static struct dm_req *exchange_report(struct dm_exchange *x)
{
    struct dm_exchanges *e = x->f->exchanges;
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    size_t len = sizeof(e->mine);

    e->mine = dm_plan_part(x->f, x->m);
    x->plan.parts = e->parts;
    x->stage = EXCHANGE_DECIDE;
    if (!x->blocks) {
        exchange_note(x, e->gather->ops->start(e->gather));
        return e->gather;
    }
    exchange_note(x, dm_allgather(&e->mine, len, byte, e->parts, len, byte, x->f->comm));
    return NULL;
}

/* All that this process needs; nothing has been sent yet. */
static int exchange_alloc(struct dm_exchange *x)
{
    struct dm_plan *plan = &x->plan;
    int err = dm_plan_make(x->f, plan);

    if (err == DM_OK && !dm_ship_is_done(x->f))
        err = dm_ship_alloc(x->f, plan);
    if (err == DM_OK)
        err = dm_rounds_new(x->f, x->m, plan, x->blocks, &x->rounds);
    if (err == DM_OK && dm_ship_is_done(x->f))
        err = dm_rounds_begin(x->rounds);
    return err;
}

/*
 * Alone, each process would wait for the lock, perhaps by messages: so an atomic transfer that does not
 * wait is an exchange if there is anything to move.
 */
static bool exchange_must(const struct dm_exchange *x)
{
    return x->is_atomic && !x->blocks;
}

static void exchange_decide(struct dm_exchange *x)
{
    if (!x->blocks) {
        struct dm_req *gather = x->f->exchanges->gather;

        exchange_note(x, dm_io_reap(&gather));
    }
    x->stage = EXCHANGE_OVER;
    if (x->result.err != DM_OK)
        return;
    x->is_alone = !dm_plan_is_worth(x->f, x->m->is_write, exchange_must(x), &x->plan);
    if (!x->is_alone)
        x->stage = EXCHANGE_LOCK;
}

/*
 * In atomic mode the first process takes the lock for all. All have come, so whoever has it does not
 * wait for this exchange. What is waited for; NULL: it is taken, or not needed.
 */
static struct dm_req *exchange_lock(struct dm_exchange *x)
{
    struct dm_req *req = NULL;
    int err;

    if (!x->is_atomic || x->f->rank > 0 || x->is_locked)
        return NULL;
    if (x->blocks) {
        err = dm_file_lock(x->f);
        x->is_locked = err == DM_OK;
    } else {
        err = dm_file_lock_ask(x->f, &x->ticket);
        x->lock_req.n_pending = 1;
        req = err == DM_OK ? &x->lock_req : NULL;
    }
    exchange_note(x, err);
    return req;
}

/* All have memory, or the views. */
static enum exchange_stage exchange_after_ready(struct dm_exchange *x)
{
    bool is_shipped = dm_ship_is_done(x->f);

    if (x->stage == EXCHANGE_SHIPPED || (!is_shipped && x->result.err != DM_OK)) {
        is_shipped = x->result.err == DM_OK;
        dm_ship_end(x->f, is_shipped);
    }
    if (x->result.err != DM_OK)
        return EXCHANGE_OVER;
    return is_shipped ? EXCHANGE_ROUNDS : EXCHANGE_SHIP;
}

static struct dm_req *exchange_ship(struct dm_exchange *x)
{
    struct dm_req *req;

    exchange_note(x, dm_ship_step(x->f, &req));
    if (req != NULL)
        return req;
    if (x->result.err == DM_OK)
        exchange_note(x, dm_rounds_begin(x->rounds));
    exchange_to_agree(x, EXCHANGE_SHIPPED);
    return NULL;
}

static struct dm_req *exchange_rounds(struct dm_exchange *x)
{
    struct dm_req *req = dm_rounds_step(x->rounds);

    if (req == NULL) {
        x->result = *dm_rounds_result(x->rounds, &x->good);
        exchange_to_agree(x, EXCHANGE_AGREE);
    }
    return req;
}

/* The lowest offset that has not been written: the largest distance from the highest one. */
static struct dm_req *exchange_count(struct dm_exchange *x)
{
    int err;

    x->stage = EXCHANGE_COUNTED;
    x->awaited = dm_io_max_start(&x->f->exchanges->max, x->f->comm, (uint64_t)(INT64_MAX - x->good),
                                 x->blocks, &err);
    if (err != DM_OK)
        x->m->done = 0;
    return x->awaited;
}

static void exchange_counted(struct dm_exchange *x)
{
    struct dm_io_max *max = &x->f->exchanges->max;

    if (x->awaited != NULL && dm_io_reap(&x->awaited) != DM_OK)
        x->m->done = 0;
    dm_plan_count_good(x->f, x->m, INT64_MAX - (int64_t)max->all);
    x->stage = EXCHANGE_OVER;
}

/* Go on as far as it can: what it waits for; NULL: it is over. */
static struct dm_req *exchange_step(struct dm_exchange *x)
{
    struct dm_req *req = NULL;

    while (req == NULL && x->stage != EXCHANGE_OVER) {
        switch (x->stage) {
        case EXCHANGE_REPORT:
            req = exchange_report(x);
            break;
        case EXCHANGE_DECIDE:
            exchange_decide(x);
            break;
        case EXCHANGE_LOCK:
            req = exchange_lock(x);
            if (req != NULL)
                break;
            exchange_note(x, x->result.err == DM_OK ? exchange_alloc(x) : DM_OK);
            exchange_to_agree(x, EXCHANGE_READY);
            break;
        case EXCHANGE_READY:
        case EXCHANGE_SHIPPED:
            req = dm_agreement_step(&x->agreement);
            if (req == NULL)
                x->stage = exchange_after_ready(x);
            break;
        case EXCHANGE_SHIP:
            req = exchange_ship(x);
            break;
        case EXCHANGE_ROUNDS:
            req = exchange_rounds(x);
            break;
        case EXCHANGE_AGREE:
            req = dm_agreement_step(&x->agreement);
            if (req == NULL)
                x->stage =
                    x->result.err != DM_OK && x->m->is_write ? EXCHANGE_COUNT : EXCHANGE_OVER;
            break;
        case EXCHANGE_COUNT:
            req = exchange_count(x);
            break;
        default:
            exchange_counted(x);
            break;
        }
    }
    return req;
}

/* Is there something to wait for still? Nobody tells that it is our turn to have the lock: it is looked at. */
static bool exchange_is_waiting(struct dm_exchange *x)
{
    if (x->awaited == NULL || dm_req_is_done(x->awaited))
        return false;
    if (x->awaited != &x->lock_req)
        return true;
    exchange_note(x, dm_file_lock_look(x->f, x->ticket, &x->is_locked));
    if (x->is_locked || x->result.err != DM_OK)
        x->lock_req.n_pending = 0;
    return x->lock_req.n_pending > 0;
}

static void exchange_end(struct dm_exchange *x)
{
    if (x->is_locked)
        exchange_note(x, dm_file_unlock(x->f));
    dm_rounds_free(x->rounds);
    dm_plan_free(&x->plan);
}

/* ---- nonblocking ones ---- */

static void exchange_complete(struct dm_exchange *x)
{
    struct dm_io_req *r = x->request;

    exchange_end(x);
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

        if (exchange_is_waiting(x))
            break;
        x->awaited = exchange_step(x);
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

/* Who only reads changes nothing that others could see in part. */
static bool exchange_is_atomic(const struct dm_file *f)
{
    return f->is_atomic && (f->amode & MPI_MODE_RDONLY) == 0;
}

/* There is no memory for a request: with nothing to move, so that the others do not wait for us. */
static void exchange_take_part(struct dm_file *f, const struct dm_move *m)
{
    struct dm_move none = *m;
    struct dm_exchange x = {.f = f, .m = &none, .is_atomic = exchange_is_atomic(f)};
    uint32_t n_idle = 0;

    none.len = 0;
    dm_exchanges_drain(f);
    while ((x.awaited = exchange_step(&x)) != NULL)
        while (exchange_is_waiting(&x))
            dm_wait_job_pass(dm_world.chan, &n_idle);
    exchange_end(&x);
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
    x->is_atomic = exchange_is_atomic(f);
    if (err == DM_OK) {
        err = dm_io_req_stage(x->request, exchange_must(x));
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

/* ---- blocking ones ---- */

int dm_exchange_run(struct dm_file *f, struct dm_move *m, bool *is_done_p)
{
    struct dm_exchange x = {.f = f, .m = m, .blocks = true, .is_atomic = exchange_is_atomic(f)};
    struct dm_req *req;

    dm_exchanges_drain(f);
    while ((req = exchange_step(&x)) != NULL)
        (void)dm_req_wait(req);
    exchange_end(&x);
    *is_done_p = !x.is_alone;
    return dm_io_result_get(&x.result);
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

int dm_exchanges_prepare(struct dm_file *f)
{
    struct dm_exchanges *e = f->exchanges;
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    size_t len = sizeof(e->mine);
    int err;

    if (e->gather != NULL || (!dm_plan_is_hinted(f, false) && !dm_plan_is_hinted(f, true)))
        return DM_OK;
    err = dm_coll_allgather(&e->mine, len, byte, e->parts, len, byte, f->comm,
                            dm_coll_persistent(NULL, &e->gather));
    if (err == DM_OK)
        err = dm_io_max_init(&e->max, f->comm);
    err = dm_file_agree(f, err);
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
