/*
 * Meeting at a port. The connector says hello and waits; whoever accepts at the port takes the
 * oldest hello and answers; the connector ends the wait of the other by saying that it has come. A
 * connector that gives up says so instead, and whoever accepts goes on to the next one.
 *
 * Each side names the context id by which it wants to be spoken to over the bridge, so that there is
 * nothing to agree upon.
 *
 * Invariant: a hello and a bridge hold a reference on the other process; lists are changed under the
 * global lock, by packets, too.
 */
#include "mpi/process/meet.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "mpi/comm/comm.h"
#include "mpi/comm/procs.h"
#include "mpi/process/port_name.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"

struct port {
    struct dm_list link;
    struct dm_list hellos; /* oldest first */
    uint64_t token;
    int n_users; /* accepts that look at it */
    bool is_closed;
};

/* Somebody waits at a port. */
struct hello {
    struct dm_list link;
    int proc;
    uint32_t ctx; /* how to speak to it */
    uint32_t id;  /* its number there */
};

/* A packet about a meeting is awaited. */
struct awaited {
    struct dm_list link;
    int proc;
    uint32_t id;
    uint32_t ctx; /* of the other one, from its answer */
    enum { MEET_NOTHING, MEET_YES, MEET_NO } said;
};

/* What a hello carries follows as its data: who says it. */
struct pkt_hello {
    struct dm_pkt pkt;
    uint64_t token;
    uint32_t ctx;
    uint32_t id;
};

/* A hello on its way out, or in. */
struct letter {
    struct dm_chan_send send;
    int proc;
    struct pkt_hello said;
    struct dm_proc_info info;
};

/* An answer, or an end: flags has MEET_YES or MEET_NO. */
struct pkt_reply {
    struct dm_pkt pkt;
    uint32_t ctx;
    uint32_t id;
};

static struct {
    struct dm_list ports;
    struct dm_list connecting; /* struct awaited: an answer */
    struct dm_list accepting;  /* struct awaited: the end */
} meet;

static struct dm_adapt *meet_adapt(void)
{
    return dm_chan_adapt(dm_world.chan);
}

/* ---- packets ---- */

static void meet_reply(enum dm_pkt_type type, int proc, uint32_t ctx, uint32_t id, int says)
{
    struct pkt_reply reply = {.pkt = {.type = (uint8_t)type,
                                      .version = DM_PKT_VERSION,
                                      .hdr_len = sizeof(reply),
                                      .flags = (uint8_t)says},
                              .ctx = ctx,
                              .id = id};

    (void)dm_chan_send_ctl(dm_world.chan, proc, &reply.pkt);
}

static struct port *meet_find_port(uint64_t token)
{
    dm_list_for_each (it, &meet.ports) {
        struct port *port = dm_container_of(it, struct port, link);

        if (port->token == token && !port->is_closed)
            return port;
    }
    return NULL;
}

static void meet_drop_hello(struct hello *hello)
{
    dm_list_del(&hello->link);
    dm_adapt_proc_put(meet_adapt(), hello->proc);
    free(hello);
}

/*
 * Somebody wants to meet: it must be the one that it says it is. It may get another number than its
 * packet came from, if it is parting from us at the same time. Frees the letter.
 */
static void meet_read_letter(struct letter *letter)
{
    struct port *port = meet_find_port(letter->said.token);
    struct hello *hello = port != NULL ? calloc(1, sizeof(*hello)) : NULL;
    struct dm_proc_id id = dm_adapt_proc_id(meet_adapt(), letter->proc);
    int proc = -1;

    letter->info.host[sizeof(letter->info.host) - 1] = '\0';
    letter->info.addr[sizeof(letter->info.addr) - 1] = '\0';
    if (hello != NULL && dm_proc_id_compare(id, letter->info.id) == 0 &&
        dm_adapt_proc_get(meet_adapt(), &letter->info, &proc) == DM_OK) {
        *hello = (struct hello){.proc = proc, .ctx = letter->said.ctx, .id = letter->said.id};
        dm_list_add_tail(&port->hellos, &hello->link);
    } else {
        free(hello);
        meet_reply(DM_PKT_PORT_ANSWER, letter->proc, 0, letter->said.id, MEET_NO);
    }
    free(letter);
}

static void letter_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct letter *letter = arg;

    memcpy((char *)&letter->info + offset, data, len);
}

static void letter_done(void *arg)
{
    meet_read_letter(arg);
}

static void meet_on_hello(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                          size_t avail, struct dm_chan_sink *sink)
{
    struct letter *letter = calloc(1, sizeof(*letter));

    (void)arg;
    if (letter == NULL || pkt->data_len != sizeof(letter->info)) {
        dm_log_error(
            "a process wants to meet, without memory for it or in another version's words");
        dm_world.abort(dm_world.abort_arg, 1, "out of memory");
        return;
    }
    letter->proc = proc;
    memcpy(&letter->said, pkt, sizeof(letter->said));
    if (avail == pkt->data_len) {
        memcpy(&letter->info, data, sizeof(letter->info));
        meet_read_letter(letter);
    } else {
        *sink = (struct dm_chan_sink){.arg = letter, .write = letter_write, .done = letter_done};
    }
}

static struct awaited *meet_find_awaited(struct dm_list *list, int proc, uint32_t id)
{
    dm_list_for_each (it, list) {
        struct awaited *a = dm_container_of(it, struct awaited, link);

        if (a->id == id && dm_procs_compare(a->proc, proc) == 0)
            return a;
    }
    return NULL;
}

static void meet_on_answer(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                           size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_reply *said = (const void *)pkt;
    struct awaited *a = meet_find_awaited(&meet.connecting, proc, said->id);

    (void)arg, (void)data, (void)avail, (void)sink;
    if (a == NULL) { /* it came too late */
        if (pkt->flags == MEET_YES)
            meet_reply(DM_PKT_PORT_END, proc, 0, said->id, MEET_NO);
        return;
    }
    a->ctx = said->ctx;
    a->said = pkt->flags == MEET_YES ? MEET_YES : MEET_NO;
}

/* A connector that gives up is in the queue of a port, or somebody has answered it. */
static void meet_forget_hello(int proc, uint32_t id)
{
    dm_list_for_each (it, &meet.ports) {
        struct port *port = dm_container_of(it, struct port, link);

        dm_list_for_each_safe (h, tmp, &port->hellos) {
            struct hello *hello = dm_container_of(h, struct hello, link);

            if (hello->id == id && dm_procs_compare(hello->proc, proc) == 0) {
                meet_drop_hello(hello);
                return;
            }
        }
    }
}

static void meet_on_end(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                        size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_reply *said = (const void *)pkt;
    struct awaited *a = meet_find_awaited(&meet.accepting, proc, said->id);

    (void)arg, (void)data, (void)avail, (void)sink;
    if (a != NULL)
        a->said = pkt->flags == MEET_YES ? MEET_YES : MEET_NO;
    else
        meet_forget_hello(proc, said->id);
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
static int meet_await(struct dm_list *list, struct awaited *a, const struct dm_meet_wait *wait)
{
    int err = DM_OK;

    dm_list_add_tail(list, &a->link);
    while (a->said == MEET_NOTHING && err == DM_OK) {
        dm_chan_progress_wait(dm_world.chan);
        if (a->said != MEET_NOTHING)
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
    struct port *port;
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
    dm_list_add_tail(&meet.ports, &port->link);
    return DM_OK;
}

static void meet_free_port(struct port *port)
{
    dm_list_del(&port->link);
    free(port);
}

static void meet_close_port(struct port *port)
{
    port->is_closed = true;
    dm_adapt_port_close(meet_adapt(), port->token);
    dm_list_for_each_safe (it, tmp, &port->hellos) {
        struct hello *hello = dm_container_of(it, struct hello, link);

        meet_reply(DM_PKT_PORT_ANSWER, hello->proc, 0, hello->id, MEET_NO);
        meet_drop_hello(hello);
    }
    if (port->n_users == 0)
        meet_free_port(port);
}

/* A port of this process. */
static int meet_own_port(const char *name, struct port **port_p)
{
    struct dm_port_name text;
    int err = dm_port_name_read(name, &text);

    if (err != DM_OK)
        return err;
    *port_p = meet_find_port(text.token);
    if (*port_p == NULL)
        return DM_FAIL(DM_ERR_PORT, "this process has not opened the port, or has closed it");
    return DM_OK;
}

int dm_meet_close(const char *name)
{
    struct port *port;
    int err = meet_own_port(name, &port);

    if (err == DM_OK)
        meet_close_port(port);
    return err;
}

/* ---- accept ---- */

/* Answer somebody who has said hello. DM_EPEER: it has given up. */
static int meet_answer(struct hello *hello, struct dm_meeting *meeting_p)
{
    static const struct dm_meet_wait for_ever = {.until = UINT64_MAX};
    struct awaited end = {.proc = hello->proc, .id = hello->id};
    uint32_t ctx = dm_ctx_alone();
    int err = meet_build_bridge(hello->proc, ctx, hello->ctx, &meeting_p->bridge);

    if (err != DM_OK) {
        meet_reply(DM_PKT_PORT_ANSWER, hello->proc, 0, hello->id, MEET_NO);
        return err;
    }
    meeting_p->tag = (int)(hello->id & INT32_MAX);
    meet_reply(DM_PKT_PORT_ANSWER, hello->proc, ctx, hello->id, MEET_YES);
    /* It waits for just this, or is about to say that it does not any more. */
    err = meet_await(&meet.accepting, &end, &for_ever);
    if (err == DM_OK && end.said == MEET_NO)
        err = DM_EPEER;
    if (err != DM_OK)
        dm_meet_part(meeting_p);
    return err;
}

/* The first in the queue that is still there. DM_EAGAIN: nobody is. */
static int meet_welcome(struct port *port, struct dm_meeting *meeting_p)
{
    while (!dm_list_is_empty(&port->hellos)) {
        struct hello *hello = dm_container_of(port->hellos.next, struct hello, link);
        int err = DM_EPEER;

        dm_list_del(&hello->link);
        if (!dm_world_is_gone(hello->proc))
            err = meet_answer(hello, meeting_p);
        meet_drop_hello(hello);
        if (err != DM_EPEER)
            return err;
    }
    return DM_EAGAIN;
}

int dm_meet_accept(const char *name, const struct dm_meet_wait *wait, struct dm_meeting *meeting_p)
{
    struct port *port;
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
    while (meet_find_awaited(&meet.connecting, dm_world.rank, id) != NULL)
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

static void letter_sent(struct dm_chan_send *send, int err)
{
    (void)err; /* who waits for the answer looks whether the other one is lost */
    free(dm_container_of(send, struct letter, send));
}

static int meet_say_hello(int proc, uint64_t token, uint32_t ctx, uint32_t id)
{
    struct letter *letter = calloc(1, sizeof(*letter));
    int err;

    if (letter == NULL)
        return DM_FAIL(DM_ENOMEM, "a message to the process that has opened the port");
    err = dm_adapt_proc_info(meet_adapt(), dm_world.rank, &letter->info);
    if (err != DM_OK) {
        free(letter);
        return err;
    }
    letter->said = (struct pkt_hello){.pkt = {.type = DM_PKT_PORT_HELLO,
                                              .version = DM_PKT_VERSION,
                                              .hdr_len = sizeof(letter->said),
                                              .data_len = sizeof(letter->info)},
                                      .token = token,
                                      .ctx = ctx,
                                      .id = id};
    letter->send.data = &letter->info;
    letter->send.done = letter_sent;
    return dm_chan_send(dm_world.chan, proc, &letter->said.pkt, &letter->send);
}

/* Over to the process proc. */
static int meet_go(int proc, const struct dm_port_name *port, const struct dm_meet_wait *wait,
                   struct dm_meeting *meeting_p)
{
    struct awaited answer = {.proc = proc, .id = meet_new_id()};
    uint32_t ctx = dm_ctx_alone();
    int err;

    dm_adapt_proc_set_token(meet_adapt(), proc, port->token);
    err = meet_say_hello(proc, port->token, ctx, answer.id);
    if (err != DM_OK)
        return err;
    err = meet_await(&meet.connecting, &answer, wait);
    if (err != DM_OK || answer.said == MEET_NO) {
        if (err == DM_ETIMEOUT || err == DM_EAGAIN)
            meet_reply(DM_PKT_PORT_END, proc, 0, answer.id, MEET_NO);
        return meet_connect_failed(err, proc, port);
    }
    err = meet_build_bridge(proc, ctx, answer.ctx, &meeting_p->bridge);
    meeting_p->tag = (int)(answer.id & INT32_MAX);
    meet_reply(DM_PKT_PORT_END, proc, 0, answer.id, err == DM_OK ? MEET_YES : MEET_NO);
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
    dm_list_init(&meet.ports);
    dm_list_init(&meet.connecting);
    dm_list_init(&meet.accepting);
    dm_chan_on_packet(dm_world.chan, DM_PKT_PORT_HELLO, meet_on_hello, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_PORT_ANSWER, meet_on_answer, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_PORT_END, meet_on_end, NULL);
}

void dm_meet_stop(void)
{
    while (!dm_list_is_empty(&meet.ports))
        meet_close_port(dm_container_of(meet.ports.next, struct port, link));
}
