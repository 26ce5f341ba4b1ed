/*
 * Credits.
 */
#ifndef DM_DAPL_ADAPT_EAGER_CREDIT_H
#define DM_DAPL_ADAPT_EAGER_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct dm_conn;

/* Recount how many records may be sent now. */
void dm_eager_refill(struct dm_conn *conn);
/*
 * Send an empty record with flags in its trailer: the connector's first one, credits by send, to the
 * other ring.
 */
int dm_eager_send_empty(struct dm_conn *conn, uint64_t flags);
/* Tell the peer what was consumed, if much is owed. */
void dm_eager_credit(struct dm_conn *conn);
/*
 * Ask for a completion that says that all posts are done, if any are not known to be. The last
 * post of a connection: where it could move it tells the peer not to.
 */
void dm_eager_flush(struct dm_conn *conn);
/* Tell a process of another job that nothing more will come. False: not now, or it broke. */
bool dm_eager_part(struct dm_conn *conn);

#endif
