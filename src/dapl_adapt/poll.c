/*
 * Progress: rings of the active connections, completions, connection events.
 *
 * Completions only change state when they are taken off a queue; every upcall is made
 * from dm_adapt_poll, after that, so that the layer is never entered from within.
 */
#include <stdio.h>

#include "dapl_adapt/adapt.h"
#include "dapl_adapt/atomic.h"
#include "dapl_adapt/eager.h"
#include "dapl_adapt/serial.h"
#include "util/err.h"
#include "util/log.h"

#define HOT           32   /* connections looked at in every poll */
#define COLD          8    /* of the others, so many in turn */
#define BUSY_PER_IDLE 8    /* so many polls with traffic count as one without */
#define DRAIN_MAX     64   /* completions in one go */
#define EMPTY_MAX     1000 /* such goes until a queue must be empty */

void dm_poll_add(struct dm_adapt *adapt, struct dm_conn *conn)
{
    conn->active = adapt->n_active;
    adapt->active[adapt->n_active++] = conn;
    adapt->n_hot = adapt->n_active < HOT ? adapt->n_active : HOT;
}

static void swap(struct dm_adapt *adapt, int i, int k)
{
    struct dm_conn *conn = adapt->active[i];

    adapt->active[i] = adapt->active[k];
    adapt->active[k] = conn;
    adapt->active[i]->active = i;
    adapt->active[k]->active = k;
}

static void remove_active(struct dm_adapt *adapt, struct dm_conn *conn)
{
    if (conn->active < 0)
        return;
    swap(adapt, conn->active, adapt->n_active - 1);
    adapt->n_active--;
    adapt->n_hot = adapt->n_active < HOT ? adapt->n_active : HOT;
    conn->active = -1;
    dm_conn_count_out(conn);
}

/* ---- completions ---- */

static void on_tx(struct dm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t number)
{
    if (dto->status == DAT_DTO_SUCCESS) {
        dm_eager_sent(conn, number);
        return;
    }
    DM_TRACE(DAT, "rank %d: request failed, status %d", conn->proc, dto->status);
    dm_conn_break(conn, dto->status == DAT_DTO_ERR_FLUSHED ? dm_conn_gone_text(conn)
                                                           : "a transfer failed");
}

static void on_recv(struct dm_conn *conn, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t slot)
{
    if (!conn->is_up) /* its note is on the way; take what the server's thread has set up */
        dm_conn_notes(conn->adapt);
    if (dto->status == DAT_DTO_SUCCESS)
        dm_eager_sr_arrived(conn, slot, dto->transfered_length);
    else if (conn->is_up && conn->link[DM_LINK_PIPE].is_told)
        dm_conn_break(conn, dm_conn_gone_text(conn));
}

/* The connector of a link has spoken: we may, too. */
static void on_first(struct dm_conn *conn, struct dm_link *link, bool is_ok)
{
    link->has_spoken = is_ok;
    if (is_ok)
        dm_conn_notes(conn->adapt); /* that it is up */
    if (!is_ok || !link->is_told || link->may_post)
        return;
    link->may_post = true;
    if (link->kind == DM_LINK_PIPE)
        dm_eager_refill(conn);
    else
        dm_rma_push(conn, dm_lane_of(link));
}

/* Would the same transfer succeed on another connection? */
static bool is_transient(DAT_DTO_COMPLETION_STATUS status)
{
    return status == DAT_DTO_ERR_FLUSHED || status == DAT_DTO_ERR_TRANSPORT ||
           status == DAT_DTO_ERR_RECEIVER_NOT_READY;
}

/* Of a connection that is about to be lost: the peer has not died. */
static void blame_memory(struct dm_conn *conn, const char *text)
{
    const struct dm_adapt *adapt = conn->adapt;

    if (conn->tx.is_lost || adapt->is_quiet)
        return;
    conn->err = DM_EPROVIDER;
    snprintf(conn->why, sizeof(conn->why),
             "rank %d on host %s: connection lost (%s), as when the memory of a message or window "
             "is unmapped, protected, or of a file that has become shorter",
             conn->proc, dm_adapt_host_of(adapt, conn->proc), text);
}

static void on_rdma(struct dm_conn *conn, struct dm_link *link,
                    const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t place)
{
    struct dm_lane *lane = dm_lane_of(link);
    bool is_ok = dto->status == DAT_DTO_SUCCESS;

    lane->rq_used--;
    if (is_ok) {
        dm_rma_completed(conn, lane, place, true);
        if (lane->queue_head != NULL)
            dm_rma_push(conn, lane);
        return;
    }
    if (dto->status != DAT_DTO_ERR_FLUSHED)
        DM_TRACE(DAT, "rank %d: rdma failed, status %d", conn->proc, dto->status);
    if (!is_transient(dto->status)) {
        blame_memory(conn, "an RDMA transfer was refused");
        dm_conn_lose(conn, NULL);
    } else if (link->kind >= DM_LINK_EXTRA) {
        dm_lane_break(link);
    } else {
        dm_conn_break(conn, dm_conn_gone_text(conn));
    }
    if (conn->tx.is_lost)
        dm_rma_completed(conn, lane, place, false);
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

    if (dm_likely(proc < ia->adapt->job.size && k < DM_LINK_N))
        conn = dm_conn_find(ia->adapt, proc);
    if (dm_unlikely(conn == NULL))
        return; /* libdapl's, of an endpoint that is gone: its cookies were freed with it */
    link = &conn->link[k];
    if (dm_unlikely((uint8_t)(cookie >> 24) !=
                    atomic_load_explicit(&link->gen, memory_order_relaxed)))
        return; /* of an endpoint that is gone: it does not count any more */
    switch (kind) {
    case DM_COOKIE_TX:
        ia->n_signalled--;
        conn->tx.n_sig--;
        on_tx(conn, dto, number);
        break;
    case DM_COOKIE_QUIET:
        if (!is_ok)
            on_tx(conn, dto, number);
        break;
    case DM_COOKIE_RECV:
        on_recv(conn, dto, number);
        break;
    case DM_COOKIE_FIRST:
        ia->n_signalled -= link->is_due;
        link->is_due = false;
        on_first(conn, link, is_ok);
        break;
    case DM_COOKIE_RDMA:
        ia->n_signalled--;
        on_rdma(conn, link, dto, number & 0xffff);
        break;
    case DM_COOKIE_KNOCK:
        conn->is_armed = false;
        break;
    default: /* DM_COOKIE_REQ, DM_COOKIE_PROBE */
        ia->n_signalled--;
        dm_lane_of(link)->rq_used--;
        dm_lane_of(link)->n_reads -= (int)(number & DM_COOKIE_READ);
        if (kind == DM_COOKIE_PROBE && ia->n_probes > 0)
            ia->n_probes--;
        if (is_ok && dm_lane_of(link)->queue_head != NULL)
            dm_rma_push(conn, dm_lane_of(link));
        break;
    }
}

void dm_poll_event(struct dm_ia *ia, const DAT_EVENT *event)
{
    if (dm_likely(event->event_number == DAT_DTO_COMPLETION_EVENT))
        dm_poll_dto(ia, &event->event_data.dto_completion_event_data);
    else
        dm_imm_event(ia, event);
}

/* DAT_SUCCESS, and the first event of a queue; else there is none. */
static DAT_RETURN dequeue(const struct dm_ia *ia, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
    DAT_RETURN rc;

    dm_serial_enter(ia->is_serial);
    rc = DAT_EVD_DEQUEUE(evd, event);
    dm_serial_leave(ia->is_serial);
    return rc;
}

static inline int drain_queue(struct dm_ia *ia, DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;
    int n = 0;

    while (n < DRAIN_MAX && dequeue(ia, evd, &event) == DAT_SUCCESS) {
        dm_poll_event(ia, &event);
        n++;
    }
    return n;
}

static int drain(struct dm_ia *ia)
{
    int n = 0;

    /* a waiting thread may have taken an event that is older than what is queued now */
    if (dm_unlikely(ia->is_waited_on))
        return 0;
    if (dm_unlikely(ia->recv_evd != ia->dto_evd))
        n = drain_queue(ia, ia->recv_evd); /* first: what has arrived before a failure counts */
    return n + drain_queue(ia, ia->dto_evd);
}

int dm_poll_drain(struct dm_adapt *adapt)
{
    int n = 0;

    for (int i = 0; i < adapt->n_ias; i++) {
        if (adapt->ias[i]->n_signalled > 0 || adapt->ias[i]->n_sendrecv > 0 ||
            adapt->ias[i]->is_driven)
            n += drain(adapt->ias[i]);
    }
    return n;
}

void dm_poll_empty(struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->n_ias; i++) {
        for (int k = 0; k < EMPTY_MAX && drain(adapt->ias[i]) > 0; k++)
            ;
    }
}

/* ---- rare events ---- */

static void on_async(struct dm_ia *ia, const DAT_EVENT *event)
{
    static const char broken[] = "the provider says that the endpoint is broken";
    DAT_HANDLE handle = event->event_data.asynch_error_event_data.dat_handle;
    struct dm_adapt *adapt = ia->adapt;
    struct dm_link *link = NULL;
    struct dm_conn *one;

    if (event->event_number == DAT_ASYNC_ERROR_EP_BROKEN) {
        pthread_mutex_lock(&adapt->lock);
        dm_conn_for_each (one, adapt) {
            for (int k = 0; k < DM_LINK_N; k++) {
                if (one->link[k].ep == handle && one->link[k].state == DM_LINK_UP)
                    link = &one->link[k];
            }
        }
        pthread_mutex_unlock(&adapt->lock);
        if (link != NULL && link->kind >= DM_LINK_EXTRA) {
            dm_lane_break(link);
        } else if (link != NULL) {
            if (!dm_conn_can_move(link->conn))
                blame_memory(link->conn, broken);
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

    for (int i = 0; i < adapt->n_ias; i++) {
        ia = adapt->ias[i];
        n += drain(ia); /* unsignalled requests complete when they fail */
        while (!ia->has_server && dequeue(ia, ia->cm_evd, &event) == DAT_SUCCESS) {
            dm_conn_event(ia, &event);
            n++;
        }
        for (int k = 0; k < DM_SIDES; k++)
            while (ia->wake_evd[k] != DAT_HANDLE_NULL &&
                   dequeue(ia, ia->wake_evd[k], &event) == DAT_SUCCESS)
                ; /* it has done its work */
        while (dequeue(ia, ia->async_evd, &event) == DAT_SUCCESS) {
            on_async(ia, &event);
            n++;
        }
    }
    for (int i = 0; i < adapt->n_active; i++) {
        conn = adapt->active[i];
        if (conn->rx.n_consumed - conn->rx.n_credited >= conn->rx.due)
            dm_eager_credit(conn);
    }
    return n;
}

/* ---- upcalls ---- */

static void tell_done(struct dm_adapt *adapt)
{
    struct dm_rdma *rdma;
    int err;

    while ((rdma = adapt->done_head) != NULL) {
        adapt->done_head = rdma->next;
        err = rdma->err;
        if (rdma->owns_mr)
            dm_adapt_unreg(adapt, rdma->mr);
        if (dm_unlikely(rdma->is_atomic))
            dm_atomic_done(adapt, rdma);
        else if (err != DM_OK)
            DM_FAIL(err, "%s", rdma->conn->why);
        rdma->done(rdma, err);
    }
}

static void tell_writable(struct dm_adapt *adapt)
{
    struct dm_conn *conn;

    for (int i = 0; i < adapt->n_active; i++) {
        conn = adapt->active[i];
        if (!conn->tx.is_blocked && !conn->tell_ready)
            continue;
        if (conn->tx.room == 0 && conn->link[DM_LINK_PIPE].may_post && !conn->tx.is_lost)
            dm_eager_refill(conn);
        if (conn->tx.room == 0)
            continue;
        if (conn->tx.is_blocked)
            adapt->n_blocked--;
        if (conn->tell_ready)
            adapt->n_tell--;
        conn->tx.is_blocked = false;
        conn->tell_ready = false;
        adapt->ev.writable(adapt->ev.arg, conn->proc, conn);
    }
}

/*
 * Lost connections, once all that had arrived is read: completions of receives that are older than the
 * loss may still be in the queue, or in the hands of a waiting thread.
 */
static void tell_failed(struct dm_adapt *adapt)
{
    struct dm_conn *conn;

    dm_poll_empty(adapt);
    dm_conn_for_each (conn, adapt) {
        if (conn->is_dying && conn->ia != NULL && conn->ia->is_waited_on)
            continue;
        if (!conn->is_dying || (conn->active >= 0 && (conn->rx.left > 0 || dm_rx_has(&conn->rx))))
            continue;
        conn->is_dying = false;
        adapt->n_dying--;
        adapt->n_blocked -= conn->tx.is_blocked;
        adapt->n_tell -= conn->tell_ready;
        conn->tx.is_blocked = conn->tell_ready = false;
        remove_active(adapt, conn);
        dm_rma_fail(conn);
        if (conn->is_failed)
            continue;
        conn->is_failed = true;
        DM_FAIL(conn->err, "%s", conn->why);
        adapt->ev.failed(adapt->ev.arg, conn->proc, conn, conn->err);
    }
}

static inline int look(struct dm_adapt *adapt, int i)
{
    struct dm_conn *conn = adapt->active[i];

    if (dm_likely(!dm_rx_has(&conn->rx)))
        return 0;
    if (i > 0)
        swap(adapt, i, i - 1); /* busy ones come to the front */
    adapt->ev.input(adapt->ev.arg, conn->proc, conn);
    return 1;
}

static int look_cold(struct dm_adapt *adapt)
{
    int n = 0;

    for (int k = 0; k < COLD && adapt->n_active > adapt->n_hot; k++) {
        if (adapt->next_cold < adapt->n_hot || adapt->next_cold >= adapt->n_active)
            adapt->next_cold = adapt->n_hot;
        if (dm_rx_has(&adapt->active[adapt->next_cold]->rx)) {
            /* among the hot ones from now on, in the place of one of them */
            swap(adapt, adapt->next_cold, adapt->n_hot - 1);
            n += look(adapt, adapt->n_hot - 1);
        }
        adapt->next_cold++;
    }
    return n;
}

/* What is not in every poll: told by counters that are 0 on the fast path. */
static DM_NOINLINE int poll_more(struct dm_adapt *adapt)
{
    int n = 0;

    if (adapt->n_moving > 0) /* the events that it waits for */
        n += dm_poll_rare(adapt);
    if (atomic_load_explicit(&adapt->n_notes, memory_order_relaxed) > 0 ||
        !dm_list_is_empty(&adapt->connecting))
        n += dm_conn_progress(adapt);
    if (adapt->n_blocked > 0 || adapt->n_tell > 0)
        tell_writable(adapt);
    if (adapt->n_dying > 0) {
        tell_failed(adapt);
        n++;
    }
    if (adapt->done_head != NULL) {
        tell_done(adapt);
        n++;
    }
    return n;
}

int dm_adapt_poll(struct dm_adapt *adapt)
{
    /* a look costs a system call: not for rails that nobody is connected over */
    bool is_driving = adapt->n_driven > 0 || !dm_list_is_empty(&adapt->connecting);
    int n = 0;

    for (int i = 0; i < adapt->n_ias; i++) {
        if (dm_unlikely(adapt->ias[i]->n_signalled > 0 || adapt->ias[i]->n_sendrecv > 0 ||
                        (adapt->ias[i]->is_driven && is_driving)))
            n += drain(adapt->ias[i]);
    }
    for (int i = 0; i < adapt->n_hot; i++)
        n += look(adapt, i);
    if (dm_unlikely(adapt->n_active > adapt->n_hot))
        n += look_cold(adapt);
    if (dm_unlikely(atomic_load_explicit(&adapt->n_notes, memory_order_relaxed) > 0 ||
                    adapt->n_blocked > 0 || adapt->n_tell > 0 || adapt->n_dying > 0 ||
                    adapt->done_head != NULL || !dm_list_is_empty(&adapt->connecting)))
        n += poll_more(adapt);
    /* a poll with traffic counts little, so that a busy process hears of losses, too */
    adapt->idle += n > 0 ? 1 : BUSY_PER_IDLE;
    if (dm_unlikely(adapt->idle >= DM_RARE * BUSY_PER_IDLE)) {
        adapt->idle = 0;
        n += dm_poll_rare(adapt);
    }
    return n;
}
