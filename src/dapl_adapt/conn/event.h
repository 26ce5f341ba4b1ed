/*
 * Connection events.
 */
#ifndef DM_DAPL_ADAPT_CONN_EVENT_H
#define DM_DAPL_ADAPT_CONN_EVENT_H

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"

/* One event of ia->cm.evd, by whichever thread has it; takes the lock. */
void dm_conn_event(struct dm_ia *ia, const DAT_EVENT *event);

#endif
