/*
 * The connection server's threads.
 */
#ifndef DM_DAPL_ADAPT_CONN_SERVER_H
#define DM_DAPL_ADAPT_CONN_SERVER_H

#include "dapl_adapt/provider/ia.h"

/* Start and stop the server's thread of a rail. */
int dm_conn_serve(struct dm_ia *ia);
void dm_conn_unserve(struct dm_ia *ia);

#endif
