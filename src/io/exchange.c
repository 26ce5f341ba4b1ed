/*
 * Collective transfers: the plan. All processes tell what they access, then decide alike whether
 * data are exchanged, and who the aggregators are.
 */
#include "io/exchange.h"

#include <stdlib.h>

#include "io/ship.h"
#include "io/two_phase.h"
#include "mpi/coll/coll.h"
#include "mpi/node/node.h"

#define VIEW_MOST   ((uint64_t)1 << 24) /* bytes of a view that is shipped */
#define PART_LONG   ((uint64_t)1 << 20) /* a contiguous part that needs no help */
#define DOMAIN_UNIT ((int64_t)1 << 16)  /* domains begin at multiples of that, or of a stripe */

static enum dm_hint_use exchange_use(const struct dm_file *f, bool is_write)
{
    return is_write ? f->hints.cb_write : f->hints.cb_read;
}

bool dm_exchange_is_for(const struct dm_file *f, bool is_write)
{
    enum dm_hint_use use = exchange_use(f, is_write);

    if (f->comm == NULL || use == DM_HINT_DISABLE || dm_datarep_converts(f->view->rep))
        return false;
    /* Where all share one page cache, nothing is cheaper than to copy into it. */
    return use == DM_HINT_ENABLE || !f->is_one_cache;
}

/* What this process has to say. */
static struct dm_plan_part exchange_part(struct dm_file *f, const struct dm_move *m, int err)
{
    struct dm_plan_part part = {.pos = m->pos, .len = m->len, .err = err};
    int bad = dm_ship_measure(f, &part.view_bytes);

    if (part.len > 0) {
        part.low = dm_view_offset(f->view, part.pos);
        part.high = dm_view_offset(f->view, part.pos + part.len - 1) + 1;
    }
    part.is_refused = bad != DM_OK || part.view_bytes > VIEW_MOST || f->view->has_overlaps;
    return part;
}

/* Are data to be exchanged? Fills in low and high of all. */
static bool exchange_is_worth(const struct dm_file *f, bool is_write, struct dm_plan *plan)
{
    bool is_long = true;

    plan->low = INT64_MAX;
    plan->high = 0;
    for (int r = 0; r < f->size; r++) {
        const struct dm_plan_part *p = &plan->parts[r];

        if (p->is_refused)
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
    return exchange_use(f, is_write) == DM_HINT_ENABLE || !is_long;
}

/* One process of each host, then the second ones, ... */
static int exchange_choose_aggs(struct dm_file *f, struct dm_plan *plan)
{
    const struct dm_node_map *nodes = dm_node_map(f->comm->group);
    uint64_t want = f->hints.cb_nodes;
    int *taken;

    if (nodes == NULL)
        return DM_FAIL(DM_ENOMEM, "hosts of %d processes", f->size);
    plan->n_agg = want == 0 ? nodes->n_nodes : want < (uint64_t)f->size ? (int)want : f->size;
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

/* Equal domains of the file, whole stripes or pages. */
static void exchange_cut(const struct dm_file *f, struct dm_plan *plan)
{
    int64_t unit = f->hints.striping_unit > 0 ? (int64_t)f->hints.striping_unit : DOMAIN_UNIT;
    int64_t low = plan->low / unit * unit, each = (plan->high - low) / plan->n_agg + 1;

    plan->low = low;
    plan->domain = (each + unit - 1) / unit * unit;
    plan->window = (int64_t)f->hints.cb_buffer_size;
}

/* Some process has failed to write: what of ours is there, below the lowest offset that is not. */
static void exchange_count_good(struct dm_file *f, struct dm_move *m, int64_t good)
{
    int64_t lowest = 0;
    uint64_t pos;

    if (dm_allreduce(&good, &lowest, 1, dm_type_get(MPI_INT64_T), dm_op_get(MPI_MIN), f->comm) !=
        DM_OK)
        lowest = 0;
    pos = m->len > 0 ? dm_view_pos(f->view, lowest) : 0;
    if (pos < m->pos + m->done)
        m->done = pos > m->pos ? pos - m->pos : 0;
}

static int exchange_go(struct dm_file *f, struct dm_move *m, struct dm_plan *plan)
{
    int err = dm_file_agree(f, exchange_choose_aggs(f, plan));
    int64_t good;

    if (err != DM_OK)
        return err;
    exchange_cut(f, plan);
    err = dm_ship_views(f, plan->parts, plan->aggs, plan->n_agg);
    if (err != DM_OK)
        return err;
    if (!m->is_write)
        return dm_file_agree(f, dm_two_phase_read(f, m, plan));
    err = dm_file_agree(f, dm_two_phase_write(f, m, plan, &good));
    if (err != DM_OK)
        exchange_count_good(f, m, good);
    return err;
}

/* The lock of atomic mode is taken by the first process for all, before anybody knows the plan. */
static int exchange_lock(struct dm_file *f)
{
    return f->is_atomic && f->rank == 0 ? dm_file_lock(f) : DM_OK;
}

static int exchange_unlock(struct dm_file *f)
{
    return f->is_atomic && f->rank == 0 ? dm_file_unlock(f) : DM_OK;
}

int dm_exchange_run(struct dm_file *f, struct dm_move *m, int err, bool *is_done_p)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct dm_plan plan = {.parts = f->parts};
    int lock_err = exchange_lock(f), bad;
    struct dm_plan_part mine = exchange_part(f, m, err != DM_OK ? err : lock_err);

    *is_done_p = false;
    bad = dm_allgather(&mine, sizeof(mine), byte, plan.parts, sizeof(mine), byte, f->comm);
    if (bad == DM_OK && exchange_is_worth(f, m->is_write, &plan)) {
        *is_done_p = true;
        bad = exchange_go(f, m, &plan);
    }
    if (lock_err == DM_OK)
        lock_err = exchange_unlock(f);
    free(plan.aggs);
    return bad != DM_OK ? bad : lock_err;
}
