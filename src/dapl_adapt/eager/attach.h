/*
 * What connections ask of the pipe (core/ops.h).
 */
#ifndef DM_DAPL_ADAPT_EAGER_ATTACH_H
#define DM_DAPL_ADAPT_EAGER_ATTACH_H

#include "dapl_adapt/provider/dat.h"

struct dm_conn;
/* The receiving side, before the peer can send. */
int dm_eager_prepare(struct dm_conn *conn, DAT_EP_HANDLE ep);
/* The pipe is established. */
int dm_eager_up(struct dm_conn *conn);

#endif
