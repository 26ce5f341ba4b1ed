/*
 * What is to be done for connections: pending events and timers. Main thread.
 */
#ifndef DM_DAPL_ADAPT_CONN_PROGRESS_H
#define DM_DAPL_ADAPT_CONN_PROGRESS_H

#include "dapl_adapt/conn/link.h"

struct dm_adapt;

/* Handle notes and timers; returns how many things happened. Main thread. */
int dm_conn_progress(struct dm_adapt *adapt);
/* Only notes; also from within completions. */
int dm_conn_notes(struct dm_adapt *adapt);

#endif
