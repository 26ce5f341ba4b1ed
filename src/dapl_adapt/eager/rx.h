/*
 * The receiving side.
 */
#ifndef DM_DAPL_ADAPT_EAGER_RX_H
#define DM_DAPL_ADAPT_EAGER_RX_H

struct dm_conn;

/* The record in front is used up. */
void dm_eager_next(struct dm_conn *conn);

#endif
