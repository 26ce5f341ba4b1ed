/*
 * What processes that want to connect say to each other.
 *
 * A process is known by its identity here: it may have got another number since its last packet, when
 * it has parted and comes again.
 */
#include "mpi/process/handshake_pkt.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/comm/procs.h"
#include "mpi/process/state.h"
#include "util/log.h"

/* Who says a request follows as its data. */
struct pkt_request {
    struct dm_pkt pkt;
    uint64_t token;
    uint32_t ctx;
    uint32_t id;
};

/* A request on its way out, or in. */
struct letter {
    struct dm_chan_send send;
    int proc;
    struct pkt_request said;
    struct dm_proc_info info;
};

/* An answer, or an end: flags is a word. */
struct pkt_reply {
    struct dm_pkt pkt;
    uint32_t ctx;
    uint32_t id;
};

static struct dm_adapt *packet_adapt(void)
{
    return dm_chan_adapt(dm_world.chan);
}

void dm_handshake_reply(enum dm_pkt_type type, int proc, uint32_t ctx, uint32_t id,
                        enum dm_handshake_word word)
{
    struct pkt_reply reply = {.pkt = {.type = (uint8_t)type,
                                      .version = DM_PKT_VERSION,
                                      .hdr_len = sizeof(reply),
                                      .flags = (uint8_t)word},
                              .ctx = ctx,
                              .id = id};

    (void)dm_chan_send_ctl(dm_world.chan, proc, &reply.pkt);
}

struct dm_handshake_port *dm_handshake_find_port(uint64_t token)
{
    dm_list_for_each (it, &dm_process_state.lists.ports) {
        struct dm_handshake_port *port = dm_container_of(it, struct dm_handshake_port, link);

        if (port->token == token && !port->is_closed)
            return port;
    }
    return NULL;
}

void dm_handshake_drop_request(struct dm_handshake_request *request)
{
    dm_list_del(&request->link);
    dm_adapt_proc_put(packet_adapt(), request->proc);
    free(request);
}

/*
 * Somebody wants to connect: it must be the one that it says it is. It may get another number than its
 * packet came from, if it is parting from us at the same time. Frees the letter.
 */
static void packet_read_letter(struct letter *letter)
{
    struct dm_handshake_port *port = dm_handshake_find_port(letter->said.token);
    struct dm_handshake_request *request = port != NULL ? calloc(1, sizeof(*request)) : NULL;
    struct dm_proc_id id = dm_adapt_proc_id(packet_adapt(), letter->proc);
    int proc = -1;

    letter->info.host[sizeof(letter->info.host) - 1] = '\0';
    letter->info.addr[sizeof(letter->info.addr) - 1] = '\0';
    if (request != NULL && dm_proc_id_compare(id, letter->info.id) == 0 &&
        dm_adapt_proc_get(packet_adapt(), &letter->info, &proc) == DM_OK) {
        *request = (struct dm_handshake_request){
            .proc = proc, .ctx = letter->said.ctx, .id = letter->said.id};
        dm_list_add_tail(&port->requests, &request->link);
    } else {
        free(request);
        dm_handshake_reply(DM_PKT_PORT_ANSWER, letter->proc, 0, letter->said.id, DM_HANDSHAKE_NO);
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
    packet_read_letter(arg);
}

static void packet_on_request(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                              size_t avail, struct dm_chan_sink *sink)
{
    struct letter *letter = calloc(1, sizeof(*letter));

    (void)arg;
    if (letter == NULL || pkt->data_len != sizeof(letter->info)) {
        dm_log_error(
            "a process want to connect, without memory for it or in another version's words");
        dm_world.abort(dm_world.abort_arg, 1, "out of memory");
        return;
    }
    letter->proc = proc;
    memcpy(&letter->said, pkt, sizeof(letter->said));
    if (avail == pkt->data_len) {
        memcpy(&letter->info, data, sizeof(letter->info));
        packet_read_letter(letter);
    } else {
        *sink = (struct dm_chan_sink){.arg = letter, .write = letter_write, .done = letter_done};
    }
}

struct dm_handshake_awaited *dm_handshake_find_awaited(struct dm_list *list, int proc, uint32_t id)
{
    dm_list_for_each (it, list) {
        struct dm_handshake_awaited *a = dm_container_of(it, struct dm_handshake_awaited, link);

        if (a->id == id && dm_procs_compare(a->proc, proc) == 0)
            return a;
    }
    return NULL;
}

static void packet_on_answer(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                             size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_reply *said = (const void *)pkt;
    struct dm_handshake_awaited *a =
        dm_handshake_find_awaited(&dm_process_state.lists.connecting, proc, said->id);

    (void)arg, (void)data, (void)avail, (void)sink;
    if (a == NULL) { /* it came too late */
        if (pkt->flags == DM_HANDSHAKE_YES)
            dm_handshake_reply(DM_PKT_PORT_END, proc, 0, said->id, DM_HANDSHAKE_NO);
        return;
    }
    a->ctx = said->ctx;
    a->said = pkt->flags == DM_HANDSHAKE_YES ? DM_HANDSHAKE_YES : DM_HANDSHAKE_NO;
}

/* A connector that gives up is in the queue of a port, or somebody has answered it. */
static void packet_forget_request(int proc, uint32_t id)
{
    dm_list_for_each (it, &dm_process_state.lists.ports) {
        struct dm_handshake_port *port = dm_container_of(it, struct dm_handshake_port, link);

        dm_list_for_each_safe (h, tmp, &port->requests) {
            struct dm_handshake_request *request =
                dm_container_of(h, struct dm_handshake_request, link);

            if (request->id == id && dm_procs_compare(request->proc, proc) == 0) {
                dm_handshake_drop_request(request);
                return;
            }
        }
    }
}

static void packet_on_end(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                          size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_reply *said = (const void *)pkt;
    struct dm_handshake_awaited *a =
        dm_handshake_find_awaited(&dm_process_state.lists.accepting, proc, said->id);

    (void)arg, (void)data, (void)avail, (void)sink;
    if (a != NULL)
        a->said = pkt->flags == DM_HANDSHAKE_YES ? DM_HANDSHAKE_YES : DM_HANDSHAKE_NO;
    else
        packet_forget_request(proc, said->id);
}

static void letter_sent(struct dm_chan_send *send, int err)
{
    (void)err; /* who waits for the answer looks whether the other one is lost */
    free(dm_container_of(send, struct letter, send));
}

int dm_handshake_send_request(int proc, uint64_t token, uint32_t ctx, uint32_t id)
{
    struct letter *letter = calloc(1, sizeof(*letter));
    int err;

    if (letter == NULL)
        return DM_FAIL(DM_ENOMEM, "a message to the process that has opened the port");
    err = dm_adapt_proc_info(packet_adapt(), dm_world.rank, &letter->info);
    if (err != DM_OK) {
        free(letter);
        return err;
    }
    letter->said = (struct pkt_request){.pkt = {.type = DM_PKT_PORT_REQUEST,
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

void dm_handshake_listen(void)
{
    dm_chan_on_packet(dm_world.chan, DM_PKT_PORT_REQUEST, packet_on_request, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_PORT_ANSWER, packet_on_answer, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_PORT_END, packet_on_end, NULL);
}
