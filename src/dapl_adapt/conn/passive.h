/*
 * Requests of peers.
 */
#ifndef DM_DAPL_ADAPT_CONN_PASSIVE_H
#define DM_DAPL_ADAPT_CONN_PASSIVE_H

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/conn_private.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"

/*
 * May the peer's request take the place of our own attempt? When both connect at
 * once the higher process's attempt counts.
 */
enum dm_reject dm_conn_cross(const struct dm_link *link);
/* Answer a request that was left for the main thread. Lock held. */
void dm_conn_answer(struct dm_link *link);
/* A request has come. Lock held. */
void dm_conn_on_request(struct dm_ia *ia, DAT_CR_HANDLE cr);

#endif
