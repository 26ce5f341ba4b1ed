/*
 * The two phases. Both sides know what goes between a process and an aggregator in each round, so
 * nothing but data is sent, in one message. Rounds without data for a process cost it nothing.
 *
 * Everybody goes through its rounds in ascending order and starts its own messages of a round before
 * it waits for others': so the lowest round that is under way can always end.
 *
 * A process goes on until it has to wait, for one request at a time, and says for which.
 */
#include <stdlib.h>

#include "io/agree.h"
#include "io/rounds.h"
#include "mpi/pt2pt/pt2pt.h"

void dm_rounds_note(struct dm_rounds *r, int err)
{
    if (r->result.err != DM_OK || err == DM_OK)
        return;
    dm_io_result_set(&r->result, err);
    r->windows.is_stopped = true;
}

void dm_rounds_fail(struct dm_rounds *r, int err)
{
    dm_rounds_note(r, err);
    if (err != DM_OK)
        r->good = 0;
}

/* ---- cursors ---- */

static int64_t domain_low(const struct dm_plan *plan, int agg)
{
    return plan->low + agg * plan->domain;
}

struct dm_cursor dm_cursor_make(const struct dm_plan *plan, const struct dm_view *view, int rank,
                                int agg)
{
    const struct dm_plan_part *part = &plan->parts[rank];
    struct dm_cursor c = {.view = view, .low = domain_low(plan, agg)};

    if (part->len == 0)
        return c;
    c.pos = dm_view_pos(view, c.low);
    c.end = dm_view_pos(view, c.low + plan->domain);
    if (c.pos < part->pos)
        c.pos = part->pos;
    if (c.end > part->pos + part->len)
        c.end = part->pos + part->len;
    return c;
}

int64_t dm_cursor_round(const struct dm_plan *plan, const struct dm_cursor *c)
{
    if (c->pos >= c->end)
        return DM_ROUND_NONE;
    return (dm_view_offset(c->view, c->pos) - c->low) / plan->window;
}

uint64_t dm_cursor_len(const struct dm_plan *plan, const struct dm_cursor *c, int64_t round)
{
    uint64_t last;

    if (dm_cursor_round(plan, c) != round)
        return 0;
    last = dm_view_pos(c->view, c->low + (round + 1) * plan->window);
    return (last < c->end ? last : c->end) - c->pos;
}

uint64_t dm_cursor_valid(const struct dm_cursor *c, uint64_t len, int64_t end)
{
    uint64_t last = dm_view_pos(c->view, end);

    if (last >= c->pos + len)
        return len;
    return last > c->pos ? last - c->pos : 0;
}

static int64_t rounds_next(const struct dm_rounds *r)
{
    int64_t next = DM_ROUND_NONE, round;

    for (int a = 0; a < r->plan->n_agg; a++) {
        round = dm_cursor_round(r->plan, &r->out[a]);
        next = round < next ? round : next;
    }
    for (int i = 0; r->me >= 0 && i < r->f->size; i++) {
        round = dm_cursor_round(r->plan, &r->in[i]);
        next = round < next ? round : next;
    }
    round = dm_bundles_next(r);
    return round < next ? round : next;
}

/* ---- begin and end ---- */

void dm_rounds_free(struct dm_rounds *r)
{
    if (r == NULL)
        return;
    free(r->out);
    free(r->reqs);
    free(r->lens);
    free(r->at);
    free(r->pack);
    dm_windows_free(r);
    dm_bundles_free(r);
    free(r);
}

/* Room for packed data: of one round at most. */
static uint64_t rounds_pack_len(const struct dm_rounds *r)
{
    uint64_t most = (uint64_t)r->plan->window * (uint64_t)r->plan->n_agg;

    return r->m->len < most ? r->m->len : most;
}

static bool rounds_alloc(struct dm_rounds *r)
{
    size_t n_agg = (size_t)r->plan->n_agg;

    r->out = calloc(n_agg, sizeof(*r->out));
    r->reqs = calloc(n_agg, sizeof(struct dm_req *));
    r->lens = calloc(n_agg, sizeof(*r->lens));
    r->at = calloc(n_agg, sizeof(*r->at));
    r->pack = malloc(r->m->type->is_contig ? 1 : rounds_pack_len(r) + 1);
    return r->out != NULL && r->reqs != NULL && r->lens != NULL && r->at != NULL &&
           r->pack != NULL && (r->me < 0 || dm_windows_alloc(r)) && dm_bundles_alloc(r);
}

int dm_rounds_new(struct dm_file *f, struct dm_move *m, const struct dm_plan *plan, bool blocks,
                  struct dm_rounds **r_p)
{
    struct dm_rounds *r = calloc(1, sizeof(*r));

    *r_p = r;
    if (r != NULL) {
        r->f = f;
        r->m = m;
        r->plan = plan;
        r->blocks = blocks;
        r->me = -1;
        r->good = INT64_MAX;
        for (int a = 0; a < plan->n_agg; a++)
            if (plan->aggs[a] == f->rank)
                r->me = a;
    }
    if (r == NULL || !rounds_alloc(r))
        return DM_FAIL(DM_ENOMEM, "buffers of a collective transfer, %lld bytes each",
                       (long long)plan->window);
    return DM_OK;
}

int dm_rounds_begin(struct dm_rounds *r)
{
    for (int a = 0; a < r->plan->n_agg; a++)
        r->out[a] = dm_cursor_make(r->plan, r->f->view, r->f->rank, a);
    for (int i = 0; r->me >= 0 && i < r->f->size; i++)
        r->in[i] = dm_cursor_make(r->plan, dm_ship_view(r->f, r->order[i]), r->order[i], r->me);
    r->m->done = 0;
    return dm_bundles_begin(r);
}

const struct dm_io_result *dm_rounds_result(const struct dm_rounds *r, int64_t *good_p)
{
    *good_p = r->good;
    return &r->result;
}

/* ---- this process' data ---- */

/* Where packed byte `at` of memory is, or of `pack`, in which the data of this round begin at `first`. */
static char *rounds_mem(const struct dm_rounds *r, uint64_t at, uint64_t packed)
{
    if (r->m->type->is_contig)
        return (char *)((uintptr_t)r->m->buf + (uintptr_t)r->m->type->true_lb + at);
    return r->pack + packed;
}

/* Start the message with an aggregator, or with who gathers for it. */
static int own_start_one(struct dm_rounds *r, int a, char *mem, uint64_t len)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    int peer = r->plan->aggs[a], tag = DM_ROUND_TAG;

    if (dm_plan_is_gathered(r->plan, r->f->rank, a)) {
        peer = r->plan->nodes->ranks[0];
        tag = DM_BUNDLE_TAG;
    }
    return r->m->is_write ? dm_isend(mem, len, byte, peer, tag, r->f->comm, &r->reqs[a])
                          : dm_irecv(mem, len, byte, peer, tag, r->f->comm, &r->reqs[a]);
}

/* Start what goes between this process' memory and the aggregators. */
static void own_start(struct dm_rounds *r)
{
    struct dm_move *m = r->m;
    uint64_t packed = 0;

    for (int a = 0; a < r->plan->n_agg; a++) {
        struct dm_cursor *c = &r->out[a];
        uint64_t len = dm_cursor_len(r->plan, c, r->round);
        char *mem;

        r->lens[a] = len;
        if (len == 0)
            continue;
        r->at[a] = c->pos - m->pos;
        c->pos += len;
        mem = rounds_mem(r, r->at[a], packed);
        packed += len;
        if (m->is_write && !m->type->is_contig)
            dm_type_pack(m->buf, m->count, m->type, r->at[a], mem, len);
        dm_rounds_fail(r, own_start_one(r, a, mem, len));
    }
    r->next_own = 0;
    r->packed = 0;
}

/* A message is over; of a read, less than asked for is the end of the file. */
static void own_end_one(struct dm_rounds *r, int a)
{
    struct dm_move *m = r->m;
    uint64_t got = m->is_write ? r->lens[a] : dm_status_bytes(&r->reqs[a]->status);
    int err = dm_io_reap(&r->reqs[a]);

    dm_rounds_fail(r, err);
    if (err != DM_OK)
        return;
    if (!m->is_write && !m->type->is_contig)
        dm_type_unpack(m->buf, m->count, m->type, r->at[a], r->pack + r->packed, got);
    m->done += got;
}

/* What is waited for; NULL: all have gone or come. */
static struct dm_req *own_end(struct dm_rounds *r)
{
    for (; r->next_own < r->plan->n_agg; r->next_own++) {
        int a = r->next_own;

        if (r->reqs[a] != NULL) {
            if (!dm_req_is_done(r->reqs[a]))
                return r->reqs[a];
            own_end_one(r, a);
        }
        r->packed += r->lens[a];
    }
    return NULL;
}

/* ---- rounds ---- */

static enum dm_round_stage round_next(struct dm_rounds *r)
{
    r->round = rounds_next(r);
    if (r->round == DM_ROUND_NONE)
        return DM_ROUND_DRAIN;
    own_start(r);
    dm_bundles_start(r);
    return r->m->is_write ? DM_ROUND_PASS_ON : DM_ROUND_WINDOW;
}

struct dm_req *dm_rounds_step(struct dm_rounds *r)
{
    struct dm_req *req = NULL;

    while (req == NULL && r->stage != DM_ROUND_OVER) {
        switch (r->stage) {
        case DM_ROUND_NEXT:
            r->stage = round_next(r);
            break;
        case DM_ROUND_PASS_ON:
            req = dm_bundles_pass_on(r);
            if (req == NULL)
                r->stage = r->m->is_write ? DM_ROUND_WINDOW : DM_ROUND_OWN;
            break;
        case DM_ROUND_CLOSED:
            r->stage = r->m->is_write ? DM_ROUND_OWN : DM_ROUND_PASS_ON;
            break;
        case DM_ROUND_OWN:
            req = own_end(r);
            r->stage = req == NULL ? DM_ROUND_PASSED : DM_ROUND_OWN;
            break;
        case DM_ROUND_PASSED:
            req = dm_bundles_end(r);
            r->stage = req == NULL ? DM_ROUND_NEXT : DM_ROUND_PASSED;
            break;
        case DM_ROUND_DRAIN:
            req = dm_windows_drain(r);
            r->stage = req == NULL ? DM_ROUND_OVER : DM_ROUND_DRAIN;
            break;
        default:
            r->stage = dm_window_step(r, &req);
            break;
        }
    }
    return req;
}
