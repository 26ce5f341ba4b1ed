/*
 * The connection server: a thread per rail that waits for connection requests and
 * connection events, so that a process that computes still answers. It accepts by
 * itself; everything else it leaves as a note for the main thread. When it does
 * not run, the main thread looks at the same queue and calls the same function.
 */
#include "dapl_adapt/conn.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "dapl_adapt/adapt.h"
#include "dapl_adapt/eager.h"
#include "dapl_adapt/ring.h"
#include "dapl_adapt/serial.h"
#include "util/err.h"
#include "util/log.h"

#define WAIT_US 100000 /* a provider may not wake us when asked to stop */

static void reject(struct dm_adapt *adapt, DAT_CR_HANDLE cr, enum dm_reject reason)
{
    struct dm_hello hello;

    memset(&hello, 0, sizeof(hello));
    hello.magic = DM_HELLO_MAGIC;
    hello.version = DM_HELLO_VERSION;
    hello.kind = DM_HELLO_REJECT;
    hello.job = adapt->job_hash;
    hello.rank = (uint32_t)adapt->job.rank;
    hello.reject = (uint8_t)reason;
    DM_TRACE(CONN, "reject %d", reason);
    dm_serial_lock();
    dat_cr_reject(cr, sizeof(hello), &hello);
    dm_serial_unlock();
}

/* The peer has seen a break that we have not, or the other way round; both come to the later one. */
static enum dm_reject other_epoch(struct dm_link *link, struct dm_ia *ia,
                                  const struct dm_hello *hello)
{
    struct dm_conn *conn = link->conn;

    if ((int16_t)(hello->epoch - conn->epoch) > 0 && link->kind == DM_LINK_PIPE) {
        conn->wanted = hello->epoch;
        conn->wanted_ia = ia;
        dm_conn_note(link, DM_NOTE_BROKEN);
    }
    return DM_REJECT_AGAIN;
}

/* Is it too early for this link? */
static bool is_early(const struct dm_link *link, const struct dm_ia *ia)
{
    const struct dm_conn *conn = link->conn;

    if (link->dropped != DAT_HANDLE_NULL)
        return true;
    if (link->kind == DM_LINK_RDMA && conn->ia != ia)
        return true;
    return link->kind != DM_LINK_PIPE && conn->link[DM_LINK_PIPE].state < DM_LINK_ACCEPTING;
}

/* Whose request is it? Sets *link_p, or says why not. */
static enum dm_reject identify(struct dm_adapt *adapt, struct dm_ia *ia,
                               const struct dm_hello *hello, struct dm_link **link_p)
{
    struct dm_conn *conn;

    if (hello->magic != DM_HELLO_MAGIC || hello->job != adapt->job_hash ||
        hello->kind != DM_HELLO_CONNECT || hello->rank >= (uint32_t)adapt->job.size ||
        hello->rank == (uint32_t)adapt->job.rank || hello->link >= DM_LINK_N)
        return DM_REJECT_STRANGER;
    if (hello->version != DM_HELLO_VERSION ||
        !dm_ring_is_sane(adapt, hello->n_slots, hello->slot_size))
        return DM_REJECT_MISMATCH;
    conn = dm_conn_make(adapt, (int)hello->rank);
    if (conn == NULL)
        return DM_REJECT_NOMEM;
    *link_p = &conn->link[hello->link];
    if ((*link_p)->state == DM_LINK_LOST)
        return DM_REJECT_LOST;
    if (hello->epoch != conn->epoch)
        return other_epoch(*link_p, ia, hello);
    if (hello->link >= DM_LINK_EXTRA && (*link_p)->state == DM_LINK_UP && !(*link_p)->is_active)
        dm_conn_note(*link_p, DM_NOTE_LOST); /* the peer has given up what it had made */
    return is_early(*link_p, ia) ? DM_REJECT_AGAIN : dm_conn_cross(*link_p, adapt->job.rank);
}

void dm_link_first(const struct dm_link *link, DAT_LMR_TRIPLET *lmr_p)
{
    const struct dm_conn *conn = link->conn;
    const struct dm_adapt *adapt = conn->adapt;

    if (link->kind >= DM_LINK_EXTRA) { /* not a rail of the region: what measuring overwrites */
        lmr_p->virtual_address = (DAT_VADDR)(uintptr_t)(adapt->probe + DM_PROBE_LEN);
        lmr_p->lmr_context = adapt->probe_lmr[conn->lane[link->kind - DM_LINK_RDMA].ia->index].lctx;
    } else {
        lmr_p->virtual_address = (DAT_VADDR)(uintptr_t)conn->ctl->first;
        lmr_p->lmr_context = conn->region.lmr.lctx;
    }
    lmr_p->segment_length = sizeof(conn->ctl->first);
}

/* Receives that must be there before the peer can send. */
static int post_first(struct dm_conn *conn, struct dm_link *link)
{
    DAT_LMR_TRIPLET lmr;
    DAT_RETURN rc;

    if (link->kind == DM_LINK_PIPE && conn->epoch == 0) {
        dm_eager_setup_rx(conn);
        return conn->is_sendrecv ? dm_eager_sr_setup(conn, link->ep) : DM_OK;
    }
    dm_link_first(link, &lmr);
    dm_serial_lock();
    rc = DAT_EP_POST_RECV(link->ep, 1, &lmr, dm_cookie(DM_COOKIE_FIRST, link, link->kind << 16),
                          DAT_COMPLETION_DEFAULT_FLAG);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_ep_post_recv: %s", conn->ia->name, dm_dat_text(rc));
    return link->kind == DM_LINK_PIPE ? dm_eager_rx_resume(conn, link->ep) : DM_OK;
}

static int accept_request(struct dm_ia *ia, DAT_CR_HANDLE cr, const struct dm_hello *hello,
                          struct dm_link *link)
{
    struct dm_conn *conn = link->conn;
    struct dm_hello reply;
    DAT_RETURN rc;
    int err;

    link->dropped = link->ep; /* an own attempt under way */
    link->ep = DAT_HANDLE_NULL;
    link->answer = *hello;
    err = dm_conn_prepare(conn, link, ia);
    if (err != DM_OK)
        return err;
    if (link->kind == DM_LINK_PIPE)
        dm_ring_agree(conn, hello->n_slots, hello->slot_size);
    if (link->kind == DM_LINK_PIPE)
        conn->is_sendrecv = conn->adapt->wants_sendrecv || ia->needs_sendrecv || hello->sendrecv;
    err = post_first(conn, link);
    if (err != DM_OK)
        return err;
    dm_conn_hello(conn, link->kind, DM_HELLO_ACCEPT, &reply);
    link->state = DM_LINK_ACCEPTING;
    link->is_active = false;
    dm_serial_lock();
    rc = dat_cr_accept(cr, link->ep, sizeof(reply), &reply);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS) { /* the connector is gone or will try again */
        DM_TRACE(CONN, "accept rank %d: %s", conn->proc, dm_dat_text(rc));
        dm_conn_free_ep(&link->ep);
        link->state = DM_LINK_IDLE;
    }
    return DM_OK;
}

void dm_conn_turn_away(struct dm_link *link)
{
    if (link->cr != DAT_HANDLE_NULL)
        reject(link->conn->adapt, link->cr,
               link->state == DM_LINK_LOST ? DM_REJECT_LOST : DM_REJECT_AGAIN);
    link->cr = DAT_HANDLE_NULL;
}

void dm_conn_answer(struct dm_link *link)
{
    struct dm_adapt *adapt = link->conn->adapt;
    DAT_CR_HANDLE cr = link->cr;
    enum dm_reject reason;

    if (cr == DAT_HANDLE_NULL)
        return;
    link->cr = DAT_HANDLE_NULL;
    if (link->asked.epoch != link->conn->epoch || is_early(link, link->cr_ia))
        reason = DM_REJECT_AGAIN;
    else
        reason = dm_conn_cross(link, adapt->job.rank);
    if (reason == DM_REJECT_NONE) {
        link->conn->rail = dm_conn_rail_of(link->conn, link->cr_ia);
        if (accept_request(link->cr_ia, cr, &link->asked, link) != DM_OK)
            reason = DM_REJECT_AGAIN;
    }
    if (reason != DM_REJECT_NONE)
        reject(adapt, cr, reason);
}

/* A pipe that moves: what has arrived is the main thread's to count. */
static void leave_request(struct dm_link *link, struct dm_ia *ia, DAT_CR_HANDLE cr,
                          const struct dm_hello *hello)
{
    dm_conn_turn_away(link); /* an older one, which its sender does not wait for any more */
    link->cr = cr;
    link->cr_ia = ia;
    link->asked = *hello;
    dm_conn_note(link, DM_NOTE_ASKED);
}

static void on_request(struct dm_ia *ia, DAT_CR_HANDLE cr)
{
    struct dm_adapt *adapt = ia->adapt;
    enum dm_reject reason = DM_REJECT_STRANGER;
    struct dm_link *link = NULL;
    struct dm_hello hello;
    DAT_CR_PARAM param;
    DAT_RETURN rc;

    memset(&param, 0, sizeof(param));
    memset(&hello, 0, sizeof(hello));
    dm_serial_lock();
    rc = dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
    dm_serial_unlock();
    if (rc == DAT_SUCCESS && param.private_data != NULL &&
        param.private_data_size >= (DAT_COUNT)sizeof(hello)) {
        memcpy(&hello, param.private_data, sizeof(hello));
        reason = identify(adapt, ia, &hello, &link);
    }
    if (reason == DM_REJECT_NONE && link->kind == DM_LINK_PIPE && link->conn->epoch > 0) {
        leave_request(link, ia, cr, &hello);
        return;
    }
    if (reason == DM_REJECT_NONE && accept_request(ia, cr, &hello, link) != DM_OK) {
        dm_log_error("cannot accept the connection of rank %u: %s", hello.rank, dm_err_detail());
        reason = DM_REJECT_NOMEM;
    }
    if (reason != DM_REJECT_NONE)
        reject(adapt, cr, reason);
}

static struct dm_link *find_link(struct dm_adapt *adapt, DAT_EP_HANDLE ep)
{
    struct dm_conn *conn;
    struct dm_link *link;

    dm_conn_for_each (conn, adapt) {
        for (int k = 0; k < DM_LINK_N; k++) {
            link = &conn->link[k];
            if (ep != DAT_HANDLE_NULL && (link->ep == ep || link->dropped == ep))
                return link;
        }
    }
    return NULL;
}

static void take_answer(struct dm_link *link, const DAT_CONNECTION_EVENT_DATA *data)
{
    memset(&link->answer, 0, sizeof(link->answer));
    if (data->private_data != NULL && data->private_data_size >= (DAT_COUNT)sizeof(link->answer))
        memcpy(&link->answer, data->private_data, sizeof(link->answer));
}

static void on_established(struct dm_link *link, const DAT_CONNECTION_EVENT_DATA *data)
{
    if (link->is_active) {
        take_answer(link, data);
        if (link->answer.magic != DM_HELLO_MAGIC || link->answer.kind != DM_HELLO_ACCEPT ||
            link->answer.rank != (uint32_t)link->conn->proc) {
            /* somebody else listens there: as good as nobody */
            link->event = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
            dm_conn_note(link, DM_NOTE_REFUSED);
            return;
        }
    }
    if (link->state == DM_LINK_CONNECTING || link->state == DM_LINK_ACCEPTING) {
        link->state = DM_LINK_UP;
        dm_conn_note(link, DM_NOTE_UP);
    }
}

static void on_ended(struct dm_link *link, int event, const DAT_CONNECTION_EVENT_DATA *data)
{
    switch (link->state) {
    case DM_LINK_CONNECTING:
        if (event == DAT_CONNECTION_EVENT_PEER_REJECTED)
            take_answer(link, data);
        link->event = event;
        dm_conn_note(link, DM_NOTE_REFUSED);
        break;
    case DM_LINK_ACCEPTING: /* the connector tries again, or gives up and says so */
        link->state = DM_LINK_IDLE;
        dm_conn_free_ep(&link->dropped); /* an own attempt that it had replaced */
        link->dropped = link->ep;
        link->ep = DAT_HANDLE_NULL;
        dm_conn_note(link, DM_NOTE_DROPPED);
        break;
    case DM_LINK_UP:
        link->is_ended = true;
        dm_conn_note(link, DM_NOTE_LOST);
        break;
    default:
        break;
    }
}

void dm_conn_event(struct dm_ia *ia, const DAT_EVENT *event)
{
    const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
    struct dm_adapt *adapt = ia->adapt;
    struct dm_link *link;

    pthread_mutex_lock(&adapt->lock);
    if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
        on_request(ia, event->event_data.cr_arrival_event_data.cr_handle);
    } else {
        link = find_link(adapt, data->ep_handle);
        if (link == NULL)
            DM_TRACE(CONN, "event 0x%x of an endpoint that is gone", event->event_number);
        else if (data->ep_handle == link->dropped)
            dm_conn_note(link, DM_NOTE_DROPPED);
        else if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
            on_established(link, data);
        else
            on_ended(link, (int)event->event_number, data);
    }
    pthread_mutex_unlock(&adapt->lock);
}

static DM_THREAD_LOCAL bool is_server;

bool dm_conn_is_server(void)
{
    return is_server;
}

static void *serve(void *arg)
{
    const struct timespec pause = {0, 1000000};
    struct dm_ia *ia = arg;
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_RETURN rc;

    is_server = true;
    while (!atomic_load_explicit(&ia->stop, memory_order_acquire)) {
        rc = dat_evd_wait(ia->cm_evd, WAIT_US, 1, &event, &n_more);
        if (rc == DAT_SUCCESS)
            dm_conn_event(ia, &event);
        else if (DAT_GET_TYPE(rc) != DAT_TIMEOUT_EXPIRED &&
                 !atomic_load_explicit(&ia->stop, memory_order_acquire))
            nanosleep(&pause, NULL); /* interrupted, or the provider is in trouble */
    }
    return NULL;
}

int dm_conn_serve(struct dm_ia *ia)
{
    sigset_t all;
    sigset_t old;
    int rc;

    atomic_store_explicit(&ia->stop, 0, memory_order_release);
    sigfillset(&all); /* signals belong to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&ia->server, NULL, serve, ia);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return DM_FAIL(DM_ESYS, "cannot start the connection server's thread: %s", strerror(rc));
    ia->has_server = true;
    return DM_OK;
}

void dm_conn_unserve(struct dm_ia *ia)
{
    if (!ia->has_server)
        return;
    atomic_store_explicit(&ia->stop, 1, memory_order_release);
    dm_serial_lock();
    dat_evd_set_unwaitable(ia->cm_evd);
    dm_serial_unlock();
    pthread_join(ia->server, NULL);
    dat_evd_clear_unwaitable(ia->cm_evd);
    ia->has_server = false;
}
