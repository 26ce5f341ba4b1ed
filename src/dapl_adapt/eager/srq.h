/*
 * The pipe by send and receive, with receives of the rail's shared queue.
 */
#ifndef DM_DAPL_ADAPT_EAGER_SRQ_H
#define DM_DAPL_ADAPT_EAGER_SRQ_H

#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

struct dm_conn;
struct dm_ia;

/* The receiving side, before the first record can arrive: memory, and the first credits. DM_ENOMEM. */
int dm_eager_srq_setup(struct dm_conn *conn);
/* The sending side, to a peer whose receives are shared: its first credits; the tag names us. */
void dm_eager_srq_setup_tx(struct dm_conn *conn);
/*
 * A receive has completed: the connection that its record came by. NULL: none, and the buffer is
 * posted again.
 */
struct dm_conn *dm_eager_srq_source(struct dm_ia *ia, uint32_t place,
                                    const DAT_DTO_COMPLETION_EVENT_DATA *dto);
/* A record of len bytes, its trailer included, is in that buffer. */
void dm_eager_srq_arrived(struct dm_conn *conn, uint32_t place, uint32_t len);
/* The record in a slot is used up: its buffer and its credit go to who needs them. */
void dm_eager_srq_release(struct dm_conn *conn, uint32_t slot);
/* The connection is lost for good: what it was granted is spare again. */
void dm_eager_srq_leave(struct dm_conn *conn);

#endif
