/*
 * An aggregator's windows: what all have in one comes in or goes out by messages, some processes at a
 * time, and the file is accessed once for all of it, by a thread, beside the messages of the other window.
 */
#include <stdlib.h>
#include <string.h>

#include "io/agree.h"
#include "io/rounds.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/glock.h"

#define ONES_LEN   4096
#define PIPE_LEAST ((int64_t)64 << 10) /* a thread costs a blocking call more than it gains below */

static struct dm_window *window_now(struct dm_rounds *r)
{
    return &r->windows.each[r->windows.now];
}

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

static bool window_alloc(struct dm_rounds *r, struct dm_window *w)
{
    size_t len = (size_t)r->plan->window;

    w->r = r;
    w->mem = malloc(len);
    w->mask = malloc(r->m->is_write ? len : 1);
    return w->mem != NULL && w->mask != NULL;
}

bool dm_windows_alloc(struct dm_rounds *r)
{
    size_t size = (size_t)r->f->size;

    r->order = calloc(size, sizeof(*r->order));
    r->in = calloc(size, sizeof(*r->in));
    r->agg_reqs = calloc(size, sizeof(struct dm_req *));
    r->windows.stage = malloc((size_t)r->plan->window + size * DM_BUNDLE_HEAD);
    if (r->order == NULL || r->in == NULL || r->agg_reqs == NULL || r->windows.stage == NULL)
        return false;
    for (int i = 0; i < r->plan->n_windows; i++)
        if (!window_alloc(r, &r->windows.each[i]))
            return false;
    window_order(r);
    return true;
}

void dm_windows_free(struct dm_rounds *r)
{
    free(r->order);
    free(r->in);
    free(r->agg_reqs);
    free(r->windows.stage);
    for (int i = 0; i < 2; i++) {
        free(r->windows.each[i].mem);
        free(r->windows.each[i].mask);
    }
}

/* ---- messages ---- */

/* The data of process number i: in the present round, or behind it. */
static struct dm_cursor window_cursor(const struct dm_rounds *r, int i, bool is_ahead)
{
    struct dm_cursor c = r->in[i];

    if (is_ahead)
        c.pos += dm_cursor_len(r->plan, &c, r->round);
    return c;
}

/* The next round in which an aggregator has something to do. */
static int64_t window_round_ahead(const struct dm_rounds *r)
{
    int64_t next = DM_ROUND_NONE;

    for (int i = 0; i < r->f->size; i++) {
        struct dm_cursor c = window_cursor(r, i, true);
        int64_t round = dm_cursor_round(r->plan, &c);

        next = round < next ? round : next;
    }
    return next;
}

/* What of the file the data of the present round lie in, or of the next one. False: in nothing. */
static bool window_bounds(const struct dm_rounds *r, struct dm_window *w, bool is_ahead)
{
    w->round = is_ahead ? window_round_ahead(r) : r->round;
    w->low = INT64_MAX;
    w->high = 0;
    for (int i = 0; i < r->f->size && w->round != DM_ROUND_NONE; i++) {
        struct dm_cursor c = window_cursor(r, i, is_ahead);
        uint64_t len = dm_cursor_len(r->plan, &c, w->round);
        int64_t low, high;

        if (len == 0)
            continue;
        low = dm_view_offset(c.view, c.pos);
        high = dm_view_offset(c.view, c.pos + len - 1) + 1;
        w->low = low < w->low ? low : w->low;
        w->high = high > w->high ? high : w->high;
    }
    return w->high > w->low;
}

static void window_mark(struct dm_rounds *r, const struct dm_cursor *c, uint64_t len)
{
    struct dm_window *w = window_now(r);
    char ones[ONES_LEN];

    memset(ones, 1, sizeof(ones));
    for (uint64_t at = 0; at < len; at += ONES_LEN)
        dm_view_scatter(c->view, w->mask, w->low, c->pos + at, ones,
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
    struct dm_window *w = window_now(r);
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
    struct dm_windows *w = &r->windows;
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
    struct dm_windows *all = &r->windows;
    struct dm_window *w = window_now(r);
    int err = r->agg_reqs[i] != NULL ? dm_io_reap(&r->agg_reqs[i]) : DM_OK;

    dm_rounds_fail(r, err);
    for (struct dm_cursor *c = &r->in[i]; c < &r->in[i + n]; c++) {
        uint64_t len = dm_cursor_len(r->plan, c, r->round);

        if (len > 0 && err == DM_OK) {
            dm_view_scatter(c->view, w->mem, w->low, c->pos, all->stage + all->used, len);
            window_mark(r, c, len);
        }
        c->pos += len;
        all->used += len;
    }
}

/* What is waited for; NULL: the messages that were started are over. */
static struct dm_req *window_end_some(struct dm_rounds *r)
{
    struct dm_windows *w = &r->windows;

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
static int window_write(struct dm_window *w)
{
    const struct dm_disk *disk = &w->r->f->disk;
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
        err = dm_disk_write(disk, w->mem + at, n, (uint64_t)w->low + at, &done);
        w->written += done;
        if (err != DM_OK)
            w->good = w->low + (int64_t)(at + done);
        at += n;
    }
    /* Whoever reads it alone may be on another host. */
    if (err == DM_OK && w->r->f->cache.is_own)
        err = dm_disk_write_out(disk, (uint64_t)w->low, len);
    if (err != DM_OK && w->good == INT64_MAX)
        w->good = w->low;
    return err;
}

/* In a thread, or in the call. After an error of this aggregator nothing more is written. */
static int window_access(void *arg)
{
    struct dm_window *w = arg;
    int err;

    if (!w->r->m->is_write)
        return dm_disk_read(&w->r->f->disk, w->mem, (size_t)(w->high - w->low), (uint64_t)w->low,
                            &w->got);
    err = w->r->windows.is_stopped ? DM_OK : window_write(w);
    if (err != DM_OK)
        w->r->windows.is_stopped = true;
    return err;
}

static bool window_part(void *arg, int *err_p)
{
    *err_p = window_access(arg);
    return true;
}

static void window_job_over(void *arg)
{
    ((struct dm_window *)arg)->job_req.n_pending = 0;
}

/* Where nothing can be done meanwhile the call does it. True: a thread does. */
static bool window_begin(struct dm_rounds *r, struct dm_window *w)
{
    bool by_thread = !r->blocks || (r->plan->n_windows > 1 && r->plan->window >= PIPE_LEAST);
    int levels, err;

    w->job = (struct dm_io_job){.part = window_part, .over = window_job_over, .arg = w};
    w->is_busy = true;
    w->got = 0;
    w->written = 0;
    w->good = INT64_MAX;
    w->job_req.n_pending = 1;
    if (by_thread && dm_io_job_start(&w->job))
        return true;
    w->job_req.n_pending = 0;
    levels = dm_glock_release_all();
    err = window_access(w);
    dm_glock_reacquire(levels);
    dm_io_result_set(&w->job.result, err);
    return false;
}

/* What is waited for until its access is over; NULL: none is under way. */
static struct dm_req *window_reap(struct dm_rounds *r, struct dm_window *w)
{
    if (!w->is_busy)
        return NULL;
    if (w->job_req.n_pending > 0)
        return &w->job_req;
    w->is_busy = false;
    r->good = w->good < r->good ? w->good : r->good;
    r->m->n_way[DM_WAY_TWO_PHASE] += w->written;
    dm_rounds_note(r, dm_io_result_get(&w->job.result));
    return NULL;
}

struct dm_req *dm_windows_drain(struct dm_rounds *r)
{
    struct dm_req *req = NULL;

    for (int i = 0; i < 2 && req == NULL; i++)
        req = window_reap(r, &r->windows.each[i]);
    return req;
}

/* ---- stages ---- */

static void window_pass(struct dm_rounds *r)
{
    r->windows.now = (r->windows.now + 1) % r->plan->n_windows;
}

/* It is taken when what was in it is written. */
static enum dm_round_stage window_open_to_write(struct dm_rounds *r, struct dm_req **req_p)
{
    struct dm_window *w = window_now(r);

    *req_p = window_reap(r, w);
    if (*req_p != NULL)
        return DM_ROUND_WINDOW;
    if (!window_bounds(r, w, false))
        return DM_ROUND_CLOSED;
    memset(w->mask, 0, (size_t)(w->high - w->low));
    return DM_ROUND_SOME;
}

/* Perhaps it is being read already; then the next one. */
static enum dm_round_stage window_open_to_read(struct dm_rounds *r)
{
    struct dm_window *w = window_now(r), *other = &r->windows.each[1 - r->windows.now];
    bool by_thread = w->is_busy;

    if (w->is_busy && w->round > r->round)
        return DM_ROUND_CLOSED;
    if (!w->is_busy) {
        if (!window_bounds(r, w, false))
            return DM_ROUND_CLOSED;
        by_thread = window_begin(r, w);
    }
    if (by_thread && r->plan->n_windows > 1 && window_bounds(r, other, true))
        (void)window_begin(r, other);
    return DM_ROUND_READ;
}

/* What follows when all messages of a window's part are over. */
static enum dm_round_stage window_after_some(struct dm_rounds *r)
{
    if (r->windows.last < r->f->size)
        return DM_ROUND_SOME;
    if (r->m->is_write)
        (void)window_begin(r, window_now(r));
    window_pass(r);
    return DM_ROUND_CLOSED;
}

enum dm_round_stage dm_window_step(struct dm_rounds *r, struct dm_req **req_p)
{
    *req_p = NULL;
    switch (r->stage) {
    case DM_ROUND_WINDOW:
        r->windows.last = 0;
        if (r->me < 0)
            return DM_ROUND_CLOSED;
        return r->m->is_write ? window_open_to_write(r, req_p) : window_open_to_read(r);
    case DM_ROUND_READ:
        *req_p = window_reap(r, window_now(r));
        return *req_p == NULL ? DM_ROUND_SOME : DM_ROUND_READ;
    case DM_ROUND_SOME:
        window_start_some(r);
        return DM_ROUND_EACH;
    default:
        *req_p = window_end_some(r);
        return *req_p == NULL ? window_after_some(r) : DM_ROUND_EACH;
    }
}
