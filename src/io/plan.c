/*
 * The plan: from what all processes access they decide alike whether data are exchanged, and who the
 * aggregators are.
 */
#include "io/plan.h"

#include <stdlib.h>

#include "channel/channel.h"
#include "io/ship.h"
#include "io/way.h"
#include "util/host.h"

#define VIEW_MOST   ((uint64_t)1 << 24) /* bytes of a view that is shipped */
#define GATHER_MEAN ((uint64_t)1 << 14) /* shorter messages to other hosts are gathered first */
#define PART_LONG   ((uint64_t)1 << 20) /* a contiguous part that needs no help */
#define DOMAIN_UNIT ((int64_t)1 << 16)  /* domains begin at multiples of that, or of a stripe */

#define BUFFER_LONG  ((uint64_t)16 << 20) /* rounds between hosts wait for messages: few of them */
#define BUFFER_DISK  ((uint64_t)2 << 20)  /* within a host windows stay in a processor's cache, */
#define BUFFER_CACHE ((uint64_t)1 << 20)  /* of more processes at a time if the file is in memory */
#define WRITERS_MOST 8                    /* who writes to a file excludes the others, partly */
#define ALONE_MOST   63                   /* calls that do not ask, after many in vain */

/* Of the processor: that a process takes part in an exchange, a message of it, a byte that is exchanged. */
#define PART_NS    250000
#define MESSAGE_NS 10000
#define COPY_PS    300

static enum dm_hint_use plan_use(const struct dm_file *f, bool is_write)
{
    return is_write ? f->hints.cb_write : f->hints.cb_read;
}

bool dm_plan_is_hinted(const struct dm_file *f, bool is_write)
{
    enum dm_hint_use use = plan_use(f, is_write);

    if (f->comm == NULL || use == DM_HINT_DISABLE)
        return false;
    /* Where all share one page cache, it depends on what they access. */
    return use == DM_HINT_ENABLE || !f->is_one_cache;
}

bool dm_plan_is_asked(struct dm_file *f, bool is_write)
{
    if (f->comm == NULL || plan_use(f, is_write) == DM_HINT_DISABLE)
        return false;
    return dm_plan_is_hinted(f, is_write) ||
           (f->has_view && !dm_backoff_skips(&f->alone[is_write]));
}

struct dm_plan_part dm_plan_part(struct dm_file *f, const struct dm_move *m)
{
    struct dm_plan_part part = {.pos = m->pos, .len = m->len};
    int bad = dm_ship_measure(f, &part.view_bytes);

    if (part.len > 0) {
        part.low = dm_view_offset(f->view, part.pos);
        part.high = dm_view_offset(f->view, part.pos + part.len - 1) + 1;
    }
    part.alone_ns = dm_way_cost(m, dm_chan_is_oversubscribed(dm_world.chan));
    part.has_writes = f->cache.has_writes;
    part.is_refused =
        bad != DM_OK || m->is_refused || part.view_bytes > VIEW_MOST || f->view->has_overlaps;
    return part;
}

/*
 * Within a host data are copied once more, and there are messages; but each page of the file is touched
 * by one process only, and each byte is read once.
 */
static bool plan_saves(const struct dm_file *f, const struct dm_plan *plan)
{
    uint64_t span = (uint64_t)(plan->high - plan->low), n_agg = (uint64_t)dm_plan_n_agg(f);
    uint64_t alone_ns = 0, len = 0, n_rounds;

    for (int r = 0; r < f->size; r++) {
        alone_ns += plan->parts[r].alone_ns;
        len += plan->parts[r].len;
    }
    if (n_agg == 0)
        return false;
    n_rounds = span / n_agg / (dm_plan_buffer(f) / 2) + 1;
    return alone_ns >
           len * COPY_PS / 1000 + (uint64_t)f->size * (PART_NS + n_agg * n_rounds * MESSAGE_NS);
}

/* Is it for a file within a host, where no hint asks for it? */
static bool plan_saves_alone(struct dm_file *f, bool is_write, const struct dm_plan *plan)
{
    bool saves = plan_saves(f, plan);

    if (saves)
        dm_backoff_worked(&f->alone[is_write]);
    else
        dm_backoff_failed(&f->alone[is_write], ALONE_MOST);
    return saves;
}

bool dm_plan_is_worth(struct dm_file *f, bool is_write, bool must, struct dm_plan *plan)
{
    bool is_long = true;

    plan->low = INT64_MAX;
    plan->high = 0;
    plan->has_writes = false;
    for (int r = 0; r < f->size; r++) {
        const struct dm_plan_part *p = &plan->parts[r];

        plan->has_writes |= p->has_writes != 0;
        if (p->is_refused && !must)
            return false;
        if (p->len == 0)
            continue;
        if (p->low < plan->low)
            plan->low = p->low;
        if (p->high > plan->high)
            plan->high = p->high;
        is_long = is_long && (uint64_t)(p->high - p->low) == p->len && p->len >= PART_LONG;
    }
    if (plan->high <= plan->low)
        return false;
    if (!must && !dm_plan_is_hinted(f, is_write))
        return plan_saves_alone(f, is_write, plan);
    return must || plan_use(f, is_write) == DM_HINT_ENABLE || !is_long;
}

int dm_plan_n_writers(const struct dm_file *f)
{
    int size = f->size, n;

    if (!f->disk.is_memory)
        return 1;
    n = dm_chan_is_oversubscribed(dm_world.chan) ? dm_host_cores() : size;

    n = n < WRITERS_MOST ? n : WRITERS_MOST;
    return n < size ? n : size;
}

/* Processes that may aggregate where so many of each host may; 0: all. */
static uint64_t plan_listed(const struct dm_file *f, const struct dm_node_map *nodes)
{
    uint64_t each = f->hints.cb_per_host, listed = 0, *seen;

    if (each == 0 || nodes == NULL || each >= (uint64_t)f->size)
        return 0;
    if (each == 1)
        return (uint64_t)nodes->n_nodes;
    seen = calloc((size_t)nodes->n_nodes, sizeof(*seen));
    for (int r = 0; r < f->size && seen != NULL; r++)
        listed += seen[nodes->node_of[r]]++ < each;
    free(seen);
    return listed;
}

int dm_plan_n_agg(const struct dm_file *f)
{
    const struct dm_node_map *nodes = dm_node_map(f->group);
    uint64_t want = f->hints.cb_nodes, listed = plan_listed(f, nodes);

    if (listed > 0 && (want == 0 || want > listed))
        want = listed;
    if (want > 0)
        return want < (uint64_t)f->size ? (int)want : f->size;
    if (f->is_one_cache)
        return f->n_writers;
    return nodes != NULL ? nodes->n_nodes : 0;
}

uint64_t dm_plan_buffer(const struct dm_file *f)
{
    if (f->hints.cb_buffer_size > 0)
        return f->hints.cb_buffer_size;
    if (!f->is_one_cache)
        return BUFFER_LONG;
    return f->disk.is_memory ? BUFFER_CACHE : BUFFER_DISK;
}

/* One process of each host, then the second ones, ... */
static int plan_choose_aggs(struct dm_file *f, struct dm_plan *plan)
{
    const struct dm_node_map *nodes = dm_node_map(f->group);
    int *taken;

    if (nodes == NULL)
        return DM_FAIL(DM_ENOMEM, "hosts of %d processes", f->size);
    plan->nodes = nodes;
    plan->n_agg = dm_plan_n_agg(f);
    plan->aggs = malloc((size_t)plan->n_agg * sizeof(*plan->aggs));
    taken = calloc((size_t)f->size, sizeof(*taken));
    if (plan->aggs == NULL || taken == NULL) {
        free(taken);
        return DM_FAIL(DM_ENOMEM, "%d aggregators", plan->n_agg);
    }
    for (int n = 0; n < plan->n_agg;) {
        for (int node = 0; node < nodes->n_nodes && n < plan->n_agg; node++) {
            int r = nodes->leaders[node];

            while (r < f->size && (taken[r] || nodes->node_of[r] != node))
                r++;
            if (r == f->size)
                continue;
            taken[r] = 1;
            plan->aggs[n++] = r;
        }
    }
    free(taken);
    return DM_OK;
}

/* Equal domains of the file, whole stripes or pages; two windows share the buffer where one is not enough. */
static void plan_cut(const struct dm_file *f, struct dm_plan *plan)
{
    int64_t unit = f->hints.striping_unit > 0 ? (int64_t)f->hints.striping_unit : DOMAIN_UNIT;
    int64_t low = plan->low / unit * unit, each = (plan->high - low) / plan->n_agg + 1;
    int64_t buffer = (int64_t)dm_plan_buffer(f);

    plan->low = low;
    plan->domain = (each + unit - 1) / unit * unit;
    plan->n_windows = buffer < plan->domain ? 2 : 1;
    plan->window = plan->n_windows == 2 ? buffer / 2 : plan->domain;
}

/* The window that an offset lies in, counted through all domains. */
static int64_t plan_window(const struct dm_plan *plan, int64_t offset)
{
    int64_t each = (plan->domain + plan->window - 1) / plan->window, at = offset - plan->low;

    return at / plan->domain * each + at % plan->domain / plan->window;
}

/*
 * Messages cost the more, the shorter they are, copies within a host do not. A host's are short when
 * its processes have few bytes in each window that they reach into.
 */
static bool plan_host_gathers(const struct dm_file *f, const struct dm_plan *plan, int node)
{
    uint64_t bytes = 0, n_messages = 0;
    int n = 0;

    for (int r = 0; r < f->size; r++) {
        const struct dm_plan_part *p = &plan->parts[r];

        if (plan->nodes->node_of[r] != node || p->len == 0)
            continue;
        n++;
        bytes += p->len;
        n_messages += (uint64_t)(plan_window(plan, p->high - 1) - plan_window(plan, p->low) + 1);
    }
    if (n < 2 || f->hints.cb_gather == DM_HINT_DISABLE)
        return false;
    return f->hints.cb_gather == DM_HINT_ENABLE || bytes / n_messages < GATHER_MEAN;
}

static int plan_gather(const struct dm_file *f, struct dm_plan *plan)
{
    int n = plan->nodes->n_nodes;

    plan->gathers = calloc((size_t)n, sizeof(*plan->gathers));
    if (plan->gathers == NULL)
        return DM_FAIL(DM_ENOMEM, "%d hosts", n);
    for (int i = 0; i < n && n > 1; i++)
        plan->gathers[i] = plan_host_gathers(f, plan, i);
    return DM_OK;
}

int dm_plan_make(struct dm_file *f, struct dm_plan *plan)
{
    int err = plan_choose_aggs(f, plan);

    if (err != DM_OK)
        return err;
    plan_cut(f, plan);
    return plan_gather(f, plan);
}

void dm_plan_free(struct dm_plan *plan)
{
    free(plan->aggs);
    free(plan->gathers);
}

bool dm_plan_is_gathered(const struct dm_plan *plan, int rank, int agg)
{
    int node = plan->nodes->node_of[rank];

    return plan->gathers[node] && plan->nodes->node_of[plan->aggs[agg]] != node;
}

void dm_plan_count_good(const struct dm_file *f, struct dm_move *m, int64_t lowest)
{
    uint64_t pos = m->len > 0 ? dm_view_pos(f->view, lowest) : 0;

    if (pos < m->pos + m->done)
        m->done = pos > m->pos ? pos - m->pos : 0;
}
