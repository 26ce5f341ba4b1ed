/*
 * The two phases. Both sides know what goes between a process and an aggregator in each round, so
 * nothing but data is sent, in one message. Rounds without data for a process cost it nothing.
 *
 * Everybody goes through its rounds in ascending order and starts its own messages of a round before
 * it waits for others': so the lowest round that is under way can always end.
 *
 * A process goes on until it has to wait, for one request at a time, and says for which.
 */
#include "io/two_phase.h"

#include <stdlib.h>
#include <string.h>

#include "io/agree.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/glock.h"

#define ROUND_TAG  1
#define ROUND_NONE INT64_MAX
#define ONES_LEN   4096

/* The data of one process in the domain of one aggregator, from pos on. */
struct cursor {
    const struct dm_view *view;
    uint64_t pos, end;
    int64_t low; /* of the domain */
};

/*
 * An aggregator writes: take data of some processes, until all have sent; write them. It reads: read,
 * then give some processes theirs, until all have them. OWN ends the round.
 */
enum round_stage {
    ROUND_BEGIN,
    ROUND_NEXT,
    ROUND_WINDOW,
    ROUND_ACCESS,
    ROUND_ACCESSED,
    ROUND_SOME,
    ROUND_EACH,
    ROUND_OWN,
    ROUND_OVER
};

/* Data of the file that an aggregator has at a time. */
struct window {
    char *mem, *mask, *stage; /* the mask says which bytes have come */
    int64_t low, high;        /* of the file */
    size_t got;               /* bytes that were there to be read */
    int first, last, next;    /* processes whose data are in the stage; the next to be waited for */
    uint64_t used;            /* bytes of the stage, of processes before that */
};

/* All that a process needs for its rounds. */
struct dm_rounds {
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
    struct window window;
    bool blocks;
    enum round_stage stage;
    int64_t round;
    int next_own;    /* own message that is waited for next, */
    uint64_t packed; /* and where its data are in `pack` */
    struct dm_io_job job;
    struct dm_req job_req; /* what is waited for until it is over */
    int64_t good;          /* all below this offset is written, as far as this aggregator knows */
    struct dm_io_result result;
};

static void rounds_note(struct dm_rounds *r, int err)
{
    if (r->result.err == DM_OK && err != DM_OK)
        dm_io_result_set(&r->result, err);
}

static void rounds_fail(struct dm_rounds *r, int err)
{
    rounds_note(r, err);
    if (err != DM_OK)
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

static int64_t rounds_next(const struct dm_rounds *r)
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

void dm_rounds_free(struct dm_rounds *r)
{
    if (r == NULL)
        return;
    free(r->out);
    free(r->in);
    free(r->reqs);
    free(r->lens);
    free(r->at);
    free(r->agg_reqs);
    free(r->pack);
    free(r->window.mem);
    free(r->window.mask);
    free(r->window.stage);
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
    r->window.mem = malloc(is_agg ? window : 1);
    r->window.mask = malloc(is_agg && r->m->is_write ? window : 1);
    r->window.stage = malloc(is_agg ? window : 1);
    return r->out != NULL && r->reqs != NULL && r->lens != NULL && r->at != NULL && r->in != NULL &&
           r->agg_reqs != NULL && r->pack != NULL && r->window.mem != NULL &&
           r->window.mask != NULL && r->window.stage != NULL;
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

/* The views of all are here. */
static void rounds_begin(struct dm_rounds *r)
{
    for (int a = 0; a < r->plan->n_agg; a++)
        r->out[a] = cursor_make(r->plan, r->f->view, r->f->rank, a);
    for (int i = 0; r->me >= 0 && i < r->f->size; i++)
        r->in[i] = cursor_make(r->plan, dm_ship_view(r->f, i), i, r->me);
    r->m->done = 0;
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

/* Start what goes between this process' memory and the aggregators. */
static void own_start(struct dm_rounds *r)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct dm_move *m = r->m;
    uint64_t packed = 0;

    for (int a = 0; a < r->plan->n_agg; a++) {
        struct cursor *c = &r->out[a];
        uint64_t len = cursor_len(r->plan, c, r->round);
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
        rounds_fail(r, m->is_write ? dm_isend(mem, len, byte, r->plan->aggs[a], ROUND_TAG,
                                              r->f->comm, &r->reqs[a])
                                   : dm_irecv(mem, len, byte, r->plan->aggs[a], ROUND_TAG,
                                              r->f->comm, &r->reqs[a]));
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

    rounds_fail(r, err);
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

/* ---- an aggregator's window ---- */

/* What of the file the data of a round lie in. */
static void window_bounds(struct dm_rounds *r)
{
    struct window *w = &r->window;

    w->low = INT64_MAX;
    w->high = 0;
    for (int i = 0; i < r->f->size; i++) {
        const struct cursor *c = &r->in[i];
        uint64_t len = cursor_len(r->plan, c, r->round);
        int64_t low, high;

        if (len == 0)
            continue;
        low = dm_view_offset(c->view, c->pos);
        high = dm_view_offset(c->view, c->pos + len - 1) + 1;
        w->low = low < w->low ? low : w->low;
        w->high = high > w->high ? high : w->high;
    }
}

static void window_mark(struct dm_rounds *r, const struct cursor *c, uint64_t len)
{
    char ones[ONES_LEN];

    memset(ones, 1, sizeof(ones));
    for (uint64_t at = 0; at < len; at += ONES_LEN)
        dm_view_scatter(c->view, r->window.mask, r->window.low, c->pos + at, ones,
                        len - at < ONES_LEN ? len - at : ONES_LEN);
}

/* Bytes of a process that are there when it is read. */
static uint64_t window_valid(const struct dm_rounds *r, const struct cursor *c, uint64_t len)
{
    uint64_t last = dm_view_pos(c->view, r->window.low + (int64_t)r->window.got);

    if (last >= c->pos + len)
        return len;
    return last > c->pos ? last - c->pos : 0;
}

/* Start messages with processes from `last` on, as many as there is space for. */
static void window_start_some(struct dm_rounds *r)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct window *w = &r->window;
    uint64_t used = 0;

    w->first = w->next = w->last;
    w->used = 0;
    for (; w->last < r->f->size; w->last++) {
        struct cursor *c = &r->in[w->last];
        uint64_t len = cursor_len(r->plan, c, r->round), valid;
        struct dm_req **req_p = &r->agg_reqs[w->last];

        if (len == 0)
            continue;
        if (used + len > (uint64_t)r->plan->window)
            break;
        if (r->m->is_write) {
            rounds_fail(
                r, dm_irecv(w->stage + used, len, byte, w->last, ROUND_TAG, r->f->comm, req_p));
            used += len;
            continue;
        }
        valid = window_valid(r, c, len);
        dm_view_gather(c->view, w->mem, w->low, c->pos, w->stage + used, valid);
        c->pos += len;
        rounds_fail(r,
                    dm_isend(w->stage + used, valid, byte, w->last, ROUND_TAG, r->f->comm, req_p));
        r->m->n_way[DM_WAY_TWO_PHASE] += valid;
        used += valid;
    }
}

/* The data of a process have come. */
static void window_take(struct dm_rounds *r, int i)
{
    struct window *w = &r->window;
    struct cursor *c = &r->in[i];
    uint64_t len = cursor_len(r->plan, c, r->round);
    int err = r->agg_reqs[i] != NULL ? dm_io_reap(&r->agg_reqs[i]) : DM_OK;

    rounds_fail(r, err);
    if (len > 0 && err == DM_OK) {
        dm_view_scatter(c->view, w->mem, w->low, c->pos, w->stage + w->used, len);
        window_mark(r, c, len);
    }
    c->pos += len;
    w->used += len;
}

/* What is waited for; NULL: the messages that were started are over. */
static struct dm_req *window_end_some(struct dm_rounds *r)
{
    struct window *w = &r->window;

    for (; w->next < w->last; w->next++) {
        struct dm_req **req_p = &r->agg_reqs[w->next];

        if (*req_p != NULL && !dm_req_is_done(*req_p))
            return *req_p;
        if (r->m->is_write)
            window_take(r, w->next);
        else if (*req_p != NULL)
            rounds_fail(r, dm_io_reap(req_p));
    }
    return NULL;
}

/* Write what has come, and nothing between. */
static int window_write(struct dm_rounds *r)
{
    struct window *w = &r->window;
    size_t len = (size_t)(w->high - w->low), at = 0, done;
    int err = DM_OK;

    while (at < len && err == DM_OK) {
        const char *first = memchr(w->mask + at, 1, len - at), *last;
        size_t n;

        if (first == NULL)
            break;
        at = (size_t)(first - w->mask);
        last = memchr(first, 0, len - at);
        n = last != NULL ? (size_t)(last - first) : len - at;
        err = dm_disk_write(&r->f->disk, w->mem + at, n, (uint64_t)w->low + at, &done);
        r->m->n_way[DM_WAY_TWO_PHASE] += done;
        if (err != DM_OK && r->good > w->low + (int64_t)(at + done))
            r->good = w->low + (int64_t)(at + done);
        at += n;
    }
    return err;
}

/* The job of an aggregator in a round; after an error of its own nothing more is written. */
static int window_access(void *arg)
{
    struct dm_rounds *r = arg;
    struct window *w = &r->window;

    if (r->m->is_write)
        return r->result.err == DM_OK ? window_write(r) : DM_OK;
    return dm_disk_read(&r->f->disk, w->mem, (size_t)(w->high - w->low), (uint64_t)w->low, &w->got);
}

/* ---- rounds ---- */

static void window_job_over(void *arg)
{
    ((struct dm_rounds *)arg)->job_req.n_pending = 0;
}

/* What is waited for; NULL: it is done. */
static struct dm_req *window_start_job(struct dm_rounds *r)
{
    int levels, err;

    r->job = (struct dm_io_job){.run = window_access, .over = window_job_over, .arg = r};
    r->job_req.n_pending = 1;
    if (!r->blocks && dm_io_job_start(&r->job))
        return &r->job_req;
    levels = dm_glock_release_all();
    err = window_access(r);
    dm_glock_reacquire(levels);
    dm_io_result_set(&r->job.result, err);
    return NULL;
}

static enum round_stage round_open_window(struct dm_rounds *r)
{
    struct window *w = &r->window;

    window_bounds(r);
    w->last = 0;
    if (w->high <= w->low)
        return ROUND_OWN;
    if (!r->m->is_write)
        return ROUND_ACCESS;
    memset(w->mask, 0, (size_t)(w->high - w->low));
    return ROUND_SOME;
}

/* What follows when all messages of a window's part are over. */
static enum round_stage round_after_some(const struct dm_rounds *r)
{
    if (r->window.last < r->f->size)
        return ROUND_SOME;
    return r->m->is_write ? ROUND_ACCESS : ROUND_OWN;
}

static enum round_stage round_next(struct dm_rounds *r)
{
    r->round = rounds_next(r);
    if (r->round == ROUND_NONE)
        return ROUND_OVER;
    own_start(r);
    return r->me >= 0 ? ROUND_WINDOW : ROUND_OWN;
}

struct dm_req *dm_rounds_step(struct dm_rounds *r)
{
    struct dm_req *req = NULL;

    while (req == NULL && r->stage != ROUND_OVER) {
        switch (r->stage) {
        case ROUND_BEGIN:
            rounds_begin(r);
            r->stage = ROUND_NEXT;
            break;
        case ROUND_NEXT:
            r->stage = round_next(r);
            break;
        case ROUND_WINDOW:
            r->stage = round_open_window(r);
            break;
        case ROUND_ACCESS:
            r->stage = ROUND_ACCESSED;
            req = window_start_job(r);
            break;
        case ROUND_ACCESSED:
            rounds_note(r, dm_io_result_get(&r->job.result));
            r->stage = r->m->is_write ? ROUND_OWN : ROUND_SOME;
            break;
        case ROUND_SOME:
            window_start_some(r);
            r->stage = ROUND_EACH;
            break;
        case ROUND_EACH:
            req = window_end_some(r);
            r->stage = req == NULL ? round_after_some(r) : ROUND_EACH;
            break;
        default:
            req = own_end(r);
            r->stage = req == NULL ? ROUND_NEXT : ROUND_OWN;
            break;
        }
    }
    return req;
}
