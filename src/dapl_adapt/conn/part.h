/*
 * Parting: the end of a connection to a process of another job, while both go on. Main thread.
 */
#ifndef DM_DAPL_ADAPT_CONN_PART_H
#define DM_DAPL_ADAPT_CONN_PART_H

struct dm_adapt;
struct dm_conn;

/* A look at all that are parting; returns how many things happened. Frees connections. */
int dm_part_progress(struct dm_adapt *adapt);
/* Has the peer told us that it leaves? Then so shall we. */
void dm_part_look(struct dm_conn *conn);
/* Nobody needs the connection any more, or its process. */
void dm_part_begin(struct dm_conn *conn);
/* The peer has closed its end in order. */
void dm_part_left(struct dm_conn *conn);
/* Something is to be done soon. */
void dm_part_hurry(struct dm_adapt *adapt);

#endif
