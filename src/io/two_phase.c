/*
 * The two phases. Both sides know what goes between a process and an aggregator in each round, so
 * nothing but data is sent, in one message. Rounds without data for a process cost it nothing.
 *
 * Everybody goes through its rounds in ascending order and starts its own messages of a round before
 * it waits for others': so the lowest round that is under way can always end.
 */
#include "io/two_phase.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/pt2pt.h"

#define ROUND_TAG  1
#define ROUND_NONE INT64_MAX
#define ONES_LEN   4096

/* The data of one process in the domain of one aggregator, from pos on. */
struct cursor {
    const struct dm_view *view;
    uint64_t pos, end;
    int64_t low; /* of the domain */
};

/* All that a process needs for its rounds. */
struct rounds {
    struct dm_file *f;
    struct dm_move *m;
    const struct dm_plan *plan;
    int me;                   /* number among the aggregators, -1: none */
    struct cursor *out;       /* of this process, to each aggregator */
    struct cursor *in;        /* of each process, at this aggregator */
    struct dm_req **reqs;     /* one for each aggregator */
    uint64_t *lens;           /* likewise: bytes of the message, */
    uint64_t *at;             /* and where they are in memory, packed */
    struct dm_req **agg_reqs; /* one for each process */
    char *pack;               /* packed data of a round, when memory is not contiguous */
    char *window, *mask, *stage;
    int64_t good; /* all below this offset is written, as far as this aggregator knows */
    int err;
};

static void rounds_fail(struct rounds *r, int err)
{
    if (r->err == DM_OK)
        r->err = err;
    r->good = 0;
}

/* ---- cursors ---- */

static int64_t domain_low(const struct dm_plan *plan, int agg)
{
    return plan->low + agg * plan->domain;
}

static struct cursor cursor_make(const struct dm_plan *plan, const struct dm_view *view, int rank,
                                 int agg)
{
    const struct dm_plan_part *part = &plan->parts[rank];
    struct cursor c = {.view = view, .low = domain_low(plan, agg)};

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

/* The round in which its next data go. */
static int64_t cursor_round(const struct dm_plan *plan, const struct cursor *c)
{
    if (c->pos >= c->end)
        return ROUND_NONE;
    return (dm_view_offset(c->view, c->pos) - c->low) / plan->window;
}

/* Bytes of a round, from c->pos on. */
static uint64_t cursor_len(const struct dm_plan *plan, const struct cursor *c, int64_t round)
{
    uint64_t last;

    if (cursor_round(plan, c) != round)
        return 0;
    last = dm_view_pos(c->view, c->low + (round + 1) * plan->window);
    return (last < c->end ? last : c->end) - c->pos;
}

static int64_t rounds_next(const struct rounds *r)
{
    int64_t next = ROUND_NONE, round;

    for (int a = 0; a < r->plan->n_agg; a++) {
        round = cursor_round(r->plan, &r->out[a]);
        next = round < next ? round : next;
    }
    for (int i = 0; r->me >= 0 && i < r->f->size; i++) {
        round = cursor_round(r->plan, &r->in[i]);
        next = round < next ? round : next;
    }
    return next;
}

/* ---- begin and end ---- */

static void rounds_close(struct rounds *r)
{
    free(r->out);
    free(r->in);
    free(r->reqs);
    free(r->lens);
    free(r->at);
    free(r->agg_reqs);
    free(r->pack);
    free(r->window);
    free(r->mask);
    free(r->stage);
}

/* Room for packed data: of one round at most. */
static uint64_t rounds_pack_len(const struct rounds *r)
{
    uint64_t most = (uint64_t)r->plan->window * (uint64_t)r->plan->n_agg;

    return r->m->len < most ? r->m->len : most;
}

static int rounds_alloc(struct rounds *r)
{
    size_t n_agg = (size_t)r->plan->n_agg, size = (size_t)r->f->size;
    size_t window = (size_t)r->plan->window;
    bool is_agg = r->me >= 0;

    r->out = calloc(n_agg, sizeof(*r->out));
    r->reqs = calloc(n_agg, sizeof(struct dm_req *));
    r->lens = calloc(n_agg, sizeof(*r->lens));
    r->at = calloc(n_agg, sizeof(*r->at));
    r->in = calloc(size, sizeof(*r->in));
    r->agg_reqs = calloc(size, sizeof(struct dm_req *));
    r->pack = malloc(r->m->type->is_contig ? 1 : rounds_pack_len(r) + 1);
    r->window = malloc(is_agg ? window : 1);
    r->mask = malloc(is_agg && r->m->is_write ? window : 1);
    r->stage = malloc(is_agg ? window : 1);
    if (r->out == NULL || r->reqs == NULL || r->lens == NULL || r->at == NULL || r->in == NULL ||
        r->agg_reqs == NULL || r->pack == NULL || r->window == NULL || r->mask == NULL ||
        r->stage == NULL)
        return DM_FAIL(DM_ENOMEM, "buffers of a collective transfer, %zu bytes each", window);
    return DM_OK;
}

/* Collective: all have what they need, or nobody begins. */
static int rounds_open(struct rounds *r, struct dm_file *f, struct dm_move *m,
                       const struct dm_plan *plan)
{
    int err;

    *r = (struct rounds){.f = f, .m = m, .plan = plan, .me = -1, .good = INT64_MAX};
    for (int a = 0; a < plan->n_agg; a++)
        if (plan->aggs[a] == f->rank)
            r->me = a;
    err = dm_file_agree(f, rounds_alloc(r));
    if (err != DM_OK)
        return err;
    for (int a = 0; a < plan->n_agg; a++)
        r->out[a] = cursor_make(plan, f->view, f->rank, a);
    for (int i = 0; r->me >= 0 && i < f->size; i++)
        r->in[i] = cursor_make(plan, dm_ship_view(f, i), i, r->me);
    return DM_OK;
}

static void rounds_wait(struct rounds *r, struct dm_req **reqs, int n)
{
    for (int i = 0; i < n; i++) {
        int err = DM_OK;

        if (reqs[i] == NULL)
            continue;
        err = dm_req_wait(reqs[i]);
        if (err != DM_OK)
            rounds_fail(r, err);
        dm_req_unref(reqs[i]);
        reqs[i] = NULL;
    }
}

/* ---- this process' data ---- */

/* Where packed byte `at` of memory is, or of `pack`, in which the data of this round begin at `first`. */
static char *rounds_mem(const struct rounds *r, uint64_t at, uint64_t packed)
{
    if (r->m->type->is_contig)
        return (char *)((uintptr_t)r->m->buf + (uintptr_t)r->m->type->true_lb + at);
    return r->pack + packed;
}

/* Start what goes between this process' memory and the aggregators. */
static void rounds_start_own(struct rounds *r, int64_t round)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct dm_move *m = r->m;
    uint64_t packed = 0;

    for (int a = 0; a < r->plan->n_agg; a++) {
        struct cursor *c = &r->out[a];
        uint64_t len = cursor_len(r->plan, c, round);
        char *mem;
        int err;

        r->lens[a] = len;
        if (len == 0)
            continue;
        r->at[a] = c->pos - m->pos;
        c->pos += len;
        mem = rounds_mem(r, r->at[a], packed);
        packed += len;
        if (m->is_write && !m->type->is_contig)
            dm_type_pack(m->buf, m->count, m->type, r->at[a], mem, len);
        err = m->is_write
                  ? dm_isend(mem, len, byte, r->plan->aggs[a], ROUND_TAG, r->f->comm, &r->reqs[a])
                  : dm_irecv(mem, len, byte, r->plan->aggs[a], ROUND_TAG, r->f->comm, &r->reqs[a]);
        if (err != DM_OK)
            rounds_fail(r, err);
    }
}

/* The data of a round have come; less than asked for is the end of the file. */
static void rounds_end_read(struct rounds *r)
{
    struct dm_move *m = r->m;
    uint64_t packed = 0;

    for (int a = 0; a < r->plan->n_agg; a++) {
        uint64_t got;
        int err;

        if (r->reqs[a] == NULL)
            continue;
        err = dm_req_wait(r->reqs[a]);
        got = dm_status_bytes(&r->reqs[a]->status);
        if (err != DM_OK)
            rounds_fail(r, err);
        else if (!m->type->is_contig)
            dm_type_unpack(m->buf, m->count, m->type, r->at[a], r->pack + packed, got);
        packed += r->lens[a];
        m->done += err == DM_OK ? got : 0;
        dm_req_unref(r->reqs[a]);
        r->reqs[a] = NULL;
    }
}

/* ---- an aggregator's window ---- */

/* What of the file the data of a round lie in. */
static void window_bounds(const struct rounds *r, int64_t round, int64_t *low_p, int64_t *high_p)
{
    *low_p = INT64_MAX;
    *high_p = 0;
    for (int i = 0; i < r->f->size; i++) {
        const struct cursor *c = &r->in[i];
        uint64_t len = cursor_len(r->plan, c, round);
        int64_t low, high;

        if (len == 0)
            continue;
        low = dm_view_offset(c->view, c->pos);
        high = dm_view_offset(c->view, c->pos + len - 1) + 1;
        *low_p = low < *low_p ? low : *low_p;
        *high_p = high > *high_p ? high : *high_p;
    }
}

static void window_mark(struct rounds *r, const struct cursor *c, int64_t low, uint64_t len)
{
    char ones[ONES_LEN];

    memset(ones, 1, sizeof(ones));
    for (uint64_t at = 0; at < len; at += ONES_LEN)
        dm_view_scatter(c->view, r->mask, low, c->pos + at, ones,
                        len - at < ONES_LEN ? len - at : ONES_LEN);
}

/* Data of processes [first, *last_p), as many as there is space for, into the window. */
static void window_take(struct rounds *r, int64_t round, int64_t low, int first, int *last_p)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    uint64_t used = 0;
    int i;

    for (i = first; i < r->f->size; i++) {
        uint64_t len = cursor_len(r->plan, &r->in[i], round);
        int err;

        if (len == 0)
            continue;
        if (used + len > (uint64_t)r->plan->window)
            break;
        err = dm_irecv(r->stage + used, len, byte, i, ROUND_TAG, r->f->comm, &r->agg_reqs[i]);
        if (err != DM_OK)
            rounds_fail(r, err);
        used += len;
    }
    *last_p = i;
    used = 0;
    for (i = first; i < *last_p; i++) {
        struct cursor *c = &r->in[i];
        uint64_t len = cursor_len(r->plan, c, round);

        if (len == 0)
            continue;
        rounds_wait(r, &r->agg_reqs[i], 1);
        dm_view_scatter(c->view, r->window, low, c->pos, r->stage + used, len);
        window_mark(r, c, low, len);
        c->pos += len;
        used += len;
    }
}

/* Write what has come, and nothing between. */
static void window_write(struct rounds *r, int64_t low, int64_t high)
{
    size_t len = (size_t)(high - low), at = 0, done;

    while (at < len && r->err == DM_OK) {
        const char *first = memchr(r->mask + at, 1, len - at), *last;
        size_t n;

        if (first == NULL)
            break;
        at = (size_t)(first - r->mask);
        last = memchr(first, 0, len - at);
        n = last != NULL ? (size_t)(last - first) : len - at;
        r->err = dm_disk_write(&r->f->disk, r->window + at, n, (uint64_t)low + at, &done);
        r->m->n_way[DM_WAY_TWO_PHASE] += done;
        if (r->err != DM_OK)
            r->good = low + (int64_t)(at + done);
        at += n;
    }
}

static void window_round_write(struct rounds *r, int64_t round)
{
    int64_t low, high;
    int first = 0;

    window_bounds(r, round, &low, &high);
    if (high <= low)
        return;
    memset(r->mask, 0, (size_t)(high - low));
    while (first < r->f->size)
        window_take(r, round, low, first, &first);
    window_write(r, low, high);
}

/* To processes from `first` on, as many as there is space for. */
static void window_give(struct rounds *r, int64_t round, int64_t low, int64_t end, int first,
                        int *last_p)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    uint64_t used = 0;
    int i;

    for (i = first; i < r->f->size; i++) {
        struct cursor *c = &r->in[i];
        uint64_t len = cursor_len(r->plan, c, round), valid = len, last;
        int err;

        if (len == 0)
            continue;
        if (used + len > (uint64_t)r->plan->window)
            break;
        last = dm_view_pos(c->view, end);
        if (last < c->pos + len)
            valid = last > c->pos ? last - c->pos : 0;
        dm_view_gather(c->view, r->window, low, c->pos, r->stage + used, valid);
        err = dm_isend(r->stage + used, valid, byte, i, ROUND_TAG, r->f->comm, &r->agg_reqs[i]);
        if (err != DM_OK)
            rounds_fail(r, err);
        c->pos += len;
        used += valid;
        r->m->n_way[DM_WAY_TWO_PHASE] += valid;
    }
    *last_p = i;
    rounds_wait(r, r->agg_reqs + first, *last_p - first);
}

static void window_round_read(struct rounds *r, int64_t round)
{
    int64_t low, high;
    size_t got = 0;
    int err, first = 0;

    window_bounds(r, round, &low, &high);
    if (high <= low)
        return;
    err = dm_disk_read(&r->f->disk, r->window, (size_t)(high - low), (uint64_t)low, &got);
    if (err != DM_OK)
        rounds_fail(r, err);
    while (first < r->f->size)
        window_give(r, round, low, low + (int64_t)got, first, &first);
}

int dm_two_phase_write(struct dm_file *f, struct dm_move *m, const struct dm_plan *plan,
                       int64_t *good_p)
{
    struct rounds r;
    int64_t round;
    int err = rounds_open(&r, f, m, plan);

    while (err == DM_OK && (round = rounds_next(&r)) != ROUND_NONE) {
        rounds_start_own(&r, round);
        if (r.me >= 0)
            window_round_write(&r, round);
        rounds_wait(&r, r.reqs, plan->n_agg);
    }
    m->done = err == DM_OK ? m->len : 0;
    *good_p = err == DM_OK ? r.good : 0;
    rounds_close(&r);
    return err != DM_OK ? err : r.err;
}

int dm_two_phase_read(struct dm_file *f, struct dm_move *m, const struct dm_plan *plan)
{
    struct rounds r;
    int64_t round;
    int err = rounds_open(&r, f, m, plan);

    m->done = 0;
    while (err == DM_OK && (round = rounds_next(&r)) != ROUND_NONE) {
        rounds_start_own(&r, round);
        if (r.me >= 0)
            window_round_read(&r, round);
        rounds_end_read(&r);
    }
    rounds_close(&r);
    return err != DM_OK ? err : r.err;
}
