/*
 * What a link needs before it is connected.
 */
#ifndef DM_DAPL_ADAPT_CONN_PREPARE_H
#define DM_DAPL_ADAPT_CONN_PREPARE_H

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/provider/ia.h"

/* Create region (first time) and a fresh endpoint for a link. Lock held. */
int dm_conn_prepare(struct dm_conn *conn, struct dm_link *link, struct dm_ia *ia);

#endif
