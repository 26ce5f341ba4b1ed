/*
 * Parting: the end of a connection to a process of another job, while both go on.
 *
 * It begins with the last reference here, or when the peer says that it leaves. Each side sends
 * what is queued and lets RDMA come to an end. Then it writes a word into the peer's memory: so
 * many records were all. It goes on reading until it has the peer's word, and as many records. Then
 * the connectors of the links break them off, the others hear of it, and all is freed (close.c says
 * why only one side does so).
 *
 * A side that loses the connection behind the peer's word has missed nothing. The peer may have
 * freed all of it while this side still tries to make it anew: it is told that the connection is
 * closed, by the number of the instance that requests carry.
 */
#include "dapl_adapt/conn/part.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/conn/proc.h"
#include "dapl_adapt/conn/table.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/core/tx.h"
#include "dapl_adapt/provider/dat.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"

#define HEAR_NS UINT64_C(3000000000) /* for the peer to break its links off */
#define END_NS  UINT64_C(100000000)  /* an endpoint that does not say that it has ended */
#define SOON    100                  /* idle polls until the next look */

void dm_part_hurry(struct dm_adapt *adapt)
{
    adapt->poll.idle = DM_RARE * DM_BUSY_PER_IDLE;
}

void dm_part_begin(struct dm_conn *conn)
{
    struct dm_proc *proc = conn->who.foreign;
    struct dm_adapt *adapt = conn->adapt;

    pthread_mutex_lock(&adapt->shared.lock);
    if (proc->state == DM_PROC_GUEST) /* nobody has taken it */
        dm_procs_leave(adapt, proc);
    else if (dm_list_is_empty(&proc->place))
        dm_list_add_tail(&adapt->procs.parting, &proc->place);
    pthread_mutex_unlock(&adapt->shared.lock);
    dm_part_hurry(adapt);
}

void dm_part_look(struct dm_conn *conn)
{
    if (conn->who.foreign == NULL || !dm_list_is_empty(&conn->who.foreign->place) ||
        atomic_load_explicit(&conn->ctl->peer_closing, memory_order_acquire) == 0)
        return;
    DM_TRACE(CONN, "rank %d leaves", conn->proc);
    dm_part_begin(conn);
}

void dm_part_left(struct dm_conn *conn)
{
    if (dm_conn_is_lost(conn) || conn->parting.is_gone)
        return;
    DM_TRACE(CONN, "rank %d has left", conn->proc);
    conn->parting.is_gone = true;
    conn->tx.n_avail = 0;
    dm_part_begin(conn);
}

/* The peer's word, once all that it speaks of is read. */
static void parting_see_end(struct dm_conn *conn)
{
    uint64_t word = atomic_load_explicit(&conn->ctl->peer_closing, memory_order_acquire);

    if (conn->parting.is_end_seen || word == 0 || (uint32_t)word != conn->rx.n_consumed ||
        conn->rx.left > 0)
        return;
    conn->parting.is_end_seen = true;
    conn->links->at[DM_LINK_PIPE].may_post = true; /* the connector has spoken */
}

/* Nothing is queued here or above. */
static bool parting_is_idle(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;

    return (adapt->ev.is_idle == NULL || adapt->ev.is_idle(adapt->ev.arg, conn->proc)) &&
           adapt->ops->rdma_is_idle(conn);
}

static bool parting_is_flushed(const struct dm_conn *conn)
{
    const struct dm_tx *tx = &conn->tx;

    return tx->n_redo == 0 && (int32_t)(tx->sq.done - conn->parting.last) >= 0;
}

/* A link that will not be used any more. Lock held. */
static void parting_close_link(struct dm_link *link, uint64_t *until_p)
{
    bool is_live = (link->state == DM_LINK_CONNECTING || link->state == DM_LINK_ACCEPTING ||
                    link->state == DM_LINK_UP) &&
                   !link->is_ended;

    if (link->ep != DAT_HANDLE_NULL) {
        dm_conn_free_ep(link->conn->adapt, &link->dropped);
        if (is_live && (link->is_active || link->state != DM_LINK_UP))
            dm_conn_cut(link);
        else if (is_live)
            *until_p = dm_clock_ns() + HEAR_NS; /* the peer does */
        link->dropped = link->ep;
        link->ep = DAT_HANDLE_NULL;
        if (!is_live)
            dm_conn_free_ep(link->conn->adapt, &link->dropped);
    }
    dm_conn_turn_away(link);
    link->state = DM_LINK_CLOSING;
    link->may_post = false;
    dm_list_del(&link->wait);
}

/* No more traffic. */
static void parting_over(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;

    conn->parting.until = dm_clock_ns() + END_NS;
    pthread_mutex_lock(&adapt->shared.lock);
    conn->parting.is_over = true;
    for (int k = 0; k < DM_LINK_N; k++)
        parting_close_link(&conn->links->at[k], &conn->parting.until);
    pthread_mutex_unlock(&adapt->shared.lock);
    dm_conn_lose(conn, NULL);
}

static void parting_up(struct dm_conn *conn)
{
    parting_see_end(conn);
    if (conn->parting.is_gone) {
        conn->adapt->ops->drain_all(conn->adapt); /* what has arrived in time counts */
        if (!dm_conn_is_lost(conn) && conn->rx.left == 0 && !dm_rx_has(&conn->rx))
            parting_over(conn);
        return;
    }
    if (!conn->parting.is_end_sent && parting_is_idle(conn))
        conn->parting.is_end_sent = conn->adapt->ops->pipe_part(conn);
    if (conn->parting.is_end_sent && conn->parting.is_end_seen && parting_is_flushed(conn) &&
        conn->state == DM_CONN_UP)
        parting_over(conn);
}

/* An attempt to connect is under way: it comes to something, or to nothing. */
static bool parting_is_connecting(const struct dm_conn *conn)
{
    bool is_so;

    pthread_mutex_lock(&conn->adapt->shared.lock);
    is_so = conn->links->at[DM_LINK_PIPE].state != DM_LINK_IDLE;
    pthread_mutex_unlock(&conn->adapt->shared.lock);
    return is_so && !conn->parting.is_gone;
}

static bool parting_is_closed(const struct dm_conn *conn)
{
    bool is_so = true;

    pthread_mutex_lock(&conn->adapt->shared.lock);
    for (int k = 0; k < DM_LINK_N; k++)
        is_so = is_so && conn->links->at[k].ep == DAT_HANDLE_NULL &&
                conn->links->at[k].dropped == DAT_HANDLE_NULL;
    pthread_mutex_unlock(&conn->adapt->shared.lock);
    return is_so;
}

/* All that concerns it has come to an end, or is brought to one now: what is late is ignored. */
static bool parting_is_done(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;
    uint64_t now = dm_clock_ns();

    if (conn->parting.until == 0) /* it was lost */
        conn->parting.until = now + END_NS;
    if (now < conn->parting.until && (!parting_is_closed(conn) || !adapt->ops->rdma_is_idle(conn)))
        return false;
    adapt->ops->drain_all(adapt);
    pthread_mutex_lock(&adapt->shared.lock);
    for (int k = 0; k < DM_LINK_N; k++) {
        dm_conn_free_ep(conn->adapt, &conn->links->at[k].ep);
        dm_conn_free_ep(conn->adapt, &conn->links->at[k].dropped);
        atomic_fetch_add_explicit(&conn->links->at[k].gen, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&adapt->shared.lock);
    if (conn->ia != NULL)
        dm_conn_flush_counts(conn);
    adapt->ops->rdma_fail(conn);
    return adapt->poll.done_head == NULL; /* else that is reported first */
}

/* Tell those above, and free the connection; and the number, if nobody needs it. */
static int parting_free(struct dm_adapt *adapt, struct dm_proc *proc, struct dm_conn *conn)
{
    bool is_free = proc->state == DM_PROC_LEAVING;

    if (conn != NULL && conn->ctl != NULL && (conn->ctl->peer_closing & DM_CTL_ENDS) != 0)
        proc->has_ended = true;
    pthread_mutex_lock(&adapt->shared.lock);
    if (conn != NULL)
        dm_conn_free(conn, false);
    pthread_mutex_unlock(&adapt->shared.lock);
    if (adapt->ev.gone != NULL) /* it may go on over a new connection */
        adapt->ev.gone(adapt->ev.arg, proc->number, is_free);
    pthread_mutex_lock(&adapt->shared.lock);
    if (is_free)
        dm_procs_free(adapt, proc);
    else if (proc->state != DM_PROC_LEAVING) /* it may have been put just now */
        dm_list_del(&proc->place);
    pthread_mutex_unlock(&adapt->shared.lock);
    return 1;
}

static int parting_step(struct dm_adapt *adapt, struct dm_proc *proc)
{
    struct dm_conn *conn = dm_conn_find(adapt, proc->number);

    if (conn == NULL)
        return parting_free(adapt, proc, NULL);
    switch (conn->state) {
    case DM_CONN_IDLE:
    case DM_CONN_ASKED:
        if (parting_is_connecting(conn))
            return 0;
        parting_over(conn);
        return 1;
    case DM_CONN_UP:
        parting_up(conn);
        return dm_conn_is_lost(conn);
    case DM_CONN_MOVING:
        if (!conn->parting.is_gone)
            return 0;
        parting_over(conn);
        return 1;
    case DM_CONN_LOST:
        return parting_is_done(conn) ? parting_free(adapt, proc, conn) : 0;
    default:
        return 0;
    }
}

int dm_part_progress(struct dm_adapt *adapt)
{
    int n = 0;

    dm_list_for_each_safe (at, next, &adapt->procs.parting)
        n += parting_step(adapt, dm_container_of(at, struct dm_proc, place));
    if (!dm_list_is_empty(&adapt->procs.parting))
        adapt->poll.idle = (DM_RARE - SOON) * DM_BUSY_PER_IDLE;
    return n;
}
