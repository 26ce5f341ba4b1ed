/*
 * Telling of rails that have come.
 */
#include "channel/rails.h"

#include <stdlib.h>
#include <string.h>

#include "util/err.h"
#include "util/log.h"

/* A rail's text, on its way out or in. */
struct rail_text {
    struct dm_chan_send send; /* first */
    struct dm_chan *chan;
    int proc;
    char text[DM_RAIL_TEXT_MAX];
};

static void rail_sent(struct dm_chan_send *send, int err)
{
    (void)err; /* who is lost needs no rails */
    free(send);
}

static void rail_report(struct dm_chan *chan, int proc, const char *text)
{
    struct rail_text *rail = calloc(1, sizeof(*rail));
    struct dm_pkt pkt = {.type = DM_PKT_RAIL,
                         .version = DM_PKT_VERSION,
                         .hdr_len = sizeof(pkt),
                         .data_len = (uint32_t)strlen(text) + 1};

    if (rail == NULL)
        return; /* the others will do */
    memcpy(rail->text, text, pkt.data_len);
    rail->send.done = rail_sent;
    rail->send.data = rail->text;
    (void)dm_chan_send(chan, proc, &pkt, &rail->send);
}

void dm_chan_report_rails(struct dm_chan *chan, struct dm_chan_peer *peer)
{
    char text[DM_RAIL_TEXT_MAX];

    if (peer->conn == NULL || peer->is_lost)
        return;
    for (int n = 0; dm_adapt_joined(chan->adapt, n, text, sizeof(text)); n++)
        rail_report(chan, peer->proc, text);
}

void dm_chan_joined(void *arg)
{
    struct dm_chan *chan = arg;

    for (struct dm_chan_peer *peer = chan->all; peer != NULL; peer = peer->next)
        dm_chan_report_rails(chan, peer);
}

static void rail_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct rail_text *rail = arg;

    if (rail != NULL && offset + len < sizeof(rail->text)) /* the last byte stays 0 */
        memcpy(rail->text + offset, data, len);
}

static void rail_done(void *arg)
{
    struct rail_text *rail = arg;
    char text[DM_PROC_TEXT_MAX];

    if (rail == NULL)
        return;
    if (dm_adapt_rail_reported(rail->chan->adapt, rail->proc, rail->text) != DM_OK)
        dm_log_warn("a rail that %s has told of cannot be used: %s",
                    dm_adapt_proc_text(rail->chan->adapt, rail->proc, text, sizeof(text)),
                    dm_err_detail());
    free(rail);
}

static void on_rail(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    struct rail_text *rail = calloc(1, sizeof(*rail));

    if (rail != NULL) { /* else the others will do */
        rail->chan = arg;
        rail->proc = proc;
    }
    if (avail < pkt->data_len) {
        *sink = (struct dm_chan_sink){.arg = rail, .write = rail_write, .done = rail_done};
        return;
    }
    rail_write(rail, 0, data, avail);
    rail_done(rail);
}

void dm_chan_rails_start(struct dm_chan *chan)
{
    chan->handlers[DM_PKT_RAIL] = (struct dm_chan_handler){.fn = on_rail, .arg = chan};
}
