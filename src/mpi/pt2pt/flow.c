/*
 * A bound for the memory of messages that come before their receives.
 *
 * The receiver counts what eager ones take. Beyond DATUM_UNEXPECTED it tells each process of which another one comes (FLOW)
 * to ask first: everything is a rendezvous then, data wait at the sender, and MPI_Send until it is received. When
 * half is free it takes that back. FLOW and messages go by the same pipes, so that order is kept. What is under way
 * already is kept, too: a ring, and what the sender sends before it looks (DM_FLOW_OFTEN).
 *
 * Never held off: messages to oneself, as MPI_Send would wait for itself, and ready ones,
 * whose receives are there. Invariant: eager_below is 0 while anybody may have to be asked.
 */
#include <stdlib.h>

#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/cfg.h"
#include "util/log.h"

/* So many passes take what a peer may have sent before the news. */
#define MAX_PASSES 64

static void set_below(void)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    dm_p2p.eager_below = f->limit == 0 || f->n_askers > 0 ? 0 : dm_p2p.eager_limit + 1;
}

/* Its bits; made when first needed. */
static uint8_t *peer_bits(int proc)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    if (f->peers == NULL)
        f->peers = calloc((size_t)dm_chan_size(dm_world.chan), sizeof(*f->peers));
    if (f->peers == NULL)
        dm_p2p_fatal("no memory to keep unexpected messages within bounds");
    return &f->peers[proc];
}

static void flow_say(int proc, bool asks)
{
    struct dm_pkt pkt = {
        .type = DM_PKT_FLOW, .version = DM_PKT_VERSION, .hdr_len = sizeof(pkt), .flags = asks};

    DM_TRACE(MATCH, "rank %d %s; %zu bytes are held", proc, asks ? "has to ask" : "need not ask",
             dm_p2p.flow.held);
    if (dm_chan_send_ctl(dm_world.chan, proc, &pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a packet");
}

void dm_p2p_flow_tell(int proc)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;
    uint8_t *bits;

    /* With 0 everybody knows. */
    if (f->limit == 0 || proc == dm_chan_rank(dm_world.chan))
        return;
    bits = peer_bits(proc);
    if (*bits & DM_FLOW_TOLD)
        return;
    *bits |= DM_FLOW_TOLD;
    f->n_told++;
    f->n_tell++;
    flow_say(proc, true);
}

void dm_p2p_flow_release(void)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    for (int proc = 0; f->n_told > 0; proc++) {
        if (!(f->peers[proc] & DM_FLOW_TOLD))
            continue;
        f->peers[proc] &= (uint8_t)~DM_FLOW_TOLD;
        f->n_told--;
        flow_say(proc, false);
    }
}

bool dm_p2p_flow_asks(int proc)
{
    const struct dm_p2p_flow *f = &dm_p2p.flow;

    if (proc == dm_chan_rank(dm_world.chan))
        return false;
    return f->limit == 0 || (f->n_askers > 0 && f->peers[proc] & DM_FLOW_ASK);
}

void dm_p2p_flow_look(void)
{
    for (int i = 0; i < MAX_PASSES && dm_chan_progress(dm_world.chan) > 0; i++)
        continue;
}

static void on_flow(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    uint8_t *bits = peer_bits(proc);
    bool asks = pkt->flags != 0;

    (void)arg;
    (void)data;
    (void)avail;
    (void)sink;
    if (asks == ((*bits & DM_FLOW_ASK) != 0))
        return;
    *bits ^= DM_FLOW_ASK;
    dm_p2p.flow.n_askers += asks ? 1 : -1;
    set_below();
    if (asks)
        dm_chan_each_queued(dm_world.chan, proc, dm_p2p_send_ask);
}

void dm_p2p_flow_lost(int proc)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    if (f->peers == NULL)
        return;
    f->n_told -= (f->peers[proc] & DM_FLOW_TOLD) != 0;
    f->n_askers -= (f->peers[proc] & DM_FLOW_ASK) != 0;
    f->peers[proc] = 0;
    set_below();
}

void dm_p2p_flow_start(void)
{
    dm_p2p.flow = (struct dm_p2p_flow){.limit = dm_cfg()->unexpected};
    set_below();
    dm_chan_on_packet(dm_world.chan, DM_PKT_FLOW, on_flow, NULL);
}

void dm_p2p_flow_stop(void)
{
    /* What is left when everybody has come here is told to nobody. */
    dm_p2p.flow.n_told = 0;
    free(dm_p2p.flow.peers);
    dm_p2p.flow.peers = NULL;
}

int dm_p2p_flow_stats(struct dm_adapt_stat *stats, int max)
{
    const struct dm_adapt_stat rows[] = {
        {"unexpected messages: most held", "bytes", dm_p2p.flow.most},
        {"  processes told to ask first", "", dm_p2p.flow.n_tell},
        {"  sends that had to ask", "", dm_p2p.flow.n_late},
    };
    int n = 0;

    for (; n < max && n < (int)(sizeof(rows) / sizeof(rows[0])); n++)
        stats[n] = rows[n];
    return n;
}
