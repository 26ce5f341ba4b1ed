/*
 * A job over a provider that models a network in virtual time (util/clock.h): each process is on a host
 * of its own, all connect at start, and from then until they leave time is the model's.
 */
#ifndef DM_DAPL_ADAPT_VIRTUAL_TIME_H
#define DM_DAPL_ADAPT_VIRTUAL_TIME_H

struct dm_adapt;

/* The rails are open: see whether one has such a clock. DM_ECONFIG: it is one of several; DM_ENOMEM. */
int dm_virtual_prepare(struct dm_adapt *adapt);
/* Everybody is connected: begin. Collective. DM_EPROVIDER: not all came. */
int dm_virtual_begin(struct dm_adapt *adapt);
/* Nothing is under way any more: real time goes on. */
void dm_virtual_end(struct dm_adapt *adapt);

#endif
