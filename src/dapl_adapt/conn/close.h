/*
 * The end of all connections.
 */
#ifndef DM_DAPL_ADAPT_CONN_CLOSE_H
#define DM_DAPL_ADAPT_CONN_CLOSE_H

struct dm_adapt;

/* End all connections and free them; the servers have stopped. */
void dm_conn_free_all(struct dm_adapt *adapt);

#endif
