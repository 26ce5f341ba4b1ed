/*
 * The modelled network: letting virtual time pass. See model.h.
 */
#include "providers/shm/transport/model.h"

#include <errno.h>
#include <time.h>

#include "providers/shm/conn.h"
#include "providers/shm/dto.h"
#include "providers/shm/transport/cost.h"
#include "providers/shm/transport/peer.h"
#include "util/clock.h"
#include "util/futex.h"

#define PAGE      4096
#define PIECE     16384 /* bytes of a copy between looks at what others do */
#define POLLS     64    /* that cost nothing before a poll waits for something to arrive */
#define PAUSE_MIN 1000  /* virtual ns: who looks for something else meanwhile gets to it */
#define PAUSE_MAX 1000000
#define RETRY_NS  10000 /* between attempts to send a message that has no receive */
#define LOOKS     50 /* at the clock, in a row: they take PAUSE_MIN together, as on real machines */
#define LAST_RUNS 100   /* in the end, for what was posted last */
#define REAL_NS   20000 /* real time between looks for what the peer's thread does */

/* ---- requests ---- */

static struct dm_world_host *model_peer(struct dm_shm_ep *ep)
{
    struct dm_shm_model *model = &dm_shm_ia_of(ep)->model;
    uint32_t number = ep->peer != NULL ? atomic_load(&ep->peer->hdr->number) : 0;

    return number > 0 && number <= model->world->n ? &model->world->host[number - 1] : NULL;
}

uint64_t dm_shm_model_due(struct dm_shm_ep *ep, const struct dm_shm_op *op)
{
    struct dm_shm_model *model = &dm_shm_ia_of(ep)->model;
    struct dm_world_host *host = dm_shm_model_host(model);
    struct dm_world_host *peer = model_peer(ep);
    uint64_t len = 0;

    model->n_polls = 0;
    atomic_store_explicit(&model->n_looks, 0, memory_order_relaxed);
    if (op->dto.kind == DM_OP_BIND || peer == NULL)
        return host->clock; /* nothing of it travels, or to a process of another job */
    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        len += op->dto.seg[i].segment_length;
    if (op->dto.kind == DM_OP_READ || op->dto.kind == DM_OP_READ_TO_RMR ||
        op->dto.kind == DM_OP_FETCH_ADD || op->dto.kind == DM_OP_CMP_SWAP)
        return dm_cost_read(&model->figures, host, peer, host->clock, len);
    return dm_cost_write(&model->figures, host, peer, host->clock, len);
}

void dm_shm_model_expect(struct dm_shm_ia *ia, uint64_t due)
{
    struct dm_world_host *host = dm_shm_model_host(&ia->model);

    if (due < host->due)
        host->due = due;
}

uint64_t dm_shm_model_retry(struct dm_shm_ia *ia)
{
    return ia->model.now + RETRY_NS;
}

void dm_shm_model_arrived(struct dm_shm_ep *ep)
{
    struct dm_shm_model *model = &dm_shm_ia_of(ep)->model;
    struct dm_world_host *peer = model_peer(ep);

    dm_world_wake(dm_shm_model_host(model), model->now);
    if (peer != NULL)
        dm_world_wake(peer, model->now);
}

/* Look at all queues; false: a target's thread has not done its part yet. */
static bool model_push_all(struct dm_shm_ia *ia)
{
    bool is_busy = false;

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        if (!dm_list_is_empty(&ep->queue))
            dm_shm_dto_push(ep);
        is_busy = is_busy || ep->stage.is_busy;
    }
    return !is_busy;
}

/* Carry out what is due; some of it targets' threads do, in real time. model->turn is held. */
static void model_run(struct dm_shm_ia *ia)
{
    const struct timespec moment = {0, REAL_NS};
    struct dm_world_host *host = dm_shm_model_host(&ia->model);
    bool is_over;

    if (host->due > ia->model.now)
        ia->model.now = host->due;
    do {
        pthread_mutex_lock(&ia->pia.lock);
        host->due = DM_WORLD_NEVER; /* dm_shm_dto_push() says what comes next */
        is_over = model_push_all(ia);
        pthread_mutex_unlock(&ia->pia.lock);
        if (!is_over)
            nanosleep(&moment, NULL);
    } while (!is_over);
}

/* ---- letting time pass; model->turn is held ---- */

/* Until then; is_idle: or until something arrives. */
static void model_wait(struct dm_shm_ia *ia, uint64_t until, bool is_idle)
{
    struct dm_shm_model *model = &ia->model;
    struct dm_world_host *host = dm_shm_model_host(model);

    host->is_idle = is_idle;
    host->resume = until;
    for (;;) {
        dm_world_next(model->world, model->me);
        if (host->due > host->resume)
            break;
        model_run(ia);
    }
    host->is_idle = false;
    if (host->resume > host->clock)
        atomic_store(&host->clock, host->resume);
}

/* Begin to let time pass: nobody else of this process does, and it is its turn. */
static struct dm_world_host *model_begin(struct dm_shm_model *model)
{
    pthread_mutex_lock(&model->turn);
    dm_world_enter(model->world, model->me);
    return dm_shm_model_host(model);
}

void dm_shm_model_enter(struct dm_shm_ia *ia)
{
    if (!dm_shm_model_runs(&ia->model))
        return;
    (void)model_begin(&ia->model);
    pthread_mutex_unlock(&ia->model.turn);
}

static void model_seen(struct dm_shm_model *model)
{
    dm_shm_model_host(model)->is_woken = false;
    atomic_store_explicit(&model->n_looks, 0, memory_order_relaxed);
    model->n_polls = 0;
    model->pause = PAUSE_MIN;
}

/* Nothing was found: wait until there is something, or for a while. */
static void model_poll_wait(struct dm_shm_ia *ia)
{
    struct dm_shm_model *model = &ia->model;
    struct dm_world_host *host = dm_shm_model_host(model);

    if (host->is_woken)
        model_seen(model);
    if (++model->n_polls <= POLLS) {
        if (host->due <= host->clock)
            model_wait(ia, host->clock, false);
        return;
    }
    model_wait(ia, host->clock + model->pause, true);
    model->n_polls = 0;
    if (!host->is_woken && model->pause < PAUSE_MAX)
        model->pause *= 2;
}

void dm_shm_model_poll(struct dm_pia *pia)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    if (!dm_shm_model_runs(&ia->model) || pthread_mutex_trylock(&ia->model.turn) != 0)
        return;
    dm_world_enter(ia->model.world, ia->model.me);
    model_poll_wait(ia);
    pthread_mutex_unlock(&ia->model.turn);
}

/* Connections are made in real time: only the thread that has begun lets time pass meanwhile. */
static bool model_is_virtual(const struct dm_shm_model *model, const struct dm_evd *evd)
{
    return dm_shm_model_runs(model) && ((evd->flags & DAT_EVD_DTO_FLAG) != 0 ||
                                        pthread_equal(model->owner, pthread_self()) != 0);
}

uint64_t dm_shm_model_deadline(struct dm_pia *pia, struct dm_evd *evd, DAT_TIMEOUT timeout)
{
    struct dm_shm_model *model = &((struct dm_shm_ia *)pia)->model;

    if (!model_is_virtual(model, evd))
        return dm_futex_deadline(timeout);
    if (timeout == DAT_TIMEOUT_INFINITE)
        return DM_WORLD_NEVER;
    return dm_shm_model_host(model)->clock + (uint64_t)timeout * 1000;
}

int dm_shm_model_sleep(struct dm_pia *pia, struct dm_evd_ring *ring, uint32_t value,
                       uint64_t deadline)
{
    const struct timespec moment = {0, REAL_NS};
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    const struct dm_evd *evd = (const struct dm_evd *)(uintptr_t)ring->handle;
    struct dm_world_host *host;
    bool is_over = false;

    if (!model_is_virtual(&ia->model, evd))
        return dm_futex_wait(&ring->word, value, deadline);
    host = model_begin(&ia->model);
    while (atomic_load(&ring->word) == value && !is_over) {
        uint64_t until = host->clock + PAUSE_MAX;

        model_wait(ia, until < deadline ? until : deadline, true);
        is_over = host->clock >= deadline;
        if ((evd->flags & DAT_EVD_DTO_FLAG) == 0)
            nanosleep(&moment, NULL);
    }
    model_seen(&ia->model);
    is_over = is_over && atomic_load(&ring->word) == value;
    pthread_mutex_unlock(&ia->model.turn);
    return is_over ? ETIMEDOUT : 0;
}

static uint64_t model_pages(uint64_t len)
{
    return (len + PAGE - 1) / PAGE;
}

void dm_shm_model_lock(struct dm_shm_ia *ia, uint64_t len)
{
    const struct dm_shm_figures *f = &ia->model.figures;
    struct dm_world_host *host;

    if (!dm_shm_model_runs(&ia->model))
        return;
    host = model_begin(&ia->model);
    model_wait(ia, host->clock + f->lock + model_pages(len) * f->lock_page, false);
    pthread_mutex_unlock(&ia->model.turn);
}

void dm_shm_model_unlock(struct dm_shm_ia *ia, uint64_t len)
{
    const struct dm_shm_figures *f = &ia->model.figures;

    if (dm_shm_model_runs(&ia->model) && atomic_load(&ia->model.world->turn) == ia->model.me)
        atomic_fetch_add(&dm_shm_model_host(&ia->model)->clock,
                         f->unlock + model_pages(len) * f->unlock_page);
}

/* ---- what the consumer gets; see util/clock.h ---- */

static bool model_clock_begin(void *arg, uint64_t job, int me, int n)
{
    struct dm_shm_ia *ia = arg;
    struct dm_shm_model *model = &ia->model;
    struct dm_world *world;

    if (dm_shm_model_runs(model) || n < 1 || me < 0)
        return false;
    atomic_store(&ia->seg.hdr->number, (uint32_t)me + 1);
    if (!dm_world_join(job, (uint32_t)me, (uint32_t)n, &world)) {
        atomic_store(&ia->seg.hdr->number, 0);
        return false;
    }
    pthread_mutex_lock(&ia->pia.lock);
    model->me = (uint32_t)me;
    model->owner = pthread_self();
    model->now = 0;
    model->world = world;
    model_seen(model);
    pthread_mutex_unlock(&ia->pia.lock);
    return true;
}

/* What was posted arrives in time; messages that nobody receives do not hold us up. */
static void model_clock_end(void *arg)
{
    struct dm_shm_ia *ia = arg;
    struct dm_shm_model *model = &ia->model;
    struct dm_world *world = model->world;
    struct dm_world_host *host;

    if (world == NULL)
        return;
    host = model_begin(model);
    for (int i = 0; i < LAST_RUNS && host->due != DM_WORLD_NEVER; i++)
        model_wait(ia, host->due, false);
    pthread_mutex_lock(&ia->pia.lock);
    model->world = NULL;
    atomic_store(&ia->seg.hdr->number, 0);
    (void)model_push_all(ia);
    pthread_mutex_unlock(&ia->pia.lock);
    dm_world_leave(world, model->me);
    pthread_mutex_unlock(&model->turn);
}

static uint64_t model_clock_now(void *arg)
{
    struct dm_shm_ia *ia = arg;
    struct dm_shm_model *model = &ia->model;

    /* who does nothing but look at the clock waits for time to pass */
    if (atomic_fetch_add_explicit(&model->n_looks, 1, memory_order_relaxed) >= LOOKS &&
        pthread_mutex_trylock(&model->turn) == 0) {
        dm_world_enter(model->world, model->me);
        model_wait(ia, dm_shm_model_host(model)->clock + PAUSE_MIN, false);
        atomic_store_explicit(&model->n_looks, 0, memory_order_relaxed);
        pthread_mutex_unlock(&model->turn);
    }
    return atomic_load(&dm_shm_model_host(model)->clock);
}

static void model_clock_copied(void *arg, size_t len)
{
    struct dm_shm_ia *ia = arg;
    struct dm_shm_model *model = &ia->model;
    struct dm_world_host *host;

    if (model->figures.copy <= 0)
        return;
    host = model_begin(model);
    while (len > 0) {
        size_t part = len < PIECE ? len : PIECE;

        model_wait(ia, dm_cost_copy(&model->figures, host, host->clock, part), false);
        len -= part;
    }
    pthread_mutex_unlock(&model->turn);
}

bool dm_shm_model_clock(struct dm_pia *pia, struct dm_clock_source *source)
{
    if (!((struct dm_shm_ia *)pia)->model.is_on)
        return false;
    *source = (struct dm_clock_source){.arg = pia,
                                       .begin = model_clock_begin,
                                       .end = model_clock_end,
                                       .now = model_clock_now,
                                       .copied = model_clock_copied};
    return true;
}

/* ---- with the instance ---- */

static DAT_NAMED_ATTR model_attrs[] = {
    {"DAT_EXTENSION_INTERFACE", "TRUE"},
    {DAT_IB_ATTR_IMMED_DATA, "TRUE"},
    {DAT_IB_ATTR_FETCH_AND_ADD, "TRUE"},
    {DAT_IB_ATTR_CMP_AND_SWAP, "TRUE"},
    {"DAT_IB_RDMA_READ", "TRUE"},
    {"reach", "network"}, /* each process is on a host of its own */
    {"clock", "virtual"},
    {"last_byte_last", "yes"},
    {"evd_resize", "yes"},
    {"evd_post_se", "yes"},
    {"threads", "objects"},
    {"progress", "auto"},
};

bool dm_shm_model_open(struct dm_shm_ia *ia, const char *params)
{
    struct dm_shm_model *model = &ia->model;

    pthread_mutex_init(&model->turn, NULL);
    if (!dm_shm_preset_read(ia->pia.obj.provider->device_name, params, &model->figures,
                            &model->is_on))
        return false;
    ia->pia.is_driven = model->is_on;
    if (model->is_on) {
        ia->pia.attrs = model_attrs;
        ia->pia.n_attrs = (int)(sizeof(model_attrs) / sizeof(model_attrs[0]));
    }
    return true;
}

void dm_shm_model_close(struct dm_shm_ia *ia)
{
    model_clock_end(ia);
    pthread_mutex_destroy(&ia->model.turn);
}
