/*
 * Making the pipe usable.
 */
#ifndef DM_DAPL_ADAPT_EAGER_SETUP_H
#define DM_DAPL_ADAPT_EAGER_SETUP_H

#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

struct dm_conn;

/*
 * Room for the triplets of requests where the connection's rail keeps them; those of an earlier rail
 * are over. Before the pipe is usable. DM_ENOMEM.
 */
int dm_eager_setup_descs(struct dm_conn *conn);
/* A shadow buffer where the region has none and none are borrowed. DM_EPROVIDER. */
int dm_eager_setup_shadow(struct dm_conn *conn);
/*
 * Make the pipe of an established connection usable: peer's region at addr with
 * key ctx. For send/receive the buffers are posted already.
 */
void dm_eager_setup(struct dm_conn *conn, uint64_t addr, DAT_RMR_CONTEXT ctx);
/* Receiving side only, before the first record can arrive; lock held. */
void dm_eager_setup_rx(struct dm_conn *conn);

#endif
