/*
 * A bound for the memory of messages that come before their receives.
 *
 * The receiver counts what eager ones take. Beyond DATUM_UNEXPECTED it limits each process of which
 * another one comes, by a FLOW packet: everything from there is a rendezvous then, data wait at the
 * sender, and so does MPI_Send until the receive. When half is free all limits are taken back. FLOW
 * and messages go by the same pipes, so that order is kept. What is under way already is kept, too:
 * a ring, and what the sender sends before it polls (DM_FLOW_POLL_EVERY).
 *
 * Never limited: messages to oneself, as MPI_Send would wait for itself, and ready ones, whose
 * receives are there. Invariant: eager_below is 0 while any process may have limited this one, or
 * messages are tallied (tally.c).
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/cfg.h"
#include "util/log.h"

/* So many passes read what a peer may have sent before its FLOW packet. */
#define MAX_PASSES 64

void dm_p2p_flow_set_below(void)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;
    bool is_simple = f->limit > 0 && f->n_obeyed == 0 && !dm_p2p.is_tallied;

    dm_p2p.eager_below = is_simple ? dm_p2p.eager_limit + 1 : 0;
}

/* Its bits; made when first needed. Processes of other jobs have numbers above the job's. */
static uint8_t *flow_peer_bits(int proc)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;
    int size = dm_chan_size(dm_world.chan);

    if (proc >= f->n_peers) {
        int n = proc < size ? size : proc + 1;
        uint8_t *more = realloc(f->peers, (size_t)n);

        if (more == NULL)
            dm_p2p_fatal("no memory to keep unexpected messages within bounds");
        memset(more + f->n_peers, 0, (size_t)(n - f->n_peers));
        f->peers = more;
        f->n_peers = n;
    }
    return &f->peers[proc];
}

static void flow_send(int proc, bool is_limited)
{
    struct dm_pkt pkt = {.type = DM_PKT_FLOW,
                         .version = DM_PKT_VERSION,
                         .hdr_len = sizeof(pkt),
                         .flags = is_limited};

    DM_TRACE(MATCH, "rank %d is %s; %zu bytes are kept", proc, is_limited ? "limited" : "free",
             dm_p2p.flow.n_bytes);
    if (dm_chan_send_ctl(dm_world.chan, proc, &pkt) == DM_ENOMEM)
        dm_p2p_fatal("no memory for a packet");
}

void dm_p2p_flow_limit(int proc)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;
    uint8_t *bits;

    /* With 0 every process knows. */
    if (f->limit == 0 || proc == dm_chan_rank(dm_world.chan))
        return;
    bits = flow_peer_bits(proc);
    if (*bits & DM_FLOW_LIMITED)
        return;
    *bits |= DM_FLOW_LIMITED;
    f->n_limited++;
    f->n_limits++;
    dm_event_raise(DM_EVENT_LIMITED, DM_EVENT_NO_CTX, proc, 0, f->n_bytes);
    flow_send(proc, true);
}

void dm_p2p_flow_release(void)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    for (int proc = 0; f->n_limited > 0; proc++) {
        if (!(f->peers[proc] & DM_FLOW_LIMITED))
            continue;
        f->peers[proc] &= (uint8_t)~DM_FLOW_LIMITED;
        f->n_limited--;
        flow_send(proc, false);
    }
}

bool dm_p2p_flow_is_limited(int proc)
{
    const struct dm_p2p_flow *f = &dm_p2p.flow;

    if (proc == dm_chan_rank(dm_world.chan))
        return false;
    return f->limit == 0 ||
           (f->n_obeyed > 0 && proc < f->n_peers && f->peers[proc] & DM_FLOW_OBEYED);
}

void dm_p2p_flow_poll(void)
{
    for (int i = 0; i < MAX_PASSES && dm_chan_progress(dm_world.chan) > 0; i++)
        continue;
}

static void on_flow(void *arg, int proc, const struct dm_pkt *pkt, const void *data, size_t avail,
                    struct dm_chan_sink *sink)
{
    uint8_t *bits = flow_peer_bits(proc);
    bool is_limited = pkt->flags != 0;

    (void)arg;
    (void)data;
    (void)avail;
    (void)sink;
    if (is_limited == ((*bits & DM_FLOW_OBEYED) != 0))
        return;
    *bits ^= DM_FLOW_OBEYED;
    dm_p2p.flow.n_obeyed += is_limited ? 1 : -1;
    dm_p2p_flow_set_below();
    if (is_limited)
        dm_chan_each_queued(dm_world.chan, proc, dm_p2p_send_as_rndv);
}

void dm_p2p_flow_lost(int proc)
{
    struct dm_p2p_flow *f = &dm_p2p.flow;

    if (proc >= f->n_peers)
        return;
    f->n_limited -= (f->peers[proc] & DM_FLOW_LIMITED) != 0;
    f->n_obeyed -= (f->peers[proc] & DM_FLOW_OBEYED) != 0;
    f->peers[proc] = 0;
    dm_p2p_flow_set_below();
}

void dm_p2p_flow_start(void)
{
    dm_p2p.flow = (struct dm_p2p_flow){.limit = dm_cfg()->unexpected};
    dm_p2p_flow_set_below();
    dm_chan_on_packet(dm_world.chan, DM_PKT_FLOW, on_flow, NULL);
}

void dm_p2p_flow_stop(void)
{
    /* Every process is here: nobody needs to be notified any more. */
    dm_p2p.flow.n_limited = 0;
    free(dm_p2p.flow.peers);
    dm_p2p.flow.peers = NULL;
    dm_p2p.flow.n_peers = 0;
}

int dm_p2p_flow_stats(struct dm_adapt_stat *stats, int max)
{
    const struct dm_adapt_stat rows[] = {
        {"unexpected messages: most held", "bytes", dm_p2p.flow.n_most},
        {"  processes limited to rendezvous", "", dm_p2p.flow.n_limits},
        {"  sends deferred by a limit", "", dm_p2p.flow.n_deferred},
    };
    int n = 0;

    for (; n < max && n < (int)(sizeof(rows) / sizeof(rows[0])); n++)
        stats[n] = rows[n];
    return n;
}
