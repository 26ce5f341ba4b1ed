/*
 * Connecting to oneself.
 */
#include "dapl_adapt/provider/loopback.h"

#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "util/clock.h"
#include "util/err.h"

#define END_NS   UINT64_C(1000000000)
#define SHAKE_NS UINT64_C(5000000000)
#define N_REQS   8
#define EVD_QLEN 32

static bool loopback_dequeue(const struct dm_ia *ia, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
    DAT_RETURN rc;

    dm_serial_enter(ia->is_serial);
    rc = DAT_EVD_DEQUEUE(evd, event);
    dm_serial_leave(ia->is_serial);
    return rc == DAT_SUCCESS;
}

bool dm_loopback_next(struct dm_loopback *loop, DAT_EVENT *event)
{
    if (!loopback_dequeue(loop->ia, loop->dto_evd, event))
        return false;
    loop->n_posted -= loop->n_posted > 0;
    return true;
}

static bool loopback_setup(struct dm_loopback *loop)
{
    const struct dm_ia *ia = loop->ia;
    DAT_EP_ATTR attr;

    memset(&attr, 0, sizeof(attr));
    attr.service_type = DAT_SERVICE_TYPE_RC;
    attr.qos = DAT_QOS_BEST_EFFORT;
    attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr.max_recv_dtos = N_REQS;
    attr.max_request_dtos = N_REQS;
    attr.max_recv_iov = 1;
    attr.max_request_iov = 1;
    attr.max_rdma_read_in = 1;
    attr.max_rdma_read_out = 1;
    attr.max_rdma_read_iov = 1;
    attr.max_rdma_write_iov = 1;
    return dat_evd_create(ia->ia, EVD_QLEN, DAT_HANDLE_NULL,
                          DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
                          &loop->cm_evd) == DAT_SUCCESS &&
           dat_evd_create(ia->ia, EVD_QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &loop->dto_evd) ==
               DAT_SUCCESS &&
           dm_ia_listen(ia->ia, ia->name, loop->cm_evd, ia->caps.has_quals, &loop->qual,
                        &loop->psp) == DM_OK &&
           dat_ep_create(ia->ia, ia->pz, loop->dto_evd, loop->dto_evd, loop->cm_evd, &attr,
                         &loop->out) == DAT_SUCCESS &&
           dat_ep_create(ia->ia, ia->pz, loop->dto_evd, loop->dto_evd, loop->cm_evd, &attr,
                         &loop->in) == DAT_SUCCESS;
}

/* A request: ours is known by its number; any other is rejected. False: it cannot be accepted. */
static bool loopback_answer(struct dm_loopback *loop, DAT_CR_HANDLE cr)
{
    DAT_CR_PARAM param;
    uint64_t nonce = 0;

    memset(&param, 0, sizeof(param));
    if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS && param.private_data != NULL &&
        param.private_data_size >= (DAT_COUNT)sizeof(nonce))
        memcpy(&nonce, param.private_data, sizeof(nonce));
    if (nonce != loop->nonce) {
        dat_cr_reject(cr, 0, NULL);
        return true;
    }
    if (dat_cr_accept(cr, loop->in, 0, NULL) != DAT_SUCCESS)
        return false;
    loop->n_pending++;
    return true;
}

static bool loopback_event(struct dm_loopback *loop, const DAT_EVENT *event)
{
    bool is_ok;

    if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
        loop->n_pending--;
        loop->n_up++;
        return true;
    }
    if (event->event_number == DAT_CONNECTION_EVENT_DISCONNECTED) {
        loop->n_up--;
        return false;
    }
    if (event->event_number != DAT_CONNECTION_REQUEST_EVENT) {
        loop->n_pending--;
        return false;
    }
    dm_serial_lock();
    is_ok = loopback_answer(loop, event->event_data.cr_arrival_event_data.cr_handle);
    dm_serial_unlock();
    return is_ok;
}

static bool loopback_connect(struct dm_loopback *loop, uint64_t limit_ns)
{
    uint64_t until = dm_clock_ns() + limit_ns;
    uint64_t most_us = (limit_ns + SHAKE_NS) / 1000; /* the provider must not give up first */
    struct sockaddr_in6 addr;                        /* the largest, aligned */
    DAT_EVENT event;
    DAT_RETURN rc;

    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, loop->ia->net.addr, loop->ia->net.addr_len);
    loop->nonce = until ^ (uint64_t)(uintptr_t)loop;
    dm_serial_lock();
    rc = dat_ep_connect(loop->out, (DAT_IA_ADDRESS_PTR)&addr, loop->qual, (DAT_TIMEOUT)most_us,
                        sizeof(loop->nonce), &loop->nonce, DAT_QOS_BEST_EFFORT,
                        DAT_CONNECT_DEFAULT_FLAG);
    dm_serial_unlock();
    if (rc != DAT_SUCCESS)
        return false;
    loop->n_pending++;
    while (loop->n_up < 2 && dm_clock_ns() < until) {
        if (!loopback_dequeue(loop->ia, loop->cm_evd, &event))
            sched_yield();
        else if (!loopback_event(loop, &event))
            return false;
    }
    return loop->n_up == 2;
}

bool dm_loopback_open(struct dm_loopback *loop, struct dm_ia *ia, uint64_t limit_ns)
{
    bool is_set_up;

    memset(loop, 0, sizeof(*loop));
    loop->ia = ia;
    dm_serial_lock();
    is_set_up = loopback_setup(loop);
    dm_serial_unlock();
    return is_set_up && loopback_connect(loop, limit_ns);
}

/*
 * Wait until both ends know how the handshake went: who leaves in the middle of it meets an assertion of
 * libdapl's, and soft-iWARP's kernel a BUG (iw_cm).
 */
static void loopback_await_handshake(struct dm_loopback *loop, uint64_t until)
{
    DAT_EVENT event;

    while (loop->n_pending > 0 && dm_clock_ns() < until) {
        if (loopback_dequeue(loop->ia, loop->cm_evd, &event))
            (void)loopback_event(loop, &event);
        else
            sched_yield();
    }
}

/* Take the ends of connections that come before `until`; all of them: there is none left. */
static void loopback_await_ends(struct dm_loopback *loop, uint64_t until)
{
    DAT_EVENT event;

    while (loop->n_up > 0 && dm_clock_ns() < until) {
        if (loopback_dequeue(loop->ia, loop->cm_evd, &event))
            loop->n_up -= event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
        else
            sched_yield();
    }
}

/* Wait for what is under way: when it is given up, soft-iWARP completes it after libdapl has forgotten it. */
static void loopback_await_requests(struct dm_loopback *loop, uint64_t until)
{
    DAT_EVENT event;

    while (loop->n_posted > 0 && dm_clock_ns() < until)
        if (!dm_loopback_next(loop, &event))
            sched_yield();
}

static void loopback_cut(DAT_EP_HANDLE ep)
{
    dm_serial_lock();
    dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
    dm_serial_unlock();
}

/*
 * The connector ends the connection, the other end only if it hears nothing of that: a provider
 * may not stand both at once (an assertion of libdapl's fails).
 */
void dm_loopback_close(struct dm_loopback *loop)
{
    loopback_await_handshake(loop, dm_clock_ns() + SHAKE_NS);
    loopback_await_requests(loop, dm_clock_ns() + END_NS);
    if (loop->n_up > 0) {
        loopback_cut(loop->out);
        loopback_await_ends(loop, dm_clock_ns() + END_NS);
    }
    if (loop->n_up > 0) {
        loopback_cut(loop->in);
        loopback_await_ends(loop, dm_clock_ns() + END_NS);
    }
    dm_serial_lock();
    if (loop->out != DAT_HANDLE_NULL)
        dat_ep_free(loop->out);
    if (loop->in != DAT_HANDLE_NULL)
        dat_ep_free(loop->in);
    if (loop->psp != DAT_HANDLE_NULL)
        dat_psp_free(loop->psp);
    if (loop->dto_evd != DAT_HANDLE_NULL)
        dat_evd_free(loop->dto_evd);
    if (loop->cm_evd != DAT_HANDLE_NULL)
        dat_evd_free(loop->cm_evd);
    dm_serial_unlock();
    memset(loop, 0, sizeof(*loop));
}
