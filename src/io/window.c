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

/* Ranks of a host in a row. */
static void window_order(struct dm_rounds *r)
{
    const struct dm_node_map *nodes = r->plan->nodes;
    int n = 0;

    for (int node = 0; node < nodes->n_nodes; node++)
        for (int i = nodes->leaders[node]; i < r->f->size; i++)
            if (nodes->node_of[i] == node)
                r->order[n++] = i;
}

bool dm_window_alloc(struct dm_rounds *r)
{
    size_t len = (size_t)r->plan->window, size = (size_t)r->f->size;
    struct dm_window *w = &r->window;

    r->order = calloc(size, sizeof(*r->order));
    r->in = calloc(size, sizeof(*r->in));
    r->agg_reqs = calloc(size, sizeof(struct dm_req *));
    w->mem = malloc(len);
    w->mask = malloc(r->m->is_write ? len : 1);
    w->stage = malloc(len + size * DM_BUNDLE_HEAD);
    if (r->order == NULL || r->in == NULL || r->agg_reqs == NULL || w->mem == NULL ||
        w->mask == NULL || w->stage == NULL)
        return false;
    window_order(r);
    return true;
}

void dm_window_free(struct dm_rounds *r)
{
    free(r->order);
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

/* How many processes from number i on have one message, its bytes, and with whom it is exchanged. */
static int window_message(const struct dm_rounds *r, int i, uint64_t *len_p, int *peer_p)
{
    const int *node_of = r->plan->nodes->node_of;
    int rank = r->order[i], n = 1;

    *peer_p = rank;
    if (!dm_plan_is_gathered(r->plan, rank, r->me)) {
        *len_p = dm_cursor_len(r->plan, &r->in[i], r->round);
        return 1;
    }
    *peer_p = r->plan->nodes->leaders[node_of[rank]];
    while (i + n < r->f->size && node_of[r->order[i + n]] == node_of[rank])
        n++;
    return dm_bundle_extent(r->plan, &r->in[i], n, r->round, len_p);
}

/* To n processes, from number i on, or to who gathers for them; the bytes of the message. */
static uint64_t window_give(struct dm_rounds *r, int i, int n, int peer, char *stage)
{
    struct dm_window *w = &r->window;
    int64_t end = w->low + (int64_t)w->got;
    uint64_t used = 0;

    if (dm_plan_is_gathered(r->plan, r->order[i], r->me)) {
        memcpy(stage, &end, DM_BUNDLE_HEAD);
        used = DM_BUNDLE_HEAD;
    }
    for (struct dm_cursor *c = &r->in[i]; c < &r->in[i + n]; c++) {
        uint64_t len = dm_cursor_len(r->plan, c, r->round);
        uint64_t valid = len > 0 ? dm_cursor_valid(c, len, end) : 0;

        dm_view_gather(c->view, w->mem, w->low, c->pos, stage + used, valid);
        c->pos += len;
        r->m->n_way[DM_WAY_TWO_PHASE] += valid;
        used += valid;
    }
    dm_rounds_fail(r, dm_isend(stage, used, dm_type_get(MPI_BYTE), peer, DM_ROUND_TAG, r->f->comm,
                               &r->agg_reqs[i]));
    return used;
}

/* Start messages with processes from `last` on, as many as there is space for. */
static void window_start_some(struct dm_rounds *r)
{
    struct dm_window *w = &r->window;
    uint64_t used = 0, len;
    int n, peer;

    w->next = w->last;
    w->used = 0;
    for (; w->last < r->f->size; w->last += n) {
        n = window_message(r, w->last, &len, &peer);
        if (len == 0)
            continue;
        if (used + len > (uint64_t)r->plan->window)
            break;
        if (!r->m->is_write) {
            used += window_give(r, w->last, n, peer, w->stage + used);
            continue;
        }
        dm_rounds_fail(r, dm_irecv(w->stage + used, len, dm_type_get(MPI_BYTE), peer, DM_ROUND_TAG,
                                   r->f->comm, &r->agg_reqs[w->last]));
        used += len;
    }
}

/* The data of n processes, from number i on, have come. */
static void window_take(struct dm_rounds *r, int i, int n)
{
    struct dm_window *w = &r->window;
    int err = r->agg_reqs[i] != NULL ? dm_io_reap(&r->agg_reqs[i]) : DM_OK;

    dm_rounds_fail(r, err);
    for (struct dm_cursor *c = &r->in[i]; c < &r->in[i + n]; c++) {
        uint64_t len = dm_cursor_len(r->plan, c, r->round);

        if (len > 0 && err == DM_OK) {
            dm_view_scatter(c->view, w->mem, w->low, c->pos, w->stage + w->used, len);
            window_mark(r, c, len);
        }
        c->pos += len;
        w->used += len;
    }
}

/* What is waited for; NULL: the messages that were started are over. */
static struct dm_req *window_end_some(struct dm_rounds *r)
{
    struct dm_window *w = &r->window;

    while (w->next < w->last) {
        struct dm_req **req_p = &r->agg_reqs[w->next];
        int n = 1, peer;
        uint64_t len;

        if (*req_p != NULL && !dm_req_is_done(*req_p))
            return *req_p;
        if (r->m->is_write) {
            n = window_message(r, w->next, &len, &peer);
            window_take(r, w->next, n);
        } else if (*req_p != NULL) {
            dm_rounds_fail(r, dm_io_reap(req_p));
        }
        w->next += n;
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

    if (r->me < 0)
        return DM_ROUND_CLOSED;
    window_bounds(r);
    w->last = 0;
    if (w->high <= w->low)
        return DM_ROUND_CLOSED;
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
    return r->m->is_write ? DM_ROUND_ACCESS : DM_ROUND_CLOSED;
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
        return r->m->is_write ? DM_ROUND_CLOSED : DM_ROUND_SOME;
    case DM_ROUND_SOME:
        window_start_some(r);
        return DM_ROUND_EACH;
    default:
        *req_p = window_end_some(r);
        return *req_p == NULL ? window_after_some(r) : DM_ROUND_EACH;
    }
}
