/*
 * The table of connections.
 */
#include "dapl_adapt/conn/table.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/provider/ia.h"
#include "util/err.h"
#include "util/list.h"
#include "util/port.h"

int dm_conn_init_all(struct dm_adapt *adapt)
{
    size_t n = (size_t)adapt->job.size;

    adapt->poll.active = calloc(n, sizeof(struct dm_conn *));
    adapt->conns = calloc(n, sizeof(*adapt->conns));
    if (adapt->poll.active == NULL || adapt->conns == NULL)
        return DM_FAIL(DM_ENOMEM, "tables of %zu connections", n);
    return DM_OK;
}

struct dm_conn *dm_conn_make(struct dm_adapt *adapt, int proc)
{
    struct dm_conn *conn = dm_conn_find(adapt, proc);

    if (conn != NULL)
        return conn;
    conn = aligned_alloc(DM_CACHE_LINE, sizeof(*conn));
    if (conn == NULL) {
        (void)DM_FAIL(DM_ENOMEM, "connection to rank %d, %zu bytes", proc, sizeof(*conn));
        return NULL;
    }
    memset(conn, 0, sizeof(*conn));
    conn->adapt = adapt;
    conn->proc = proc;
    conn->active = -1;
    conn->tx.max = conn->tx.most = adapt->rings.stride - DM_TRAILER_LEN;
    conn->rx.trailer = &adapt->no_trailer; /* nothing arrives before there is a ring */
    conn->rx.tag = dm_trailer_tag(1);
    for (int k = 0; k < DM_LINK_N; k++) {
        conn->link[k].conn = conn;
        conn->link[k].kind = (enum dm_link_kind)k;
        dm_list_init(&conn->link[k].note);
        dm_list_init(&conn->link[k].wait);
    }
    conn->next_made = atomic_load_explicit(&adapt->all, memory_order_relaxed);
    atomic_store_explicit(&adapt->all, conn, memory_order_release);
    atomic_store_explicit(&adapt->conns[proc], conn, memory_order_release);
    return conn;
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
    return conn->was_up && conn->link[DM_LINK_PIPE].may_post && conn->link[DM_LINK_RDMA].may_post;
}

void dm_active_add(struct dm_adapt *adapt, struct dm_conn *conn)
{
    conn->active = adapt->poll.n_active;
    adapt->poll.active[adapt->poll.n_active++] = conn;
    adapt->poll.n_hot = adapt->poll.n_active < DM_ACTIVE_HOT ? adapt->poll.n_active : DM_ACTIVE_HOT;
}

void dm_active_remove(struct dm_adapt *adapt, struct dm_conn *conn)
{
    if (conn->active < 0)
        return;
    dm_active_swap(adapt, conn->active, adapt->poll.n_active - 1);
    adapt->poll.n_active--;
    adapt->poll.n_hot = adapt->poll.n_active < DM_ACTIVE_HOT ? adapt->poll.n_active : DM_ACTIVE_HOT;
    conn->active = -1;
    dm_conn_count_out(conn);
}
