/*
 * Meeting at a port. The connector says hello and waits; whoever accepts at the port takes the
 * oldest hello and answers; the connector ends the wait of the other by saying that it has come. A
 * connector that gives up says so instead, and whoever accepts goes on to the next one.
 *
 * Each side names the context id by which it wants to be spoken to over the bridge, so that there is
 * nothing to agree upon.
 *
 * Invariant: a hello and a bridge hold a reference on the other process.
 */
#include "mpi/process/meet.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "mpi/comm/comm.h"
#include "mpi/process/port_name.h"
#include "mpi/process/words.h"
#include "util/clock.h"

static struct dm_adapt *meet_adapt(void)
{
    return dm_chan_adapt(dm_world.chan);
}

/* ---- bridges ---- */

/* An intercommunicator with the other process, which is to be spoken to by ctx_send. */
static int meet_build_bridge(int proc, uint32_t ctx, uint32_t ctx_send, struct dm_comm **bridge_p)
{
    struct dm_group *remote;
    int err = dm_group_new(1, &proc, &remote);

    if (err != DM_OK)
        return err;
    err = dm_comm_new(dm_world.comm_self->group, ctx, &dm_errhandler_return, bridge_p);
    if (err == DM_OK) {
        (*bridge_p)->remote = remote;
        (*bridge_p)->ctx_send = ctx_send;
    } else {
        dm_group_unref(remote);
    }
    return err;
}

void dm_meet_part(struct dm_meeting *meeting)
{
    dm_comm_unref(meeting->bridge);
    meeting->bridge = NULL;
}

/* ---- waiting ---- */

static int meet_look(const struct dm_meet_wait *wait)
{
    if (wait->is_over != NULL && wait->is_over(wait->arg))
        return DM_EAGAIN;
    return wait->until != UINT64_MAX && dm_clock_ns() >= wait->until ? DM_ETIMEOUT : DM_OK;
}

/* Until the other one has said something; DM_EPEER when it is gone. */
static int meet_await(struct dm_list *list, struct dm_meet_awaited *a,
                      const struct dm_meet_wait *wait)
{
    int err = DM_OK;

    dm_list_add_tail(list, &a->link);
    while (a->said == DM_MEET_NOTHING && err == DM_OK) {
        dm_chan_progress_wait(dm_world.chan);
        if (a->said != DM_MEET_NOTHING)
            break;
        if (dm_world_is_gone(a->proc))
            err = DM_EPEER;
        else
            err = meet_look(wait);
    }
    dm_list_del(&a->link);
    return err;
}

/* ---- ports ---- */

int dm_meet_open(char name[MPI_MAX_PORT_NAME])
{
    struct dm_port_name text;
    struct dm_meet_port *port;
    int err = dm_adapt_serve(meet_adapt());

    if (err == DM_OK)
        err = dm_adapt_port_open(meet_adapt(), &text.token);
    if (err != DM_OK)
        return err;
    err = dm_adapt_proc_info(meet_adapt(), dm_world.rank, &text.info);
    if (err == DM_OK)
        err = dm_port_name_write(&text, name);
    port = calloc(1, sizeof(*port));
    if (err == DM_OK && port == NULL)
        err = DM_FAIL(DM_ENOMEM, "port object");
    if (err != DM_OK) {
        free(port);
        dm_adapt_port_close(meet_adapt(), text.token);
        return err;
    }
    port->token = text.token;
    dm_list_init(&port->hellos);
    dm_list_add_tail(&dm_meet_lists.ports, &port->link);
    return DM_OK;
}

static void meet_free_port(struct dm_meet_port *port)
{
    dm_list_del(&port->link);
    free(port);
}

static void meet_close_port(struct dm_meet_port *port)
{
    port->is_closed = true;
    dm_adapt_port_close(meet_adapt(), port->token);
    dm_list_for_each_safe (it, tmp, &port->hellos) {
        struct dm_meet_hello *hello = dm_container_of(it, struct dm_meet_hello, link);

        dm_meet_reply(DM_PKT_PORT_ANSWER, hello->proc, 0, hello->id, DM_MEET_NO);
        dm_meet_drop_hello(hello);
    }
    if (port->n_users == 0)
        meet_free_port(port);
}

/* A port of this process. */
static int meet_own_port(const char *name, struct dm_meet_port **port_p)
{
    struct dm_port_name text;
    int err = dm_port_name_read(name, &text);

    if (err != DM_OK)
        return err;
    *port_p = dm_meet_find_port(text.token);
    if (*port_p == NULL)
        return DM_FAIL(DM_ERR_PORT, "this process has not opened the port, or has closed it");
    return DM_OK;
}

int dm_meet_close(const char *name)
{
    struct dm_meet_port *port;
    int err = meet_own_port(name, &port);

    if (err == DM_OK)
        meet_close_port(port);
    return err;
}

/* ---- accept ---- */

/* Answer somebody who has said hello. DM_EPEER: it has given up. */
static int meet_answer(struct dm_meet_hello *hello, struct dm_meeting *meeting_p)
{
    static const struct dm_meet_wait for_ever = {.until = UINT64_MAX};
    struct dm_meet_awaited end = {.proc = hello->proc, .id = hello->id};
    uint32_t ctx = dm_ctx_alone();
    int err = meet_build_bridge(hello->proc, ctx, hello->ctx, &meeting_p->bridge);

    if (err != DM_OK) {
        dm_meet_reply(DM_PKT_PORT_ANSWER, hello->proc, 0, hello->id, DM_MEET_NO);
        return err;
    }
    meeting_p->tag = (int)(hello->id & INT32_MAX);
    dm_meet_reply(DM_PKT_PORT_ANSWER, hello->proc, ctx, hello->id, DM_MEET_YES);
    /* It waits for just this, or is about to say that it does not any more. */
    err = meet_await(&dm_meet_lists.accepting, &end, &for_ever);
    if (err == DM_OK && end.said == DM_MEET_NO)
        err = DM_EPEER;
    if (err != DM_OK)
        dm_meet_part(meeting_p);
    return err;
}

/* The first in the queue that is still there. DM_EAGAIN: nobody is. */
static int meet_welcome(struct dm_meet_port *port, struct dm_meeting *meeting_p)
{
    while (!dm_list_is_empty(&port->hellos)) {
        struct dm_meet_hello *hello =
            dm_container_of(port->hellos.next, struct dm_meet_hello, link);
        int err = DM_EPEER;

        dm_list_del(&hello->link);
        if (!dm_world_is_gone(hello->proc))
            err = meet_answer(hello, meeting_p);
        dm_meet_drop_hello(hello);
        if (err != DM_EPEER)
            return err;
    }
    return DM_EAGAIN;
}

int dm_meet_accept(const char *name, const struct dm_meet_wait *wait, struct dm_meeting *meeting_p)
{
    struct dm_meet_port *port;
    int err = meet_own_port(name, &port);

    if (err != DM_OK)
        return err;
    port->n_users++;
    for (;;) {
        err = meet_welcome(port, meeting_p);
        if (err != DM_EAGAIN)
            break;
        if (port->is_closed)
            err = DM_FAIL(DM_ERR_PORT, "the port was closed while this process waited there");
        else
            err = meet_look(wait);
        if (err != DM_OK)
            break;
        dm_chan_progress_wait(dm_world.chan);
    }
    if (err == DM_ETIMEOUT)
        err = DM_FAIL(DM_ERR_PORT, "nobody has come to the port in the time that info allows");
    if (--port->n_users == 0 && port->is_closed)
        meet_free_port(port);
    return err;
}

/* ---- connect ---- */

/* Numbers of meetings serve as tags at both ends, so that they should differ from everybody's. */
static uint32_t meet_new_id(void)
{
    uint32_t id = 0;

    if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
        id = (uint32_t)dm_clock_ns();
    while (dm_meet_find_awaited(&dm_meet_lists.connecting, dm_world.rank, id) != NULL)
        id++;
    return id & INT32_MAX;
}

static int meet_connect_failed(int err, int proc, const struct dm_port_name *port)
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
            proc == dm_world.rank ? NULL : dm_adapt_conn(meet_adapt(), proc);
        const char *why = conn != NULL ? dm_adapt_lost_why(conn) : "";

        return DM_FAIL(DM_ERR_PORT,
                       "the process that has opened the port, %u on %s, is gone, has closed the "
                       "port, or cannot be reached%s%s",
                       port->info.id.rank, host, why[0] != '\0' ? ": " : "", why);
    }
    return err;
}

/* Over to the process proc. */
static int meet_go(int proc, const struct dm_port_name *port, const struct dm_meet_wait *wait,
                   struct dm_meeting *meeting_p)
{
    struct dm_meet_awaited answer = {.proc = proc, .id = meet_new_id()};
    uint32_t ctx = dm_ctx_alone();
    int err;

    dm_adapt_proc_set_token(meet_adapt(), proc, port->token);
    err = dm_meet_say_hello(proc, port->token, ctx, answer.id);
    if (err != DM_OK)
        return err;
    err = meet_await(&dm_meet_lists.connecting, &answer, wait);
    if (err != DM_OK || answer.said == DM_MEET_NO) {
        if (err == DM_ETIMEOUT || err == DM_EAGAIN)
            dm_meet_reply(DM_PKT_PORT_END, proc, 0, answer.id, DM_MEET_NO);
        return meet_connect_failed(err, proc, port);
    }
    err = meet_build_bridge(proc, ctx, answer.ctx, &meeting_p->bridge);
    meeting_p->tag = (int)(answer.id & INT32_MAX);
    dm_meet_reply(DM_PKT_PORT_END, proc, 0, answer.id, err == DM_OK ? DM_MEET_YES : DM_MEET_NO);
    return err;
}

int dm_meet_connect(const char *name, const struct dm_meet_wait *wait, struct dm_meeting *meeting_p)
{
    struct dm_port_name port;
    int proc;
    int err = dm_port_name_read(name, &port);

    if (err == DM_OK)
        err = dm_adapt_serve(meet_adapt());
    if (err == DM_OK)
        err = dm_adapt_proc_get(meet_adapt(), &port.info, &proc);
    if (err == DM_ECONN)
        err = DM_FAIL(DM_ERR_PORT, "%.300s", dm_err_detail());
    if (err != DM_OK)
        return err;
    err = meet_go(proc, &port, wait, meeting_p);
    dm_adapt_proc_put(meet_adapt(), proc);
    return err;
}

/* ---- start and stop ---- */

void dm_meet_start(void)
{
    dm_list_init(&dm_meet_lists.ports);
    dm_list_init(&dm_meet_lists.connecting);
    dm_list_init(&dm_meet_lists.accepting);
    dm_meet_listen();
}

void dm_meet_stop(void)
{
    while (!dm_list_is_empty(&dm_meet_lists.ports))
        meet_close_port(dm_container_of(dm_meet_lists.ports.next, struct dm_meet_port, link));
}
