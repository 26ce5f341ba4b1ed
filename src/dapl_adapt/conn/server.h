/*
 * The connection server.
 */
#ifndef DM_DAPL_ADAPT_CONN_SERVER_H
#define DM_DAPL_ADAPT_CONN_SERVER_H

#include "dapl_adapt/provider/ia.h"

/* Start and stop the server of a rail. DM_ESYS: it needs a thread, and there is none. */
int dm_conn_serve(struct dm_ia *ia);
void dm_conn_unserve(struct dm_ia *ia);
/* Serve what has come, if the server is an agent and does not do that just now. The main thread, without
 * the lock. Returns how many events there were. */
int dm_conn_serve_now(struct dm_ia *ia);

#endif
