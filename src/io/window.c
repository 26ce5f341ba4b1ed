/*
 * An aggregator's window: what all have in it comes in or goes out by messages, some processes at a
 * time, and the file is accessed once for all of it.
 */
#include <stdlib.h>
#include <string.h>

#include "io/agree.h"
#include "io/rounds.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/glock.h"

#define ONES_LEN 4096

bool dm_window_alloc(struct dm_rounds *r)
{
    size_t len = (size_t)r->plan->window, size = (size_t)r->f->size;
    struct dm_window *w = &r->window;

    r->in = calloc(size, sizeof(*r->in));
    r->agg_reqs = calloc(size, sizeof(struct dm_req *));
    w->mem = malloc(len);
    w->mask = malloc(r->m->is_write ? len : 1);
    w->stage = malloc(len);
    return r->in != NULL && r->agg_reqs != NULL && w->mem != NULL && w->mask != NULL &&
           w->stage != NULL;
}

void dm_window_free(struct dm_rounds *r)
{
    free(r->in);
    free(r->agg_reqs);
    free(r->window.mem);
    free(r->window.mask);
    free(r->window.stage);
}

/* ---- messages ---- */

/* What of the file the data of a round lie in. */
static void window_bounds(struct dm_rounds *r)
{
    struct dm_window *w = &r->window;

    w->low = INT64_MAX;
    w->high = 0;
    for (int i = 0; i < r->f->size; i++) {
        const struct dm_cursor *c = &r->in[i];
        uint64_t len = dm_cursor_len(r->plan, c, r->round);
        int64_t low, high;

        if (len == 0)
            continue;
        low = dm_view_offset(c->view, c->pos);
        high = dm_view_offset(c->view, c->pos + len - 1) + 1;
        w->low = low < w->low ? low : w->low;
        w->high = high > w->high ? high : w->high;
    }
}

static void window_mark(struct dm_rounds *r, const struct dm_cursor *c, uint64_t len)
{
    char ones[ONES_LEN];

    memset(ones, 1, sizeof(ones));
    for (uint64_t at = 0; at < len; at += ONES_LEN)
        dm_view_scatter(c->view, r->window.mask, r->window.low, c->pos + at, ones,
                        len - at < ONES_LEN ? len - at : ONES_LEN);
}

/* Bytes of a process that are there when it is read. */
static uint64_t window_valid(const struct dm_rounds *r, const struct dm_cursor *c, uint64_t len)
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
    struct dm_window *w = &r->window;
    uint64_t used = 0;

    w->first = w->next = w->last;
    w->used = 0;
    for (; w->last < r->f->size; w->last++) {
        struct dm_cursor *c = &r->in[w->last];
        uint64_t len = dm_cursor_len(r->plan, c, r->round), valid;
        struct dm_req **req_p = &r->agg_reqs[w->last];

        if (len == 0)
            continue;
        if (used + len > (uint64_t)r->plan->window)
            break;
        if (r->m->is_write) {
            dm_rounds_fail(
                r, dm_irecv(w->stage + used, len, byte, w->last, DM_ROUND_TAG, r->f->comm, req_p));
            used += len;
            continue;
        }
        valid = window_valid(r, c, len);
        dm_view_gather(c->view, w->mem, w->low, c->pos, w->stage + used, valid);
        c->pos += len;
        dm_rounds_fail(
            r, dm_isend(w->stage + used, valid, byte, w->last, DM_ROUND_TAG, r->f->comm, req_p));
        r->m->n_way[DM_WAY_TWO_PHASE] += valid;
        used += valid;
    }
}

/* The data of a process have come. */
static void window_take(struct dm_rounds *r, int i)
{
    struct dm_window *w = &r->window;
    struct dm_cursor *c = &r->in[i];
    uint64_t len = dm_cursor_len(r->plan, c, r->round);
    int err = r->agg_reqs[i] != NULL ? dm_io_reap(&r->agg_reqs[i]) : DM_OK;

    dm_rounds_fail(r, err);
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
    struct dm_window *w = &r->window;

    for (; w->next < w->last; w->next++) {
        struct dm_req **req_p = &r->agg_reqs[w->next];

        if (*req_p != NULL && !dm_req_is_done(*req_p))
            return *req_p;
        if (r->m->is_write)
            window_take(r, w->next);
        else if (*req_p != NULL)
            dm_rounds_fail(r, dm_io_reap(req_p));
    }
    return NULL;
}

/* ---- the file ---- */

/* Write what has come, and nothing between. */
static int window_write(struct dm_rounds *r)
{
    struct dm_window *w = &r->window;
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
    struct dm_window *w = &r->window;

    if (r->m->is_write)
        return r->result.err == DM_OK ? window_write(r) : DM_OK;
    return dm_disk_read(&r->f->disk, w->mem, (size_t)(w->high - w->low), (uint64_t)w->low, &w->got);
}

static void window_job_over(void *arg)
{
    ((struct dm_rounds *)arg)->window.job_req.n_pending = 0;
}

/* What is waited for; NULL: it is done. */
static struct dm_req *window_start_job(struct dm_rounds *r)
{
    struct dm_window *w = &r->window;
    int levels, err;

    w->job = (struct dm_io_job){.run = window_access, .over = window_job_over, .arg = r};
    w->job_req.n_pending = 1;
    if (!r->blocks && dm_io_job_start(&w->job))
        return &w->job_req;
    levels = dm_glock_release_all();
    err = window_access(r);
    dm_glock_reacquire(levels);
    dm_io_result_set(&w->job.result, err);
    return NULL;
}

/* ---- stages ---- */

static enum dm_round_stage window_open(struct dm_rounds *r)
{
    struct dm_window *w = &r->window;

    window_bounds(r);
    w->last = 0;
    if (w->high <= w->low)
        return DM_ROUND_OWN;
    if (!r->m->is_write)
        return DM_ROUND_ACCESS;
    memset(w->mask, 0, (size_t)(w->high - w->low));
    return DM_ROUND_SOME;
}

/* What follows when all messages of a window's part are over. */
static enum dm_round_stage window_after_some(const struct dm_rounds *r)
{
    if (r->window.last < r->f->size)
        return DM_ROUND_SOME;
    return r->m->is_write ? DM_ROUND_ACCESS : DM_ROUND_OWN;
}

enum dm_round_stage dm_window_step(struct dm_rounds *r, struct dm_req **req_p)
{
    *req_p = NULL;
    switch (r->stage) {
    case DM_ROUND_WINDOW:
        return window_open(r);
    case DM_ROUND_ACCESS:
        *req_p = window_start_job(r);
        return DM_ROUND_ACCESSED;
    case DM_ROUND_ACCESSED:
        dm_rounds_note(r, dm_io_result_get(&r->window.job.result));
        return r->m->is_write ? DM_ROUND_OWN : DM_ROUND_SOME;
    case DM_ROUND_SOME:
        window_start_some(r);
        return DM_ROUND_EACH;
    default:
        *req_p = window_end_some(r);
        return *req_p == NULL ? window_after_some(r) : DM_ROUND_EACH;
    }
}
