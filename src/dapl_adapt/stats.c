/*
 * Counters of DATUM_STATS. Everything here is counted where it costs nothing, or reckoned from what
 * the objects know; the list is the same, in length and order, on every process.
 */
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/srq.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/public/stats.h"
#include "dapl_adapt/public/types.h"

struct list {
    struct dm_adapt_stat *at;
    int n;
    int max;
};

static void stats_add(struct list *list, const char *name, const char *unit, uint64_t value)
{
    if (list->n < list->max)
        list->at[list->n++] = (struct dm_adapt_stat){name, unit, value};
}

/* What one connection holds, besides what the provider does for it. */
static uint64_t stats_conn_len(const struct dm_conn *conn)
{
    uint64_t len = sizeof(*conn) + (dm_conn_has_links(conn) ? sizeof(*conn->links) : 0);

    if (conn->addr != NULL)
        len += sizeof(*conn->addr);
    if (conn->rx.trailers != NULL)
        len += conn->ring.n_slots * sizeof(*conn->rx.trailers);
    if (conn->rx.iov != NULL)
        len += DM_RX_IOV * conn->ring.n_slots * sizeof(*conn->rx.iov);
    if (conn->rx.places != NULL)
        len += conn->ring.n_slots * sizeof(*conn->rx.places);
    if (conn->tx.loan.places != NULL)
        len += conn->tx.loan.n * sizeof(*conn->tx.loan.places);
    if (conn->tx.sq.descs != NULL)
        len += conn->tx.sq.n_descs * sizeof(*conn->tx.sq.descs);
    return len;
}

static uint64_t stats_shared_len(const struct dm_adapt *adapt)
{
    const struct dm_rail_srq *srq;
    uint64_t len = 0;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        srq = adapt->rails.ias[i]->memory.srq;
        len +=
            srq != NULL ? srq->region.len + srq->n * (sizeof(*srq->iov) + sizeof(*srq->free)) : 0;
    }
    return len;
}

static void stats_add_shared(struct list *list, const struct dm_adapt *adapt)
{
    static const struct dm_rail_srq none;
    struct dm_rail_srq sum = none;
    const struct dm_rail_srq *srq;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        srq = adapt->rails.ias[i]->memory.srq != NULL ? adapt->rails.ias[i]->memory.srq : &none;
        sum.n += srq->n;
        sum.least_spare += srq->least_spare;
        sum.n_messages += srq->n_messages;
        sum.n_kept += srq->n_kept;
    }
    stats_add(list, "shared receives", "", sum.n);
    stats_add(list, "  messages in them", "", sum.n_messages);
    stats_add(list, "  spare, at least", "", sum.least_spare);
    stats_add(list, "  credits kept back", "", sum.n_kept);
}

static void stats_add_conns(struct list *list, const struct dm_adapt *adapt)
{
    const struct dm_conn *conn;
    uint64_t n = 0;
    uint64_t n_up = 0;
    uint64_t n_active = 0;
    uint64_t n_links = 0;
    uint64_t n_moves = 0;
    uint64_t objects = 0;
    uint64_t rings = 0;
    uint64_t shared = stats_shared_len(adapt);

    dm_conn_for_each (conn, adapt) {
        n++; /* also those that are being made */
        objects += stats_conn_len(conn);
        rings += (conn->region.ptr != NULL ? conn->region.len : 0) + conn->ring.shadow.len;
        n_moves += (uint64_t)conn->failover.n_moves;
        if (!conn->was_up)
            continue;
        n_up++;
        n_active += conn->links->at[DM_LINK_PIPE].is_active;
        n_links += conn->links->at[DM_LINK_PIPE].state == DM_LINK_UP;
        n_links += conn->links->at[DM_LINK_RDMA].state == DM_LINK_UP;
    }
    stats_add(list, "peers connected", "", n_up);
    stats_add(list, "  by this side", "", n_active);
    stats_add(list, "  endpoints", "", n_links);
    stats_add(list, "  moved to another rail", "", n_moves);
    stats_add(list, "  moved back to a better one", "", adapt->n_backs);
    stats_add(list, "memory per process", "bytes", dm_adapt_fixed_len(adapt));
    stats_add(list, "memory of peers: objects", "bytes", objects);
    stats_add(list, "memory of peers: shared receives", "bytes", shared);
    stats_add(list, "memory of peers: rings", "bytes", rings);
    stats_add(list, "  for each peer", "bytes", n > 0 ? (objects + rings + shared) / n : 0);
    stats_add(list, "datagrams", "", adapt->poll.datagrams.n_sent);
}

uint64_t dm_adapt_fixed_len(const struct dm_adapt *adapt)
{
    uint64_t n = (uint64_t)adapt->job.size;

    return sizeof(*adapt) + n * (sizeof(*adapt->conns) + sizeof(*adapt->poll.active)) +
           (adapt->mem.probe != NULL ? 2 * DM_PROBE_LEN : 0) +
           (uint64_t)adapt->rails.n_ias * sizeof(struct dm_ia);
}

static void stats_add_rails(struct list *list, const struct dm_adapt *adapt)
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
        counts = i < adapt->rails.n_ias ? &adapt->rails.ias[i]->counts : &none;
        stats_add(list, records[i], "", counts->n_records + n_records[i]);
        stats_add(list, "  in records", "bytes", counts->pipe_len + pipe_len[i]);
        stats_add(list, "  by RDMA", "bytes", counts->rdma_len);
        stats_add(list, "  shares of striped transfers", "", counts->n_shares);
        stats_add(list, "  in shares", "bytes", counts->share_len);
        stats_add(list, "  links lost", "", counts->n_lost);
        stats_add(list, "  links taken up again", "", counts->n_again_up);
        stats_add(list, "  records sent again", "", counts->n_again);
        stats_add(list, "  RDMA to be done again", "bytes", counts->again_len);
        stats_add(list, "  connection requests", "", counts->n_attempts);
        stats_add(list, "  refused or timed out", "", counts->n_refused);
        stats_add(list, "  waits in the provider", "", counts->n_waits);
        stats_add(list, "  waits that an event ended", "", counts->n_wakes);
    }
}

/* What was posted, over all rails: what a design costs on the wire. */
static void stats_add_posts(struct list *list, const struct dm_adapt *adapt)
{
    struct dm_ia_counts sum = {.n_writes = 0};
    const struct dm_ia_counts *counts;
    const struct dm_conn *conn;
    uint64_t n_trials = 0, n_changes = 0;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        n_trials += adapt->rails.ias[i]->rndv.select.n_trials;
        n_changes += adapt->rails.ias[i]->rndv.select.n_changes;
        counts = &adapt->rails.ias[i]->counts;
        sum.n_writes += counts->n_writes;
        sum.n_imms += counts->n_imms;
        sum.n_reads += counts->n_reads;
        sum.n_atomics += counts->n_atomics;
        sum.n_swaps += counts->n_swaps;
        sum.n_sends += counts->n_sends;
    }
    dm_conn_for_each (conn, adapt) {
        if (conn->tx.protocol == DM_RECORD_SEND)
            sum.n_sends += conn->tx.n_posted - conn->tx.n_before;
        else
            sum.n_writes += conn->tx.n_posted - conn->tx.n_before;
    }
    stats_add(list, "posts", "",
              sum.n_writes + sum.n_reads + sum.n_atomics + sum.n_swaps + sum.n_sends);
    stats_add(list, "  RDMA writes", "", sum.n_writes);
    stats_add(list, "  with immediate value", "", sum.n_imms);
    stats_add(list, "  RDMA reads", "", sum.n_reads);
    stats_add(list, "  fetch-and-adds", "", sum.n_atomics);
    stats_add(list, "  compare-and-swaps", "", sum.n_swaps);
    stats_add(list, "  sends", "", sum.n_sends);
    stats_add(list, "reading or the pipe: trials", "", n_trials);
    stats_add(list, "  changes", "", n_changes);
}

/* Completions by the queue that they were taken from, where DATUM_CQ asks for it. */
static void stats_add_taken(struct list *list, const struct dm_adapt *adapt)
{
    uint64_t one = 0, recv = 0, request = 0;
    const struct dm_ia *ia;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        ia = adapt->rails.ias[i];
        recv += ia->counts.n_taken[DM_SIDE_RECV];
        *(ia->recv_evd == ia->dto_evd ? &one : &request) += ia->counts.n_taken[DM_SIDE_REQUEST];
    }
    stats_add(list, "completions", "", one + recv + request);
    stats_add(list, "  in one queue for all", "", one);
    stats_add(list, "  in the queue of receives", "", recv);
    stats_add(list, "  in the queue of requests", "", request);
}

/*
 * Every record is copied into the ring, but for parts that are sent from where they are, and out of
 * it.
 */
static void stats_add_copies(struct list *list, const struct dm_adapt *adapt)
{
    const struct dm_conn *conn;
    uint64_t n_in = 0;
    uint64_t in_len = 0;
    uint64_t n_out = 0;
    uint64_t out_len = 0;

    for (int i = 0; i < adapt->rails.n_ias; i++)
        in_len += adapt->rails.ias[i]->counts.pipe_len;
    dm_conn_for_each (conn, adapt) {
        n_in += conn->tx.n_posted;
        in_len += conn->tx.len_sent - conn->tx.direct.len;
        n_out += dm_rx_n_read(&conn->rx);
        out_len += conn->rx.len_got;
    }
    stats_add(list, "copies into rings", "", n_in);
    stats_add(list, "  in all", "bytes", in_len);
    stats_add(list, "copies out of rings", "", n_out);
    stats_add(list, "  in all", "bytes", out_len);
}

int dm_adapt_stats(struct dm_adapt *adapt, struct dm_adapt_stat *stats, int max)
{
    struct list list = {stats, 0, max};

    pthread_mutex_lock(&adapt->shared.lock); /* the connection server may be accepting one */
    stats_add_conns(&list, adapt);
    stats_add_shared(&list, adapt);
    stats_add_rails(&list, adapt);
    stats_add_posts(&list, adapt);
    stats_add_taken(&list, adapt);
    stats_add_copies(&list, adapt);
    stats_add(&list, "polls of many peers", "", adapt->poll.n_many);
    stats_add(&list, "  rings looked at in one", "",
              adapt->poll.n_many > 0 ? adapt->poll.n_looks / adapt->poll.n_many : 0);
    stats_add(&list, "striped transfers", "", adapt->n_striped);
    stats_add(&list, "registrations made", "", adapt->mem.cache.n_misses);
    stats_add(&list, "  their size", "bytes", adapt->mem.cache.made_len);
    stats_add(&list, "  found again", "", adapt->mem.cache.n_hits);
    stats_add(&list, "  given up for room", "", adapt->mem.cache.n_evicted);
    stats_add(&list, "  dropped, since memory changed", "", adapt->mem.cache.n_changed);
    stats_add(&list, "  for one use, not watched", "", adapt->mem.n_single);
    pthread_mutex_unlock(&adapt->shared.lock);
    return list.n;
}

const char *dm_adapt_rail_name(const struct dm_adapt *adapt, int rail)
{
    return rail < adapt->rails.n_ias ? adapt->rails.ias[rail]->name : "";
}
