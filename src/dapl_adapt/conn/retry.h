/*
 * When a rail that was lost is tried again.
 */
#ifndef DM_DAPL_ADAPT_CONN_RETRY_H
#define DM_DAPL_ADAPT_CONN_RETRY_H

#include <stdint.h>

#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"

struct dm_ia;
struct dm_rdmaq;

/* The kind of the link beside the pipe over the rail at that place. */
static inline int dm_retry_link(const struct dm_conn *conn, int place)
{
    return DM_LINK_EXTRA + conn->rails.pair[place][conn->who.is_higher ? 0 : 1];
}
/* A connection has moved: when a better rail is to be tried again, if there is one. */
void dm_retry_plan(struct dm_conn *conn);
/* That rail broke, and with it the connection or the RDMA queue over it. */
void dm_retry_lost(struct dm_conn *conn, const struct dm_ia *ia);
/* A connection begins to move: if it was up for long, going back is nothing to be careful with. */
void dm_retry_broke(struct dm_conn *conn, uint64_t now);
/*
 * When an RDMA queue that broke, or could not be connected, is tried again: the later the more often that
 * happens without its having been up for long.
 */
uint64_t dm_retry_rest(struct dm_rdmaq *rdmaq, uint64_t now);

#endif
