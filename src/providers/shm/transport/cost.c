/*
 * What things cost in the modelled network.
 *
 * A transfer cuts through: its first byte arrives one latency after the adapter begins to send it, the
 * rest at the rate of the link. It needs the link out and the bus of one host, the link in and the bus
 * of the other; whoever comes later waits. The bus is faster than a link, and is shared by both directions.
 *
 * Adapters and the processor's copies share the memory. A copy reads and writes each byte, so while
 * nothing else goes on the memory carries twice the rate of copies; transfers take theirs first, and
 * copies get the rest.
 */
#include "providers/shm/transport/cost.h"

#include <stdbool.h>

#define PASSES    2     /* of a copy over the memory bus: it reads, and writes */
#define LEFT_OVER 0.125 /* of their rate copies get in any case */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t cost_time(uint64_t len, double rate)
{
    return rate > 0 ? (uint64_t)((double)len / rate + 0.5) : 0;
}

static void cost_flow(struct dm_world_flows *flows, uint64_t start, uint64_t end, double rate)
{
    struct dm_world_flow *last = &flows->flow[(flows->n - 1) % DM_WORLD_FLOWS];

    if (end <= start)
        return;
    if (flows->n > 0 && start <= last->end && rate == last->rate) {
        last->end = later(last->end, end);
        return;
    }
    flows->flow[flows->n++ % DM_WORLD_FLOWS] = (struct dm_world_flow){start, end, rate};
}

/*
 * Send len bytes from one host, not before that time; when the last one has arrived. The adapter is busy
 * with the request for a while in any case.
 */
static uint64_t cost_send(const struct dm_shm_figures *figures, struct dm_world_host *from,
                          struct dm_world_host *to, uint64_t when, uint64_t len, double rate)
{
    uint64_t link = cost_time(len, rate);
    uint64_t bus = cost_time(len, figures->bus);
    uint64_t start = later(when, later(from->out_free, len > 0 ? from->bus_free : 0));
    uint64_t there = start + figures->latency;

    if (to != from && len > 0)
        there = later(there, later(to->in_free, to->bus_free));
    start = there - figures->latency; /* nothing is kept on the way */
    from->out_free = start + figures->request + link;
    if (len == 0)
        return there;
    from->bus_free = start + bus;
    cost_flow(&from->out, start, start + link, rate);
    if (to != from) {
        to->in_free = there + link;
        to->bus_free = there + bus;
        cost_flow(&to->in, there, there + link, rate);
    }
    return there + link;
}

uint64_t dm_cost_write(const struct dm_shm_figures *figures, struct dm_world_host *from,
                       struct dm_world_host *to, uint64_t when, uint64_t len)
{
    return cost_send(figures, from, to, when, len, figures->bandwidth);
}

uint64_t dm_cost_read(const struct dm_shm_figures *figures, struct dm_world_host *by,
                      struct dm_world_host *of, uint64_t when, uint64_t len)
{
    uint64_t asked = cost_send(figures, by, of, when, 0, 0);

    return cost_send(figures, of, by, asked, len, figures->read);
}

/* What transfers of one direction take of the memory at that time; *until_p: as long as that is so, at most. */
static double cost_used(const struct dm_world_flows *flows, uint64_t when, uint64_t *until_p)
{
    uint32_t n = flows->n < DM_WORLD_FLOWS ? flows->n : DM_WORLD_FLOWS;
    double used = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct dm_world_flow *flow = &flows->flow[i];

        if (flow->start > when) {
            if (flow->start < *until_p)
                *until_p = flow->start;
        } else if (flow->end > when) {
            used += flow->rate;
            if (flow->end < *until_p)
                *until_p = flow->end;
        }
    }
    return used;
}

uint64_t dm_cost_copy(const struct dm_shm_figures *figures, const struct dm_world_host *host,
                      uint64_t when, uint64_t len)
{
    double left = (double)len;

    while (figures->copy > 0) {
        uint64_t until = DM_WORLD_NEVER;
        double used = cost_used(&host->in, when, &until) + cost_used(&host->out, when, &until);
        double rate = figures->copy - used / PASSES;

        if (rate < figures->copy * LEFT_OVER)
            rate = figures->copy * LEFT_OVER;
        if (until == DM_WORLD_NEVER || rate * (double)(until - when) >= left)
            return when + (uint64_t)(left / rate + 0.5);
        left -= rate * (double)(until - when);
        when = until;
    }
    return when;
}
