/*
 * The end of all connections.
 *
 * In order, between hosts: the connectors break off, the others hear of it, and endpoints are freed
 * when their end has been told. Where both ends break off at once, or one is freed while the
 * provider's own thread is still telling its end, libdapl frees the connection request twice and
 * its assertion ends the process.
 */
#include "dapl_adapt/conn/close.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "dapl_adapt/conn/event.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/proc.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/clock.h"
#include "util/reserve.h"

/*
 * Of waiting for peers that are late, or gone; in MPI_Finalize all have come, but may have to wait
 * for a core.
 */
#define HEAR_NS UINT64_C(500000000)

#define HEAR_QUIET_NS UINT64_C(3000000000)

/*
 * Connections that have not ended, of those that we made or of the others; break them off if so
 * told.
 */
static int close_count(struct dm_adapt *adapt, bool is_active, bool is_to_cut)
{
    struct dm_conn *conn;
    int n = 0;

    dm_conn_for_each (conn, adapt) {
        for (int k = 0; k < DM_LINK_N; k++) {
            struct dm_link *link = &conn->links->at[k];

            if (link->state != DM_LINK_UP || link->is_ended || link->is_active != is_active)
                continue;
            n++;
            if (is_to_cut)
                dm_conn_cut(link);
        }
    }
    return n;
}

/* Wait for their ends. */
static void close_await_ends(struct dm_adapt *adapt, bool is_active)
{
    uint64_t until = dm_clock_ns() + (adapt->is_quiet ? HEAR_QUIET_NS : HEAR_NS);
    DAT_EVENT event;

    while (close_count(adapt, is_active, false) > 0 && dm_clock_ns() < until) {
        for (int i = 0; i < adapt->rails.n_ias; i++) {
            struct dm_ia *ia = adapt->rails.ias[i];
            DAT_RETURN rc;

            do {
                dm_serial_enter(ia->is_serial);
                rc = DAT_EVD_DEQUEUE(ia->cm.evd, &event);
                dm_serial_leave(ia->is_serial);
                if (rc == DAT_SUCCESS)
                    dm_conn_event(ia, &event);
            } while (rc == DAT_SUCCESS);
        }
        sched_yield();
    }
}

static void close_all(struct dm_adapt *adapt)
{
    bool is_remote = false;

    for (int i = 0; i < adapt->rails.n_ias; i++)
        is_remote |= !adapt->rails.ias[i]->caps.is_local;
    (void)close_count(adapt, true, true);
    if (is_remote && adapt->is_quiet)
        close_await_ends(adapt, false);
    (void)close_count(adapt, false, true);
    if (is_remote) {
        close_await_ends(adapt, true);
        close_await_ends(adapt, false);
    }
}

void dm_conn_free_all(struct dm_adapt *adapt)
{
    struct dm_conn *conn;

    close_all(adapt);
    while ((conn = atomic_load_explicit(&adapt->all, memory_order_acquire)) != NULL)
        dm_conn_free(conn, true);
    adapt->ops->drain_all(adapt); /* completions of these endpoints */
    dm_deferred_eps_free(adapt, true);
    free(adapt->deferred.list);
    pthread_mutex_destroy(&adapt->deferred.lock);
    dm_procs_fini(adapt);
    dm_pending_close(adapt);
    dm_reserve_free(adapt->poll.active, adapt->procs.max);
    dm_reserve_free((void *)adapt->conns, adapt->procs.max);
    adapt->poll.active = NULL;
    adapt->conns = NULL;
}
