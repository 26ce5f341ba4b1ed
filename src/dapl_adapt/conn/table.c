/*
 * The table of connections.
 */
#include "dapl_adapt/conn/table.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/core/proc.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/region.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/proc.h"
#include "util/err.h"
#include "util/list.h"
#include "util/port.h"
#include "util/reserve.h"

int dm_conn_init_all(struct dm_adapt *adapt)
{
    size_t n = (size_t)adapt->job.size;
    size_t max = DM_PROCS_MAX;

    adapt->poll.active = dm_reserve(n, max, &max);
    if (adapt->poll.active != NULL)
        adapt->conns = dm_reserve(max, max, &max);
    if (adapt->conns != NULL)
        adapt->procs.at = dm_reserve(max, max, &max);
    adapt->procs.max = max;
    return adapt->procs.at != NULL ? DM_OK : DM_ENOMEM;
}

/* Who it is, and which instance of the connection this is. */
static int conn_identify(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_conn_who *who = &conn->who;

    if (conn->proc < adapt->job.size) {
        who->id = (struct dm_proc_id){adapt->self.job, (uint32_t)conn->proc, 0};
    } else {
        who->foreign = dm_proc_of(adapt, conn->proc);
        if (who->foreign == NULL || who->foreign->state == DM_PROC_FREE)
            return DM_FAIL(DM_EINTERN, "no process has number %d", conn->proc);
        who->id = who->foreign->id;
        if (dm_conn_make_links(conn) != DM_OK)
            return DM_ENOMEM;
        for (int k = 0; k < DM_LINK_N; k++) /* what comes late of the last one does not count */
            atomic_init(&conn->links->at[k].gen, who->foreign->gens[k]);
    }
    who->is_higher = dm_proc_id_compare(who->id, adapt->self) > 0;
    who->mine = adapt->procs.n_instances % DM_INSTANCES + 1;
    adapt->procs.n_instances = who->mine;
    return DM_OK;
}

struct dm_conn *dm_conn_make(struct dm_adapt *adapt, int proc)
{
    struct dm_conn *conn = dm_conn_find(adapt, proc);

    if (conn != NULL)
        return conn;
    conn = aligned_alloc(DM_CACHE_LINE, sizeof(*conn));
    if (conn == NULL) {
        (void)DM_FAIL(DM_ENOMEM, "connection to %s, %zu bytes", dm_who(adapt, proc).text,
                      sizeof(*conn));
        return NULL;
    }
    memset(conn, 0, sizeof(*conn));
    conn->adapt = adapt;
    conn->proc = proc;
    dm_conn_init_links(conn);
    if (conn_identify(conn) != DM_OK) {
        free(conn);
        return NULL;
    }
    conn->active = -1;
    conn->tx.ring.max = conn->tx.most = adapt->rings.stride - DM_TRAILER_LEN;
    conn->rx.ring.trailer = &adapt->no_trailer; /* nothing arrives before there is a ring */
    conn->rx.ring.tag = dm_trailer_tag(1);
    conn->rx.has_datagrams = conn->who.foreign == NULL;
    dm_list_init(&conn->rx.datagrams.unread);
    dm_list_init(&conn->tx.datagrams.blocked);
    conn->next_made = atomic_load_explicit(&adapt->all, memory_order_relaxed);
    atomic_store_explicit(&adapt->all, conn, memory_order_release);
    atomic_store_explicit(&adapt->conns[proc], conn, memory_order_release);
    return conn;
}

/* Take it off the list of those that exist. */
static void conn_unlink(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_conn *at = atomic_load_explicit(&adapt->all, memory_order_relaxed);

    if (at == conn) {
        atomic_store_explicit(&adapt->all, conn->next_made, memory_order_release);
    } else {
        while (at->next_made != conn)
            at = at->next_made;
        at->next_made = conn->next_made;
    }
    atomic_store_explicit(&adapt->conns[conn->proc], NULL, memory_order_release);
}

void dm_conn_drop_datagrams(struct dm_conn *conn)
{
    struct dm_rx_datagrams *rx = &conn->rx.datagrams;

    while (rx->in != NULL) {
        struct dm_datagram_in *next = rx->in->next;

        free(rx->in);
        rx->in = next;
    }
    dm_list_del(&rx->unread);
    dm_list_del(&conn->tx.datagrams.blocked);
}

static void conn_free_links(struct dm_conn *conn)
{
    struct dm_conn_links *links = conn->links;

    for (int k = 0; k < DM_LINK_N; k++) {
        struct dm_link *link = &links->at[k];

        dm_conn_free_ep(conn->adapt, &link->ep);
        dm_conn_free_ep(conn->adapt, &link->dropped);
        dm_conn_turn_away(link);
        dm_conn_forget_notes(link);
        dm_list_del(&link->wait);
        if (conn->who.foreign != NULL)
            conn->who.foreign->gens[k] = atomic_load_explicit(&link->gen, memory_order_relaxed);
    }
    for (int k = 0; k < DM_RDMAQS; k++)
        free(links->rdmaq[k].posted);
    free(links);
}

void dm_conn_free(struct dm_conn *conn, bool is_end)
{
    struct dm_adapt *adapt = conn->adapt;

    conn_unlink(conn);
    if (conn->tx.pending.row != NULL)
        dm_pending_leave(conn);
    if (dm_conn_has_links(conn))
        conn_free_links(conn);
    while (conn->tx.direct.n_refs > 0)
        dm_adapt_unreg(adapt, conn->tx.direct.refs[--conn->tx.direct.n_refs]);
    dm_conn_drop_datagrams(conn);
    free((void *)conn->rx.trailers);
    free(conn->rx.iov);
    free(conn->rx.places);
    free(conn->tx.loan.places);
    free(conn->tx.sq.descs);
    if (conn->ia != NULL)
        conn->ia->depth.space += conn->ring.n_events;
    dm_region_free(&conn->ring.shadow, is_end);
    dm_region_free(&conn->region, is_end);
    free(conn->addr);
    free(conn->loss.why);
    free(conn);
}

/* In the counts of its rail from now on. */
void dm_conn_count_in(struct dm_conn *conn)
{
    conn->is_counted = true;
    conn->ia->n_conns++;
    conn->adapt->poll.n_driven += conn->ia->is_driven;
    if (conn->is_sendrecv) {
        conn->ia->n_sendrecv++;
        conn->adapt->poll.n_sendrecv++;
    }
}

void dm_conn_count_out(struct dm_conn *conn)
{
    if (!conn->is_counted)
        return;
    conn->is_counted = false;
    conn->ia->n_conns--;
    conn->adapt->poll.n_driven -= conn->ia->is_driven;
    if (conn->is_sendrecv) {
        conn->ia->n_sendrecv--;
        conn->adapt->poll.n_sendrecv--;
    }
}

bool dm_conn_is_complete(const struct dm_conn *conn)
{
    return conn->was_up && conn->links->at[DM_LINK_PIPE].may_post &&
           conn->links->at[DM_LINK_RDMA].may_post;
}

static void active_count_plain(struct dm_poll *poll, int n)
{
    poll->n_plain = n;
    poll->n_hot = n < DM_ACTIVE_HOT ? n : DM_ACTIVE_HOT;
}

void dm_active_add(struct dm_adapt *adapt, struct dm_conn *conn)
{
    struct dm_poll *poll = &adapt->poll;

    conn->active = poll->n_active;
    poll->active[poll->n_active++] = conn;
    dm_active_swap(adapt, conn->active, poll->n_plain);
    active_count_plain(poll, poll->n_plain + 1);
}

/* To behind those that are looked at. */
static void active_leave_plain(struct dm_adapt *adapt, struct dm_conn *conn)
{
    if (conn->active >= adapt->poll.n_plain)
        return;
    dm_active_swap(adapt, conn->active, adapt->poll.n_plain - 1);
    active_count_plain(&adapt->poll, adapt->poll.n_plain - 1);
}

void dm_active_join_pending(struct dm_conn *conn)
{
    active_leave_plain(conn->adapt, conn);
    dm_pending_again(conn); /* what has come before its bit counted */
}

void dm_active_remove(struct dm_adapt *adapt, struct dm_conn *conn)
{
    if (conn->active < 0)
        return;
    active_leave_plain(adapt, conn);
    dm_active_swap(adapt, conn->active, adapt->poll.n_active - 1);
    adapt->poll.n_active--;
    conn->active = -1;
    dm_conn_count_out(conn);
}
