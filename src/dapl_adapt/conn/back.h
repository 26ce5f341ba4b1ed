/*
 * The way back to a better rail.
 */
#ifndef DM_DAPL_ADAPT_CONN_BACK_H
#define DM_DAPL_ADAPT_CONN_BACK_H

struct dm_adapt;

/* Look whether it is time, now and then; returns how many connections begin to move. */
int dm_back_poll(struct dm_adapt *adapt);

#endif
