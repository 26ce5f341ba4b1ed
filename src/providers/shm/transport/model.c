/*
 * The modelled network. See model.h.
 */
#include "providers/shm/transport/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/shm/dto.h"

#define PAGE        4096
#define TICK_NS     1000000   /* between looks of the progress thread, while there is traffic */
#define IDLE_NS     100000000 /* without traffic until it sleeps for good */
#define TIME_MAX_NS UINT64_C(10000000000)

/* ---- the keys ---- */

/* "2us", "300ns", "1.5ms". */
static bool model_read_time(const char *params, const char *key, uint64_t *ns_p, bool *is_on)
{
    char text[32];
    double value;
    char *end;

    if (!dm_prov_param(params, key, text, sizeof(text)))
        return true;
    value = strtod(text, &end);
    if (strcmp(end, "us") == 0)
        value *= 1e3;
    else if (strcmp(end, "ms") == 0)
        value *= 1e6;
    else if (strcmp(end, "ns") != 0)
        return false;
    if (end == text || !(value >= 0 && value <= (double)TIME_MAX_NS))
        return false;
    *ns_p = (uint64_t)value;
    *is_on = true;
    return true;
}

bool dm_shm_model_read(struct dm_shm_model *model, const char *params)
{
    char text[32];
    uint64_t bandwidth;

    atomic_store(&model->next, DM_FUTEX_FOREVER);
    if (!model_read_time(params, "latency", &model->latency, &model->is_on) ||
        !model_read_time(params, "request", &model->request, &model->is_on) ||
        !model_read_time(params, "register", &model->register_once, &model->is_on) ||
        !model_read_time(params, "register_page", &model->register_page, &model->is_on))
        return false;
    if (!dm_prov_param(params, "bandwidth", text, sizeof(text)))
        return true;
    bandwidth = dm_prov_param_size(params, "bandwidth", 0);
    if (bandwidth == 0)
        return false;
    model->byte = 1e9 / (double)bandwidth;
    model->is_on = true;
    return true;
}

/* ---- time ---- */

static uint64_t model_link_use(uint64_t *free_p, uint64_t from, uint64_t len)
{
    const uint64_t start = *free_p > from ? *free_p : from;

    return *free_p = start + len;
}

uint64_t dm_shm_model_due(struct dm_shm_ia *ia, const struct dm_shm_op *op)
{
    struct dm_shm_model *model = &ia->model;
    uint64_t now = dm_futex_now();
    uint64_t len = 0;
    uint64_t data;

    if (op->dto.kind == DM_OP_BIND)
        return now; /* nothing of it travels */
    for (uint32_t i = 0; i < op->dto.n_seg; i++)
        len += op->dto.seg[i].segment_length;
    data = (uint64_t)((double)len * model->byte);
    model->last = now;
    if (op->dto.kind == DM_OP_READ || op->dto.kind == DM_OP_READ_TO_RMR ||
        op->dto.kind == DM_OP_FETCH_ADD || op->dto.kind == DM_OP_CMP_SWAP) {
        uint64_t asked = model_link_use(&model->out_free, now, model->request) + model->latency;

        return model_link_use(&model->in_free, asked, data) + model->latency;
    }
    return model_link_use(&model->out_free, now, model->request + data) + model->latency;
}

void dm_shm_model_register(const struct dm_shm_model *model, uint64_t len)
{
    uint64_t until;

    if (!model->is_on)
        return;
    until = dm_futex_now() + model->register_once + (len + PAGE - 1) / PAGE * model->register_page;
    while (dm_futex_now() < until)
        continue;
}

/* ---- carrying out ---- */

void dm_shm_model_expect(struct dm_shm_ia *ia, uint64_t due)
{
    struct dm_shm_model *model = &ia->model;

    if (due < atomic_load(&model->next))
        atomic_store(&model->next, due);
    if (!model->is_ticking) {
        model->is_ticking = true;
        dm_shm_kick(&ia->pia);
    }
}

/* Everything that is due. ia->lock is held. */
static void model_run(struct dm_shm_ia *ia)
{
    struct dm_list *it;
    struct dm_list *after;

    atomic_store(&ia->model.next, DM_FUTEX_FOREVER); /* dm_shm_dto_push() sets when to come back */
    for (it = ia->pia.objs[DAT_HANDLE_TYPE_EP].next; it != &ia->pia.objs[DAT_HANDLE_TYPE_EP];
         it = after) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        after = it->next;
        if (!dm_list_is_empty(&ep->queue))
            dm_shm_dto_push(ep);
    }
}

uint64_t dm_shm_model_tick(struct dm_shm_ia *ia)
{
    struct dm_shm_model *model = &ia->model;
    uint64_t now;

    if (!model->is_ticking)
        return DM_FUTEX_FOREVER;
    now = dm_futex_now();
    if (atomic_load(&model->next) <= now)
        model_run(ia);
    model->is_ticking =
        atomic_load(&model->next) != DM_FUTEX_FOREVER || now < model->last + IDLE_NS;
    return model->is_ticking ? now + TICK_NS : DM_FUTEX_FOREVER;
}

void dm_shm_model_poll(struct dm_pia *pia)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    if (atomic_load_explicit(&ia->model.next, memory_order_relaxed) > dm_futex_now() ||
        pthread_mutex_trylock(&pia->lock) != 0)
        return;
    model_run(ia);
    pthread_mutex_unlock(&pia->lock);
}

int dm_shm_model_sleep(struct dm_pia *pia, struct dm_evd_ring *ring, uint32_t value,
                       uint64_t deadline)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    int err;

    for (;;) {
        uint64_t next = atomic_load(&ia->model.next);

        if (next >= deadline)
            return dm_futex_wait(&ring->word, value, deadline);
        err = dm_futex_wait(&ring->word, value, next);
        dm_shm_model_poll(pia);
        if (err != ETIMEDOUT || atomic_load(&ring->word) != value)
            return err == ETIMEDOUT ? 0 : err;
    }
}
