/*
 * Counters of DATUM_STATS. Everything here is counted where it costs nothing, or reckoned from what
 * the objects know; the list is the same, in length and order, on every process.
 */
#include "dapl_adapt/adapt.h"
#include "dapl_adapt/card.h"
#include "dapl_adapt/ring.h"

struct list {
    struct dm_adapt_stat *at;
    int n;
    int max;
};

static void add(struct list *list, const char *name, const char *unit, uint64_t value)
{
    if (list->n < list->max)
        list->at[list->n++] = (struct dm_adapt_stat){name, unit, value};
}

/* What one connection holds, besides what the provider does for it. */
static uint64_t conn_len(const struct dm_conn *conn)
{
    uint64_t len = sizeof(*conn);

    if (conn->card != NULL)
        len += sizeof(*conn->card);
    if (conn->rx.foots != NULL)
        len += conn->n_slots * sizeof(*conn->rx.foots);
    return len;
}

static void add_conns(struct list *list, const struct dm_adapt *adapt)
{
    const struct dm_conn *conn;
    uint64_t n_up = 0;
    uint64_t n_active = 0;
    uint64_t n_links = 0;
    uint64_t n_moves = 0;
    uint64_t objects = 0;
    uint64_t rings = 0;

    dm_conn_for_each (conn, adapt) {
        objects += conn_len(conn);
        rings += conn->region.ptr != NULL ? conn->region.len : 0;
        n_moves += (uint64_t)conn->n_moves;
        if (!conn->is_up)
            continue;
        n_up++;
        n_active += conn->link[DM_LINK_PIPE].is_active;
        n_links += conn->link[DM_LINK_PIPE].state == DM_LINK_UP;
        n_links += conn->link[DM_LINK_RDMA].state == DM_LINK_UP;
    }
    add(list, "peers connected", "", n_up);
    add(list, "  by this side", "", n_active);
    add(list, "  endpoints", "", n_links);
    add(list, "  moved to another rail", "", n_moves);
    add(list, "memory per process", "bytes", dm_adapt_fixed_len(adapt));
    add(list, "memory of peers: objects", "bytes", objects);
    add(list, "memory of peers: rings", "bytes", rings);
    add(list, "  for each peer", "bytes", n_up > 0 ? (objects + rings) / n_up : 0);
}

uint64_t dm_adapt_fixed_len(const struct dm_adapt *adapt)
{
    uint64_t n = (uint64_t)adapt->job.size;

    return sizeof(*adapt) + n * (sizeof(*adapt->conns) + sizeof(*adapt->active)) +
           (adapt->probe != NULL ? 2 * DM_PROBE_LEN : 0) +
           (uint64_t)adapt->n_ias * sizeof(struct dm_ia);
}

static void add_rails(struct list *list, const struct dm_adapt *adapt)
{
    static const char *const records[DM_RAILS_MAX] = {"rail 0: records", "rail 1: records",
                                                      "rail 2: records", "rail 3: records"};
    static const struct dm_ia_counts none;
    const struct dm_ia_counts *counts;
    uint64_t n_records[DM_RAILS_MAX] = {0};
    uint64_t pipe_len[DM_RAILS_MAX] = {0};
    const struct dm_conn *conn;

    dm_conn_for_each (conn, adapt) {
        if (conn->ia == NULL)
            continue;
        n_records[conn->ia->index] += conn->tx.n_posted - conn->tx.n_before;
        pipe_len[conn->ia->index] += conn->tx.len_sent;
    }
    for (int i = 0; i < DM_RAILS_MAX; i++) {
        counts = i < adapt->n_ias ? &adapt->ias[i]->counts : &none;
        add(list, records[i], "", counts->n_records + n_records[i]);
        add(list, "  in records", "bytes", counts->pipe_len + pipe_len[i]);
        add(list, "  by RDMA", "bytes", counts->rdma_len);
        add(list, "  shares of striped transfers", "", counts->n_shares);
        add(list, "  records sent again", "", counts->n_again);
        add(list, "  RDMA to be done again", "bytes", counts->again_len);
        add(list, "  connection requests", "", counts->n_attempts);
        add(list, "  refused or timed out", "", counts->n_refused);
        add(list, "  waits in the provider", "", counts->n_waits);
        add(list, "  waits that an event ended", "", counts->n_wakes);
    }
}

/* What was posted, over all rails: what a design costs on the wire. */
static void add_posts(struct list *list, const struct dm_adapt *adapt)
{
    struct dm_ia_counts sum = {.n_writes = 0};
    const struct dm_ia_counts *counts;
    const struct dm_conn *conn;
    uint64_t n_trials = 0, n_changes = 0;

    for (int i = 0; i < adapt->n_ias; i++) {
        n_trials += adapt->ias[i]->rndv_select.n_trials;
        n_changes += adapt->ias[i]->rndv_select.n_changes;
        counts = &adapt->ias[i]->counts;
        sum.n_writes += counts->n_writes;
        sum.n_imms += counts->n_imms;
        sum.n_reads += counts->n_reads;
        sum.n_atomics += counts->n_atomics;
        sum.n_sends += counts->n_sends;
    }
    dm_conn_for_each (conn, adapt) {
        if (conn->tx.is_send)
            sum.n_sends += conn->tx.n_posted - conn->tx.n_before;
        else
            sum.n_writes += conn->tx.n_posted - conn->tx.n_before;
    }
    add(list, "posts", "", sum.n_writes + sum.n_reads + sum.n_atomics + sum.n_sends);
    add(list, "  RDMA writes", "", sum.n_writes);
    add(list, "  with immediate value", "", sum.n_imms);
    add(list, "  RDMA reads", "", sum.n_reads);
    add(list, "  fetch-and-adds", "", sum.n_atomics);
    add(list, "  sends", "", sum.n_sends);
    add(list, "reading or the pipe: trials", "", n_trials);
    add(list, "  changes", "", n_changes);
}

/* Every record is copied into the ring, but for parts that are sent from where they are, and out of it. */
static void add_copies(struct list *list, const struct dm_adapt *adapt)
{
    const struct dm_conn *conn;
    uint64_t n_in = 0;
    uint64_t in_len = 0;
    uint64_t n_out = 0;
    uint64_t out_len = 0;

    for (int i = 0; i < adapt->n_ias; i++)
        in_len += adapt->ias[i]->counts.pipe_len;
    dm_conn_for_each (conn, adapt) {
        n_in += conn->tx.n_posted;
        in_len += conn->tx.len_sent - conn->tx.len_direct;
        n_out += conn->rx.n_consumed;
        out_len += conn->rx.len_got;
    }
    add(list, "copies into rings", "", n_in);
    add(list, "  in all", "bytes", in_len);
    add(list, "copies out of rings", "", n_out);
    add(list, "  in all", "bytes", out_len);
}

int dm_adapt_stats(struct dm_adapt *adapt, struct dm_adapt_stat *stats, int max)
{
    struct list list = {stats, 0, max};

    add_conns(&list, adapt);
    add_rails(&list, adapt);
    add_posts(&list, adapt);
    add_copies(&list, adapt);
    add(&list, "striped transfers", "", adapt->n_striped);
    add(&list, "registrations made", "", adapt->cache.n_misses);
    add(&list, "  their size", "bytes", adapt->cache.made_len);
    add(&list, "  found again", "", adapt->cache.n_hits);
    add(&list, "  given up for room", "", adapt->cache.n_evicted);
    return list.n;
}

const char *dm_adapt_rail_name(const struct dm_adapt *adapt, int rail)
{
    return rail < adapt->n_ias ? adapt->ias[rail]->name : "";
}
