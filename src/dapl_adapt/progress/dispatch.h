/*
 * Completions and rare events, taken off the rails' queues.
 */
#ifndef DM_DAPL_ADAPT_PROGRESS_DISPATCH_H
#define DM_DAPL_ADAPT_PROGRESS_DISPATCH_H

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"

struct dm_adapt;

/* Handle an event that was taken off a rail's queue of completions, or a completion. */
void dm_poll_event(struct dm_ia *ia, const DAT_EVENT *event);
void dm_poll_dto(struct dm_ia *ia, const DAT_DTO_COMPLETION_EVENT_DATA *dto);
/* Take completions off the rails' queues (no upcalls); returns how many. */
int dm_poll_drain(struct dm_adapt *adapt);
/* The same for one rail; nothing while another thread has an event of it. */
int dm_poll_drain_rail(struct dm_ia *ia);
/* Handle connection and async events of rails without a server thread. */
int dm_poll_rare(struct dm_adapt *adapt);
/* All that has completed on one rail, or was there when it was called. */
void dm_poll_drain_all(struct dm_adapt *adapt);

#endif
