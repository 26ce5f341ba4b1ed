/*
 * RDMA writes with an immediate value.
 */
#ifndef DM_DAPL_ADAPT_RMA_IMM_H
#define DM_DAPL_ADAPT_RMA_IMM_H

#include <stdbool.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"

struct dm_conn;

/*
 * An event of the extension: the arrival of a value. False: it is the end of a request, like any
 * other completion.
 */
bool dm_imm_event(struct dm_ia *ia, const DAT_EVENT *event);
/* The connection is lost: no expected value will come. */
void dm_imm_fail(struct dm_conn *conn);
/* Is a value expected from that peer? */
bool dm_imm_is_expected(const struct dm_conn *conn);
/* Is nothing queued or posted on any link, nor a value expected? */
bool dm_rdma_is_idle(const struct dm_conn *conn);

#endif
