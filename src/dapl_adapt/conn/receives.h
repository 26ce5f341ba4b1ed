/*
 * Whose receives a connection uses: its own, or those of its rail's shared receive queue (SRQ).
 */
#ifndef DM_DAPL_ADAPT_CONN_RECEIVES_H
#define DM_DAPL_ADAPT_CONN_RECEIVES_H

#include <stdbool.h>

struct dm_adapt;
struct dm_conn;
struct dm_ia;

/* How many receives a queue has, and of what size, by the settings and the job. After dm_ring_plan. */
void dm_receives_plan(struct dm_adapt *adapt);
/*
 * Are those of the pipe shared, when it is made over this rail? Then the rail's queue is there. Lock
 * held.
 */
bool dm_receives_are_shared(struct dm_conn *conn, struct dm_ia *ia);
/* Why those over a rail are not shared; NULL: they are. */
const char *dm_receives_why_own(const struct dm_ia *ia);

#endif
