/*
 * Relays: an agent of the other rail's notification object. It is called once, by the provider's thread.
 */
#include "dapl_adapt/progress/relay.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/rails.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/progress.h"

static void relay_agent(DAT_PVOID arg, DAT_EVD_HANDLE evd)
{
    struct dm_ia_relay *relay = arg;
    struct dm_ia *to;

    (void)evd;
    atomic_fetch_add(&relay->n_calls, 1);
    to = atomic_load(&relay->to);
    if (to != NULL)
        dm_rail_wake(to, relay->side);
    atomic_fetch_sub(&relay->n_calls, 1);
}

bool dm_relay_can(const struct dm_ia *ia, enum dm_side side)
{
    return ia->caps.has_agents && ia->wake.cno[side] != DAT_HANDLE_NULL;
}

static void relay_set_agent(const struct dm_ia_relay *relay, DAT_OS_WAIT_PROXY_AGENT agent)
{
    const struct dm_ia *ia = relay->ia;

    dm_serial_enter(ia->is_serial);
    (void)dat_cno_modify_agent(ia->wake.cno[relay->side], agent);
    dm_serial_leave(ia->is_serial);
}

/* An event of before, which nobody has slept for, would call the agent at once. */
static void relay_forget(const struct dm_ia *ia, enum dm_side side)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

    dm_serial_enter(ia->is_serial);
    (void)dat_cno_wait(ia->wake.cno[side], 0, &evd);
    dm_serial_leave(ia->is_serial);
}

void dm_relay_begin(struct dm_adapt *adapt, struct dm_ia *to, enum dm_side side)
{
    struct dm_ia_relay **last_p = &adapt->sleep.relays[side];

    for (int i = 0; i < adapt->rails.n_ias && to->wake.evd[side] != DAT_HANDLE_NULL; i++) {
        struct dm_ia *ia = adapt->rails.ias[i];
        struct dm_ia_relay *relay = &ia->wake.relay[side];

        if (ia == to || !dm_relay_can(ia, side))
            continue;
        relay->ia = ia;
        relay->side = side;
        atomic_store(&relay->to, to);
        relay_forget(ia, side);
        relay_set_agent(relay, (DAT_OS_WAIT_PROXY_AGENT){relay, relay_agent});
        *last_p = relay;
        last_p = &relay->next;
    }
    *last_p = NULL;
}

bool dm_relay_is_on(const struct dm_ia *ia, const struct dm_ia *to, enum dm_side side)
{
    return atomic_load(&ia->wake.relay[side].to) == to;
}

void dm_relay_end(const struct dm_adapt *adapt, enum dm_side side)
{
    for (struct dm_ia_relay *relay = adapt->sleep.relays[side]; relay != NULL;
         relay = relay->next) {
        atomic_store(&relay->to, NULL);
        relay_set_agent(relay, DAT_OS_WAIT_PROXY_AGENT_NULL);
    }
}

void dm_relay_stop(const struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->rails.n_ias; i++)
        for (int side = 0; side < DM_SIDES; side++)
            while (atomic_load(&adapt->rails.ias[i]->wake.relay[side].n_calls) > 0)
                sched_yield();
}
