/*
 * Completions and rare events: taken off the rails' queues and handed to whom they concern. They
 * only change state; every upcall is made from dm_adapt_poll, after that.
 */
#include "dapl_adapt/progress/dispatch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dapl_adapt/conn/back.h"
#include "dapl_adapt/conn/event.h"
#include "dapl_adapt/conn/failover.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/conn/lose.h"
#include "dapl_adapt/conn/part.h"
#include "dapl_adapt/conn/progress.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/cookie.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/core/rx.h"
#include "dapl_adapt/eager/credit.h"
#include "dapl_adapt/eager/sr.h"
#include "dapl_adapt/eager/srq.h"
#include "dapl_adapt/eager/tx.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/rma/value.h"
#include "dapl_adapt/rma/rdmaq.h"
#include "util/err.h"
#include "util/list.h"
#include "util/log.h"
#include "util/port.h"

#define DRAIN_MAX 64   /* completions in one go */
#define EMPTY_MAX 1000 /* such goes until a queue must be empty */

static void dto_tx(struct dm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t number)
{
    if (dto->status == DAT_DTO_SUCCESS) {
        dm_eager_sent(conn, number);
        return;
    }
    DM_TRACE(DAT, "rank %d: request failed, status %d", conn->proc, dto->status);
    dm_conn_break(conn, dto->status == DAT_DTO_ERR_FLUSHED ? dm_conn_gone_text(conn)
                                                           : "a transfer failed");
}

/* From here on what the server's thread has set up is seen. */
static void dto_see_server(struct dm_adapt *adapt)
{
    pthread_mutex_lock(&adapt->shared.lock);
    pthread_mutex_unlock(&adapt->shared.lock);
}

static void dto_recv(struct dm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t slot)
{
    if (!conn->was_up) { /* its note is on the way */
        dto_see_server(conn->adapt);
        dm_conn_notes(conn->adapt);
    }
    if (dto->status == DAT_DTO_SUCCESS)
        dm_eager_sr_arrived(conn, slot, dto->transfered_length);
    else if (conn->was_up && conn->links->at[DM_LINK_PIPE].is_reported)
        dm_conn_break(conn, dm_conn_gone_text(conn));
}

/* A receive of the rail's shared queue. */
static void dto_shared(struct dm_ia *ia, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t place)
{
    struct dm_conn *conn = dm_eager_srq_source(ia, place, dto);

    if (conn != NULL && !conn->was_up) { /* its note is on the way */
        dto_see_server(conn->adapt);
        dm_conn_notes(conn->adapt);
    }
    if (conn != NULL)
        dm_eager_srq_arrived(conn, place, (uint32_t)dto->transfered_length);
}

/* The connector of a link has spoken: we may, too. */
static void dto_first(struct dm_conn *conn, struct dm_link *link, bool is_ok)
{
    dto_see_server(conn->adapt);
    link->has_spoken = is_ok;
    if (is_ok)
        dm_conn_notes(conn->adapt); /* that it is up */
    if (!is_ok || !link->is_reported || link->may_post)
        return;
    link->may_post = true;
    if (link->kind == DM_LINK_PIPE)
        dm_eager_refill(conn);
    else
        dm_rdma_push(conn, dm_rdmaq_of(link));
}

/* Would the same transfer succeed on another connection? */
static bool dto_is_transient(DAT_DTO_COMPLETION_STATUS status)
{
    return status == DAT_DTO_ERR_FLUSHED || status == DAT_DTO_ERR_TRANSPORT ||
           status == DAT_DTO_ERR_RECEIVER_NOT_READY;
}

/* Of a connection that is about to be lost: the peer has not died. */
static void dto_blame_memory(struct dm_conn *conn, const char *text)
{
    const struct dm_adapt *adapt = conn->adapt;

    if (dm_conn_is_lost(conn) || adapt->is_quiet)
        return;
    conn->loss.err = DM_EPROVIDER;
    dm_conn_set_why(conn,
                    "%s: connection lost (%s), as when the memory of a message or window "
                    "is unmapped, protected, or of a file that has become shorter",
                    dm_who(adapt, conn->proc).text, text);
}

static void dto_rdma(struct dm_conn *conn, struct dm_link *link,
                     const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t place)
{
    struct dm_rdmaq *rdmaq = dm_rdmaq_of(link);
    bool is_ok = dto->status == DAT_DTO_SUCCESS;

    rdmaq->rq_used--;
    if (is_ok) {
        dm_rdma_completed(conn, rdmaq, place, true);
        if (rdmaq->queue_head != NULL)
            dm_rdma_push(conn, rdmaq);
        return;
    }
    if (dto->status != DAT_DTO_ERR_FLUSHED)
        DM_TRACE(DAT, "rank %d: rdma failed, status %d", conn->proc, dto->status);
    if (!dto_is_transient(dto->status)) {
        dto_blame_memory(conn, "an RDMA transfer was refused");
        dm_conn_lose(conn, NULL);
    } else if (link->kind >= DM_LINK_EXTRA) {
        dm_rdmaq_break(link);
    } else {
        dm_conn_break(conn, dm_conn_gone_text(conn));
    }
    if (dm_conn_is_lost(conn))
        dm_rdma_completed(conn, rdmaq, place, false);
}

/* A request of an RDMA link that nobody waits for. */
static void dto_request(struct dm_conn *conn, struct dm_link *link, bool is_read, bool is_ok)
{
    struct dm_rdmaq *rdmaq = dm_rdmaq_of(link);

    rdmaq->rq_used--;
    rdmaq->n_reads -= is_read;
    if (is_ok && rdmaq->queue_head != NULL)
        dm_rdma_push(conn, rdmaq);
}

void dm_poll_dto(struct dm_ia *ia, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
    uint64_t cookie = dto->user_cookie.as_64;
    enum dm_cookie_kind kind = (enum dm_cookie_kind)(cookie & 7);
    int proc = (int)(cookie >> 3 & 0x1fffff);
    uint32_t number = (uint32_t)(cookie >> 32);
    uint32_t k = kind >= DM_COOKIE_FIRST ? number >> 16 : DM_LINK_PIPE;
    bool is_ok = dto->status == DAT_DTO_SUCCESS;
    struct dm_conn *conn = NULL;
    struct dm_link *link;

    if (dm_likely((size_t)proc < ia->adapt->procs.max && k < DM_LINK_N))
        conn = dm_conn_find(ia->adapt, proc);
    if (dm_unlikely(conn == NULL)) {
        if (proc == DM_COOKIE_NOBODY && ia->memory.srq != NULL)
            dto_shared(ia, dto, number);
        return; /* else libdapl's, of an endpoint that is gone: its cookies were freed with it */
    }
    link = &conn->links->at[k];
    if (dm_unlikely((uint8_t)(cookie >> 24) !=
                    atomic_load_explicit(&link->gen, memory_order_relaxed)))
        return; /* of an endpoint that is gone: it does not count any more */
    switch (kind) {
    case DM_COOKIE_TX:
        ia->n_signalled--;
        conn->tx.sq.n_signalled--;
        dto_tx(conn, dto, number);
        break;
    case DM_COOKIE_QUIET:
        if (!is_ok)
            dto_tx(conn, dto, number);
        break;
    case DM_COOKIE_RECV:
        dto_recv(conn, dto, number);
        break;
    case DM_COOKIE_FIRST:
        if ((number & DM_COOKIE_VALUE) != 0) {
            dm_value_message(ia->adapt, number & (DM_COOKIE_VALUE - 1), is_ok);
            break;
        }
        ia->n_signalled -= link->is_due;
        link->is_due = false;
        dto_first(conn, link, is_ok);
        break;
    case DM_COOKIE_RDMA:
        ia->n_signalled--;
        dto_rdma(conn, link, dto, number & 0xffff);
        break;
    case DM_COOKIE_NOTIFY:
        conn->is_armed = false;
        break;
    default: /* DM_COOKIE_REQ, DM_COOKIE_PROBE */
        ia->n_signalled--;
        if (kind == DM_COOKIE_PROBE && ia->n_probes > 0)
            ia->n_probes--;
        dto_request(conn, link, number & DM_COOKIE_READ, is_ok);
        break;
    }
}

void dm_poll_event(struct dm_ia *ia, const DAT_EVENT *event)
{
    if (dm_likely(event->event_number == DAT_DTO_COMPLETION_EVENT))
        dm_poll_dto(ia, &event->event_data.dto_completion_event_data);
    else if (event->event_number == DAT_SOFTWARE_EVENT)
        atomic_store(&ia->wake.is_posted, false); /* it has done its work */
    else if (!dm_value_event(ia, event))
        dm_poll_dto(ia, &event->event_data.dto_completion_event_data);
}

/* DAT_SUCCESS, and the first event of a queue; else there is none. */
static DAT_RETURN dto_dequeue(const struct dm_ia *ia, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
    DAT_RETURN rc;

    dm_serial_enter(ia->is_serial);
    rc = DAT_EVD_DEQUEUE(evd, event);
    dm_serial_leave(ia->is_serial);
    return rc;
}

static inline int dto_drain_queue(struct dm_ia *ia, DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;
    int n = 0;

    while (n < DRAIN_MAX && dto_dequeue(ia, evd, &event) == DAT_SUCCESS) {
        dm_poll_event(ia, &event);
        n++;
    }
    return n;
}

/* The queue of receives first: what has arrived before a failure counts. */
static int dto_drain_counted(struct dm_ia *ia)
{
    int n_recv = ia->recv_evd != ia->dto_evd ? dto_drain_queue(ia, ia->recv_evd) : 0;
    int n = dto_drain_queue(ia, ia->dto_evd);

    ia->counts.n_taken[DM_SIDE_RECV] += (uint64_t)n_recv;
    ia->counts.n_taken[DM_SIDE_REQUEST] += (uint64_t)n;
    return n_recv + n;
}

int dm_poll_drain_rail(struct dm_ia *ia)
{
    /* a waiting thread may have taken an event that is older than what is queued now */
    if (dm_unlikely(ia->is_waited_on))
        return 0;
    if (dm_unlikely(ia->counts_taken))
        return dto_drain_counted(ia);
    return dto_drain_queue(ia, ia->dto_evd);
}

int dm_poll_drain(struct dm_adapt *adapt)
{
    int n = 0;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        if (adapt->rails.ias[i]->n_signalled > 0 || adapt->rails.ias[i]->n_sendrecv > 0 ||
            adapt->rails.ias[i]->is_driven)
            n += dm_poll_drain_rail(adapt->rails.ias[i]);
    }
    return n;
}

void dm_poll_drain_all(struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        for (int k = 0; k < EMPTY_MAX && dm_poll_drain_rail(adapt->rails.ias[i]) > 0; k++)
            ;
    }
}

static void async_event(struct dm_ia *ia, const DAT_EVENT *event)
{
    static const char broken[] = "the provider says that the endpoint is broken";
    DAT_HANDLE handle = event->event_data.asynch_error_event_data.dat_handle;
    struct dm_adapt *adapt = ia->adapt;
    struct dm_link *link = NULL;
    struct dm_conn *one;

    if (event->event_number == DAT_ASYNC_ERROR_EP_BROKEN) {
        pthread_mutex_lock(&adapt->shared.lock);
        dm_conn_for_each (one, adapt) {
            for (int k = 0; k < DM_LINK_N; k++) {
                if (one->links->at[k].ep == handle && one->links->at[k].state == DM_LINK_UP)
                    link = &one->links->at[k];
            }
        }
        pthread_mutex_unlock(&adapt->shared.lock);
        if (link != NULL && link->kind >= DM_LINK_EXTRA) {
            dm_rdmaq_break(link);
        } else if (link != NULL && link->kind == DM_LINK_PIPE && link->conn->ring.has_srq) {
            /* any end of an endpoint with shared receives is told so, too */
            dm_conn_break(link->conn, dm_conn_gone_text(link->conn));
        } else if (link != NULL) {
            if (!dm_conn_can_move(link->conn))
                dto_blame_memory(link->conn, broken);
            dm_conn_break(link->conn, broken);
        }
        return;
    }
    if (!ia->adapt->is_quiet)
        dm_log_warn("%s reports asynchronous event 0x%x", ia->name, (unsigned)event->event_number);
}

int dm_poll_rare(struct dm_adapt *adapt)
{
    struct dm_conn *conn;
    struct dm_ia *ia;
    DAT_EVENT event;
    int n = 0;

    for (int i = 0; i < adapt->rails.n_ias; i++) {
        ia = adapt->rails.ias[i];
        n += dm_poll_drain_rail(ia); /* unsignalled requests complete when they fail */
        while (!ia->cm.is_served && dto_dequeue(ia, ia->cm.evd, &event) == DAT_SUCCESS) {
            dm_conn_event(ia, &event);
            n++;
        }
        for (int k = 0; k < DM_SIDES; k++)
            while (ia->wake.evd[k] != DAT_HANDLE_NULL && ia->wake.evd[k] != ia->dto_evd &&
                   dto_dequeue(ia, ia->wake.evd[k], &event) == DAT_SUCCESS)
                ; /* it has done its work */
        while (dto_dequeue(ia, ia->async_evd, &event) == DAT_SUCCESS) {
            async_event(ia, &event);
            n++;
        }
    }
    for (int i = 0; i < adapt->poll.n_active; i++) {
        conn = adapt->poll.active[i];
        dm_part_look(conn);
        if (dm_rx_owes(&conn->rx))
            dm_eager_credit(conn);
        if (i >= adapt->poll.n_plain && dm_rx_has(&conn->rx)) /* placed behind its bit */
            dm_pending_again(conn);
    }
    if (atomic_load_explicit(&adapt->deferred.has_some, memory_order_relaxed))
        dm_deferred_eps_free(adapt, false);
    n += dm_back_poll(adapt);
    if (adapt->rails.late_at != 0)
        n += adapt->ops->open_late(adapt);
    return dm_list_is_empty(&adapt->procs.parting) ? n : n + dm_part_progress(adapt);
}
