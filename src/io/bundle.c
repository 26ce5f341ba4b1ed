/*
 * Bundles: the leader of a host gathers what its processes have for an aggregator on another host, or
 * takes it from there and hands it out. So a network has fewer and longer messages.
 *
 * A bundle is of as many processes in a row as have no more than a window together. Leader and
 * aggregator know both from the views. When it is read, the offset up to which there is a file is in
 * front, and of each process only what lies below it.
 */
#include <stdlib.h>
#include <string.h>

#include "io/agree.h"
#include "io/rounds.h"
#include "mpi/pt2pt/pt2pt.h"

struct dm_bundles {
    int n;                  /* processes of this host, */
    const int *ranks;       /* and their ranks */
    int total;              /* n times the aggregators */
    struct dm_cursor *in;   /* process i for aggregator a is number a * n + i; empty on this host */
    struct dm_req **local;  /* likewise: messages with the processes */
    struct dm_req **remote; /* of the first process of a bundle: the message with the aggregator */
    char *mem;              /* all bundles of a round */
    int next;               /* first process of the bundle that is passed on next, */
    uint64_t at;            /* and where that begins in mem */
};

int dm_bundle_extent(const struct dm_plan *plan, const struct dm_cursor *c, int n, int64_t round,
                     uint64_t *len_p)
{
    int i = 0;

    *len_p = 0;
    for (; i < n; i++) {
        uint64_t len = dm_cursor_len(plan, &c[i], round);

        if (*len_p + len > (uint64_t)plan->window)
            break;
        *len_p += len;
    }
    return i;
}

/* The same of the bundle that begins with number k. */
static int bundle_at(const struct dm_rounds *r, int k, uint64_t *len_p)
{
    const struct dm_bundles *b = r->bundles;

    return dm_bundle_extent(r->plan, &b->in[k], b->n - k % b->n, r->round, len_p);
}

static size_t bundle_head(const struct dm_rounds *r)
{
    return r->m->is_write ? 0 : DM_BUNDLE_HEAD;
}

/* ---- begin and end ---- */

bool dm_bundles_alloc(struct dm_rounds *r)
{
    const struct dm_node_map *nodes = r->plan->nodes;
    struct dm_bundles *b;

    if (!r->plan->gathers[nodes->node] || nodes->lrank != 0)
        return true;
    r->bundles = b = calloc(1, sizeof(*b));
    if (b == NULL)
        return false;
    b->n = nodes->n_local;
    b->ranks = nodes->ranks;
    b->total = b->n * r->plan->n_agg;
    b->in = calloc((size_t)b->total, sizeof(*b->in));
    b->local = calloc((size_t)b->total, sizeof(struct dm_req *));
    b->remote = calloc((size_t)b->total, sizeof(struct dm_req *));
    return b->in != NULL && b->local != NULL && b->remote != NULL;
}

void dm_bundles_free(struct dm_rounds *r)
{
    struct dm_bundles *b = r->bundles;

    if (b == NULL)
        return;
    free(b->in);
    free(b->local);
    free(b->remote);
    free(b->mem);
    free(b);
}

static void bundles_rewind(struct dm_rounds *r)
{
    struct dm_bundles *b = r->bundles;

    for (int k = 0; k < b->total; k++) {
        int rank = b->ranks[k % b->n], agg = k / b->n;

        if (dm_plan_is_gathered(r->plan, rank, agg))
            b->in[k] = dm_cursor_make(r->plan, dm_ship_view(r->f, rank), rank, agg);
    }
}

int64_t dm_bundles_next(const struct dm_rounds *r)
{
    const struct dm_bundles *b = r->bundles;
    int64_t next = DM_ROUND_NONE;

    for (int k = 0; b != NULL && k < b->total; k++) {
        int64_t round = dm_cursor_round(r->plan, &b->in[k]);

        next = round < next ? round : next;
    }
    return next;
}

/* Bytes of the round that has most; all are gone through. */
static uint64_t bundles_most(struct dm_rounds *r)
{
    struct dm_bundles *b = r->bundles;
    uint64_t most = 0;

    for (int64_t round; (round = dm_bundles_next(r)) != DM_ROUND_NONE;) {
        uint64_t sum = 0;

        for (int k = 0; k < b->total; k++) {
            uint64_t len = dm_cursor_len(r->plan, &b->in[k], round);

            b->in[k].pos += len;
            sum += len;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

int dm_bundles_begin(struct dm_rounds *r)
{
    struct dm_bundles *b = r->bundles;
    uint64_t most;

    if (b == NULL)
        return DM_OK;
    bundles_rewind(r);
    most = bundles_most(r) + (uint64_t)b->total * DM_BUNDLE_HEAD;
    bundles_rewind(r);
    b->mem = malloc(most);
    return b->mem != NULL ? DM_OK
                          : DM_FAIL(DM_ENOMEM, "data of a host's processes, %llu bytes",
                                    (unsigned long long)most);
}

/* ---- a round ---- */

void dm_bundles_start(struct dm_rounds *r)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct dm_bundles *b = r->bundles;
    uint64_t at = 0, len;

    if (b == NULL)
        return;
    b->next = 0;
    b->at = 0;
    for (int k = 0, n; k < b->total; k += n, at += len) {
        n = 1;
        len = r->m->is_write ? dm_cursor_len(r->plan, &b->in[k], r->round) : 0;
        if (len > 0)
            dm_rounds_fail(r, dm_irecv(b->mem + at, len, byte, b->ranks[k % b->n], DM_BUNDLE_TAG,
                                       r->f->comm, &b->local[k]));
        if (r->m->is_write)
            continue;
        n = bundle_at(r, k, &len);
        if (len == 0)
            continue;
        len += DM_BUNDLE_HEAD;
        dm_rounds_fail(r, dm_irecv(b->mem + at, len, byte, r->plan->aggs[k / b->n], DM_ROUND_TAG,
                                   r->f->comm, &b->remote[k]));
    }
}

/* What is waited for among n messages; NULL: they are over. */
static struct dm_req *bundles_reap(struct dm_rounds *r, struct dm_req **reqs, int n)
{
    for (int i = 0; i < n; i++) {
        if (reqs[i] == NULL)
            continue;
        if (!dm_req_is_done(reqs[i]))
            return reqs[i];
        dm_rounds_fail(r, dm_io_reap(&reqs[i]));
    }
    return NULL;
}

/* All of a bundle has come from the processes: to the aggregator. */
static void bundle_send(struct dm_rounds *r, int n, uint64_t len)
{
    struct dm_bundles *b = r->bundles;
    int k = b->next;

    dm_rounds_fail(r, dm_isend(b->mem + b->at, len, dm_type_get(MPI_BYTE), r->plan->aggs[k / b->n],
                               DM_ROUND_TAG, r->f->comm, &b->remote[k]));
    for (int i = 0; i < n; i++)
        b->in[k + i].pos += dm_cursor_len(r->plan, &b->in[k + i], r->round);
}

/* A bundle has come from the aggregator: to each process what is there of its data. */
static void bundle_hand_out(struct dm_rounds *r, int n)
{
    struct dm_bundles *b = r->bundles;
    const char *src = b->mem + b->at + DM_BUNDLE_HEAD;
    int64_t end;

    memcpy(&end, b->mem + b->at, sizeof(end));
    for (int k = b->next; k < b->next + n; k++) {
        struct dm_cursor *c = &b->in[k];
        uint64_t len = dm_cursor_len(r->plan, c, r->round), valid;

        if (len == 0)
            continue;
        valid = dm_cursor_valid(c, len, end);
        dm_rounds_fail(r, dm_isend(src, valid, dm_type_get(MPI_BYTE), b->ranks[k % b->n],
                                   DM_BUNDLE_TAG, r->f->comm, &b->local[k]));
        src += valid;
        c->pos += len;
    }
}

struct dm_req *dm_bundles_pass_on(struct dm_rounds *r)
{
    struct dm_bundles *b = r->bundles;

    while (b != NULL && b->next < b->total) {
        uint64_t len;
        int n = bundle_at(r, b->next, &len);
        struct dm_req *req = r->m->is_write ? bundles_reap(r, &b->local[b->next], n)
                                            : bundles_reap(r, &b->remote[b->next], 1);

        if (req != NULL)
            return req;
        if (len > 0) {
            if (r->m->is_write)
                bundle_send(r, n, len);
            else
                bundle_hand_out(r, n);
            r->m->n_way[DM_WAY_GATHERED] += len;
            b->at += len + bundle_head(r);
        }
        b->next += n;
    }
    return NULL;
}

struct dm_req *dm_bundles_end(struct dm_rounds *r)
{
    struct dm_bundles *b = r->bundles;

    if (b == NULL)
        return NULL;
    return bundles_reap(r, r->m->is_write ? b->remote : b->local, b->total);
}
