/*
 * RDMA writes that end with a value (DATUM_RNDV=imm, DATUM_FIN=chained).
 */
#ifndef DM_DAPL_ADAPT_RMA_VALUE_H
#define DM_DAPL_ADAPT_RMA_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"

struct dm_adapt;
struct dm_conn;

/*
 * An event of the extension: the arrival of a value. False: it is the end of a request, like any
 * other completion.
 */
bool dm_value_event(struct dm_ia *ia, const DAT_EVENT *event);
/* The receive that was posted for the value at that place is over: with a message, or not. */
void dm_value_message(struct dm_adapt *adapt, uint32_t place, bool is_ok);
/* The connection is lost: no expected value will come. */
void dm_value_fail(struct dm_conn *conn);
/* Is a value expected from that peer? */
bool dm_value_is_expected(const struct dm_conn *conn);
/* Is nothing queued or posted on any link, nor a value expected? */
bool dm_rdma_is_idle(const struct dm_conn *conn);

#endif
