/*
 * A collective transfer is a sequence of stages that goes on until it has to wait for a request. A
 * blocking call waits for that; exchange_queue.c makes nonblocking ones go on. Their collective
 * operations are persistent ones, so that blocking ones on the same communicator do not meet them.
 */
#include "io/exchange_stages.h"

#include "channel/channel.h"
#include "io/ship.h"
#include "mpi/coll/coll.h"

static void exchange_note(struct dm_exchange *x, int err)
{
    if (x->result.err == DM_OK && err != DM_OK)
        dm_io_result_set(&x->result, err);
}

static void exchange_to_agree(struct dm_exchange *x, enum dm_exchange_stage stage)
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
        err = dm_file_write_out(x->f);
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
    if (x->is_alone)
        return;
    x->stage = EXCHANGE_ALLOC;
    if (x->plan.has_writes)
        dm_file_others_wrote(x->f);
}

/*
 * In atomic mode the first process takes the lock for all. All have come, so whoever has it does not
 * wait for this exchange. What is waited for; NULL: it is taken, or not needed.
 */
static struct dm_req *exchange_lock(struct dm_exchange *x)
{
    struct dm_req *req = NULL;
    int err;

    if (!x->is_atomic || x->f->rank > 0 || x->is_locked || x->result.err != DM_OK)
        return NULL;
    if (x->blocks) {
        err = dm_file_lock(x->f, &x->turn);
        x->is_locked = err == DM_OK;
    } else {
        err = dm_file_lock_ask(x->f, &x->turn);
        x->lock_req.n_pending = 1;
        req = err == DM_OK ? &x->lock_req : NULL;
    }
    exchange_note(x, err);
    return req;
}

/* All have moved their data, or nobody will. */
static void exchange_unlock(struct dm_exchange *x)
{
    if (x->is_locked)
        exchange_note(x, dm_file_unlock(x->f, &x->turn));
    x->is_locked = false;
}

/* All have memory, or the views. */
static enum dm_exchange_stage exchange_after_ready(struct dm_exchange *x)
{
    bool is_shipped = dm_ship_is_done(x->f);

    if (x->stage == EXCHANGE_SHIPPED || (!is_shipped && x->result.err != DM_OK)) {
        is_shipped = x->result.err == DM_OK;
        dm_ship_end(x->f, is_shipped);
    }
    if (x->result.err != DM_OK)
        return EXCHANGE_OVER;
    if (!is_shipped)
        return EXCHANGE_SHIP;
    if (!x->m->is_write)
        exchange_note(x, dm_file_see(x->f));
    return EXCHANGE_ROUNDS;
}

static struct dm_req *exchange_ship(struct dm_exchange *x)
{
    struct dm_req *req;

    exchange_note(x, dm_ship_step(x->f, &req));
    if (req != NULL)
        return req;
    if (x->result.err == DM_OK)
        exchange_note(x, dm_rounds_begin(x->rounds));
    x->stage = EXCHANGE_LOCK;
    return NULL;
}

static struct dm_req *exchange_rounds(struct dm_exchange *x)
{
    struct dm_req *req = dm_rounds_step(x->rounds);
    const struct dm_io_result *came;

    if (req != NULL)
        return req;
    came = dm_rounds_result(x->rounds, &x->good);
    if (x->result.err == DM_OK)
        x->result = *came;
    if (x->is_atomic && x->m->is_write)
        exchange_note(x, dm_file_show(x->f));
    if (x->m->is_write)
        dm_file_others_wrote(x->f);
    exchange_to_agree(x, EXCHANGE_AGREE);
    return NULL;
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

/* Before the rounds. */
static struct dm_req *exchange_prepare(struct dm_exchange *x)
{
    struct dm_req *req = NULL;

    switch (x->stage) {
    case EXCHANGE_REPORT:
        return exchange_report(x);
    case EXCHANGE_DECIDE:
        exchange_decide(x);
        break;
    case EXCHANGE_ALLOC:
        exchange_note(x, exchange_alloc(x));
        x->stage = EXCHANGE_LOCK;
        if (!dm_ship_is_done(x->f))
            exchange_to_agree(x, EXCHANGE_READY);
        break;
    case EXCHANGE_SHIP:
        return exchange_ship(x);
    case EXCHANGE_LOCK:
        req = exchange_lock(x);
        if (req == NULL)
            exchange_to_agree(x, dm_ship_is_done(x->f) ? EXCHANGE_READY : EXCHANGE_SHIPPED);
        break;
    default:
        req = dm_agreement_step(&x->agreement);
        if (req == NULL)
            x->stage = exchange_after_ready(x);
        break;
    }
    return req;
}

/* All know whether all went well, so that all data are where they should be, or nowhere any more. */
static struct dm_req *exchange_agree(struct dm_exchange *x)
{
    struct dm_req *req = dm_agreement_step(&x->agreement);

    if (req != NULL)
        return req;
    x->stage = x->result.err != DM_OK && x->m->is_write ? EXCHANGE_COUNT : EXCHANGE_OVER;
    exchange_unlock(x);
    return NULL;
}

struct dm_req *dm_exchange_step(struct dm_exchange *x)
{
    struct dm_req *req = NULL;

    while (req == NULL && x->stage != EXCHANGE_OVER) {
        switch (x->stage) {
        case EXCHANGE_ROUNDS:
            req = exchange_rounds(x);
            break;
        case EXCHANGE_AGREE:
            req = exchange_agree(x);
            break;
        case EXCHANGE_COUNT:
            req = exchange_count(x);
            break;
        case EXCHANGE_COUNTED:
            exchange_counted(x);
            break;
        default:
            req = exchange_prepare(x);
            break;
        }
    }
    return req;
}

bool dm_exchange_is_waiting(struct dm_exchange *x)
{
    if (x->awaited == NULL || dm_req_is_done(x->awaited))
        return false;
    if (x->awaited != &x->lock_req)
        return true;
    exchange_note(x, dm_file_lock_look(x->f, &x->turn, &x->is_locked));
    if (x->is_locked || x->result.err != DM_OK)
        x->lock_req.n_pending = 0;
    return x->lock_req.n_pending > 0;
}

void dm_exchange_end(struct dm_exchange *x)
{
    exchange_unlock(x);
    dm_rounds_free(x->rounds);
    dm_plan_free(&x->plan);
}

/* ---- blocking ones ---- */

/* A message, or (without operations) what a thread of the library ends. */
static void exchange_wait(struct dm_req *req)
{
    uint32_t n_idle = 0;

    if (req->ops != NULL)
        (void)dm_req_wait(req);
    while (!dm_req_is_done(req))
        dm_wait_job_pass(dm_world.chan, &n_idle);
}

int dm_exchange_run(struct dm_file *f, struct dm_move *m, bool *is_done_p)
{
    struct dm_exchange x = {.f = f, .m = m, .blocks = true, .is_atomic = dm_exchange_is_atomic(f)};
    struct dm_req *req;

    dm_exchanges_drain(f);
    while ((req = dm_exchange_step(&x)) != NULL)
        exchange_wait(req);
    dm_exchange_end(&x);
    *is_done_p = !x.is_alone;
    return dm_io_result_get(&x.result);
}
