/*
 * The pipe after a failover.
 */
#ifndef DM_DAPL_ADAPT_EAGER_REPLAY_H
#define DM_DAPL_ADAPT_EAGER_REPLAY_H

#include "dapl_adapt/provider/dat.h"

struct dm_conn;

/* On a new endpoint after a move: what the peer does not have is sent again. */
int dm_eager_resume(struct dm_conn *conn);
/* The receiving side of it, before the peer can send; converts what is here if need be. */
int dm_eager_rx_resume(struct dm_conn *conn, DAT_EP_HANDLE ep);

#endif
