/*
 * Buffers of the rail that connections borrow to send from.
 */
#ifndef DM_DAPL_ADAPT_EAGER_LEND_H
#define DM_DAPL_ADAPT_EAGER_LEND_H

#include <stdbool.h>
#include <stdint.h>

struct dm_conn;

/* From now on the connection sends from buffers that it borrows. DM_ENOMEM. */
int dm_eager_lend_begin(struct dm_conn *conn);
/* Have one at hand. False: there is none now. */
bool dm_eager_lend(struct dm_conn *conn);
/* The record in the one at hand has been posted, the last request of all. */
void dm_eager_lend_posted(struct dm_conn *conn);
/* Requests up to that many are done: their buffers go back. */
void dm_eager_lend_back(struct dm_conn *conn, uint32_t done);
/* The connection is lost for good: all go back. */
void dm_eager_lend_end(struct dm_conn *conn);

#endif
