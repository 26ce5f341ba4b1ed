/*
 * Relays: events of one rail wake who sleeps in another one.
 *
 * A thread can block in one provider only. Where the thread of another provider calls agents, its
 * notification object has one while somebody sleeps, which posts a software event to the rail that is
 * slept in. So nobody has to look at that other rail now and then.
 */
#ifndef DM_DAPL_ADAPT_PROGRESS_RELAY_H
#define DM_DAPL_ADAPT_PROGRESS_RELAY_H

#include <stdbool.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/provider/ia.h"

/* Can the rail's events at that side wake who sleeps in another rail? */
bool dm_relay_can(const struct dm_ia *ia, enum dm_side side);
/*
 * Somebody is about to sleep at that side of rail `to`: relay to it what comes to all other rails that
 * can. What has come before has to be looked for behind this call.
 */
void dm_relay_begin(struct dm_adapt *adapt, struct dm_ia *to, enum dm_side side);
/* Do the rail's events wake who sleeps at that side of rail `to`? */
bool dm_relay_is_on(const struct dm_ia *ia, const struct dm_ia *to, enum dm_side side);
/*
 * The sleep is over; by the thread that has begun it. An agent that has begun may post its event yet. The
 * global lock is not needed.
 */
void dm_relay_end(const struct dm_adapt *adapt, enum dm_side side);
/* Nobody sleeps any more: wait for the agents that have begun. */
void dm_relay_stop(const struct dm_adapt *adapt);

#endif
