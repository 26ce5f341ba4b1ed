/*
 * Connecting at a port. The connector sends a request and waits; whoever accepts at the port takes the
 * oldest request and answers; the connector ends the wait of the other by saying that it has come. A
 * connector that gives up says so instead, and whoever accepts goes on to the next one.
 *
 * Each side names the context id by which it wants to be spoken to over the bridge, so that there is
 * nothing to agree upon.
 *
 * Invariant: a request and a bridge hold a reference on the other process.
 */
#include "mpi/process/handshake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "mpi/comm/comm.h"
#include "mpi/process/port_name.h"
#include "mpi/process/state.h"
#include "util/clock.h"

static struct dm_adapt *handshake_adapt(void)
{
    return dm_chan_adapt(dm_world.chan);
}

/* ---- bridges ---- */

/* An intercommunicator with the other process, which is to be spoken to by ctx_send. */
static int handshake_build_bridge(int proc, uint32_t ctx, uint32_t ctx_send,
                                  struct dm_comm **comm_p)
{
    struct dm_group *remote;
    int err = dm_group_new(1, &proc, NULL, &remote);

    if (err != DM_OK)
        return err;
    err = dm_comm_new(dm_world.comm_self->group, ctx, &dm_errhandler_return, comm_p);
    if (err == DM_OK) {
        (*comm_p)->remote = remote;
        (*comm_p)->ctx_send = ctx_send;
    } else {
        dm_group_unref(remote);
    }
    return err;
}

void dm_handshake_part(struct dm_bridge *bridge)
{
    dm_comm_unref(bridge->comm);
    bridge->comm = NULL;
}

/* ---- waiting ---- */

static int handshake_look(const struct dm_handshake_wait *wait)
{
    if (wait->is_over != NULL && wait->is_over(wait->arg))
        return DM_EAGAIN;
    return wait->until != UINT64_MAX && dm_clock_ns() >= wait->until ? DM_ETIMEOUT : DM_OK;
}

/* Until the other one has said something; DM_EPEER when it is gone. */
static int handshake_await(struct dm_list *list, struct dm_handshake_awaited *a,
                           const struct dm_handshake_wait *wait)
{
    int err = DM_OK;

    dm_list_add_tail(list, &a->link);
    while (a->said == DM_HANDSHAKE_NOTHING && err == DM_OK) {
        dm_chan_progress_wait(dm_world.chan);
        if (a->said != DM_HANDSHAKE_NOTHING)
            break;
        if (dm_world_is_gone(a->proc))
            err = DM_EPEER;
        else
            err = handshake_look(wait);
    }
    dm_list_del(&a->link);
    return err;
}

/* ---- ports ---- */

int dm_handshake_open(char name[MPI_MAX_PORT_NAME])
{
    struct dm_port_name text;
    struct dm_handshake_port *port;
    int err = dm_adapt_serve(handshake_adapt());

    if (err == DM_OK)
        err = dm_adapt_port_open(handshake_adapt(), &text.token);
    if (err != DM_OK)
        return err;
    err = dm_adapt_proc_info(handshake_adapt(), dm_world.rank, &text.info);
    if (err == DM_OK)
        err = dm_port_name_write(&text, name);
    port = calloc(1, sizeof(*port));
    if (err == DM_OK && port == NULL)
        err = DM_FAIL(DM_ENOMEM, "port object");
    if (err != DM_OK) {
        free(port);
        dm_adapt_port_close(handshake_adapt(), text.token);
        return err;
    }
    port->token = text.token;
    dm_list_init(&port->requests);
    dm_list_add_tail(&dm_process_state.lists.ports, &port->link);
    return DM_OK;
}

static void handshake_free_port(struct dm_handshake_port *port)
{
    dm_list_del(&port->link);
    free(port);
}

static void handshake_close_port(struct dm_handshake_port *port)
{
    port->is_closed = true;
    dm_adapt_port_close(handshake_adapt(), port->token);
    dm_list_for_each_safe (it, tmp, &port->requests) {
        struct dm_handshake_request *request =
            dm_container_of(it, struct dm_handshake_request, link);

        dm_handshake_reply(DM_PKT_PORT_ANSWER, request->proc, 0, request->id, DM_HANDSHAKE_NO);
        dm_handshake_drop_request(request);
    }
    if (port->n_users == 0)
        handshake_free_port(port);
}

/* A port of this process. */
static int handshake_own_port(const char *name, struct dm_handshake_port **port_p)
{
    struct dm_port_name text;
    int err = dm_port_name_read(name, &text);

    if (err != DM_OK)
        return err;
    *port_p = dm_handshake_find_port(text.token);
    if (*port_p == NULL)
        return DM_FAIL(DM_ERR_PORT, "this process has not opened the port, or has closed it");
    return DM_OK;
}

int dm_handshake_close(const char *name)
{
    struct dm_handshake_port *port;
    int err = handshake_own_port(name, &port);

    if (err == DM_OK)
        handshake_close_port(port);
    return err;
}

/* ---- accept ---- */

/* Answer somebody who has sent one. DM_EPEER: it has given up. */
static int handshake_answer(struct dm_handshake_request *request, struct dm_bridge *bridge_p)
{
    static const struct dm_handshake_wait for_ever = {.until = UINT64_MAX};
    struct dm_handshake_awaited end = {.proc = request->proc, .id = request->id};
    uint32_t ctx = dm_ctx_alone();
    int err = handshake_build_bridge(request->proc, ctx, request->ctx, &bridge_p->comm);

    if (err != DM_OK) {
        dm_handshake_reply(DM_PKT_PORT_ANSWER, request->proc, 0, request->id, DM_HANDSHAKE_NO);
        return err;
    }
    bridge_p->tag = (int)(request->id & INT32_MAX);
    dm_handshake_reply(DM_PKT_PORT_ANSWER, request->proc, ctx, request->id, DM_HANDSHAKE_YES);
    /* It waits for just this, or is about to say that it does not any more. */
    err = handshake_await(&dm_process_state.lists.accepting, &end, &for_ever);
    if (err == DM_OK && end.said == DM_HANDSHAKE_NO)
        err = DM_EPEER;
    if (err != DM_OK)
        dm_handshake_part(bridge_p);
    return err;
}

/* The first in the queue that is still there. DM_EAGAIN: nobody is. */
static int handshake_welcome(struct dm_handshake_port *port, struct dm_bridge *bridge_p)
{
    while (!dm_list_is_empty(&port->requests)) {
        struct dm_handshake_request *request =
            dm_container_of(port->requests.next, struct dm_handshake_request, link);
        int err = DM_EPEER;

        dm_list_del(&request->link);
        if (!dm_world_is_gone(request->proc))
            err = handshake_answer(request, bridge_p);
        dm_handshake_drop_request(request);
        if (err != DM_EPEER)
            return err;
    }
    return DM_EAGAIN;
}

int dm_handshake_accept(const char *name, const struct dm_handshake_wait *wait,
                        struct dm_bridge *bridge_p)
{
    struct dm_handshake_port *port;
    int err = handshake_own_port(name, &port);

    if (err != DM_OK)
        return err;
    port->n_users++;
    for (;;) {
        err = handshake_welcome(port, bridge_p);
        if (err != DM_EAGAIN)
            break;
        if (port->is_closed)
            err = DM_FAIL(DM_ERR_PORT, "the port was closed while this process waited there");
        else
            err = handshake_look(wait);
        if (err != DM_OK)
            break;
        dm_chan_progress_wait(dm_world.chan);
    }
    if (err == DM_ETIMEOUT)
        err = DM_FAIL(DM_ERR_PORT, "nobody has come to the port in the time that info allows");
    if (--port->n_users == 0 && port->is_closed)
        handshake_free_port(port);
    return err;
}

/* ---- connect ---- */

/* Numbers of bridges serve as tags at both ends, so that they should differ from everybody's. */
static uint32_t handshake_new_id(void)
{
    uint32_t id = 0;

    if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
        id = (uint32_t)dm_clock_ns();
    while (dm_handshake_find_awaited(&dm_process_state.lists.connecting, dm_world.rank, id) != NULL)
        id++;
    return id & INT32_MAX;
}

static int handshake_connect_failed(int err, int proc, const struct dm_port_name *port)
{
    const char *host = port->info.host;

    if (err == DM_OK)
        return DM_FAIL(DM_ERR_PORT, "process %u on %s says that the port is closed",
                       port->info.id.rank, host);
    if (err == DM_ETIMEOUT)
        return DM_FAIL(DM_ERR_PORT,
                       "process %u on %s has not accepted in time; info key timeout or "
                       "DATUM_TIMEOUT gives it longer",
                       port->info.id.rank, host);
    if (err == DM_EPEER) {
        const struct dm_conn *conn =
            proc == dm_world.rank ? NULL : dm_adapt_conn(handshake_adapt(), proc);
        const char *why = conn != NULL ? dm_adapt_lost_why(conn) : "";

        return DM_FAIL(DM_ERR_PORT,
                       "the process that has opened the port, %u on %s, is gone, has closed the "
                       "port, or cannot be reached%s%s",
                       port->info.id.rank, host, why[0] != '\0' ? ": " : "", why);
    }
    return err;
}

/* Over to the process proc. */
static int handshake_go(int proc, const struct dm_port_name *port,
                        const struct dm_handshake_wait *wait, struct dm_bridge *bridge_p)
{
    struct dm_handshake_awaited answer = {.proc = proc, .id = handshake_new_id()};
    uint32_t ctx = dm_ctx_alone();
    int err;

    dm_adapt_proc_set_token(handshake_adapt(), proc, port->token);
    err = dm_handshake_send_request(proc, port->token, ctx, answer.id);
    if (err != DM_OK)
        return err;
    err = handshake_await(&dm_process_state.lists.connecting, &answer, wait);
    if (err != DM_OK || answer.said == DM_HANDSHAKE_NO) {
        if (err == DM_ETIMEOUT || err == DM_EAGAIN)
            dm_handshake_reply(DM_PKT_PORT_END, proc, 0, answer.id, DM_HANDSHAKE_NO);
        return handshake_connect_failed(err, proc, port);
    }
    err = handshake_build_bridge(proc, ctx, answer.ctx, &bridge_p->comm);
    bridge_p->tag = (int)(answer.id & INT32_MAX);
    dm_handshake_reply(DM_PKT_PORT_END, proc, 0, answer.id,
                       err == DM_OK ? DM_HANDSHAKE_YES : DM_HANDSHAKE_NO);
    return err;
}

int dm_handshake_connect(const char *name, const struct dm_handshake_wait *wait,
                         struct dm_bridge *bridge_p)
{
    struct dm_port_name port;
    int proc;
    int err = dm_port_name_read(name, &port);

    if (err == DM_OK)
        err = dm_adapt_serve(handshake_adapt());
    if (err == DM_OK)
        err = dm_adapt_proc_get(handshake_adapt(), &port.info, &proc);
    if (err == DM_ECONN)
        err = DM_FAIL(DM_ERR_PORT, "%.300s", dm_err_detail());
    if (err != DM_OK)
        return err;
    err = handshake_go(proc, &port, wait, bridge_p);
    dm_adapt_proc_put(handshake_adapt(), proc);
    return err;
}

/* ---- start and stop ---- */

void dm_handshake_start(void)
{
    dm_list_init(&dm_process_state.lists.ports);
    dm_list_init(&dm_process_state.lists.connecting);
    dm_list_init(&dm_process_state.lists.accepting);
    dm_handshake_listen();
}

void dm_handshake_stop(void)
{
    while (!dm_list_is_empty(&dm_process_state.lists.ports))
        handshake_close_port(
            dm_container_of(dm_process_state.lists.ports.next, struct dm_handshake_port, link));
}
