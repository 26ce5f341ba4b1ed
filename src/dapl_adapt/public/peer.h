/*
 * Connections, and the protocol of large messages to a peer.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_PEER_H
#define DM_DAPL_ADAPT_PUBLIC_PEER_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>

/* The connection object of a process other than oneself, made at first use; NULL: out of memory. */
struct dm_conn *dm_adapt_conn(struct dm_adapt *adapt, int proc);
/* Start connecting if that has not happened yet (on demand); returns at once. */
int dm_adapt_connect(struct dm_conn *conn);
/* True when puts can be taken. */
bool dm_adapt_is_ready(const struct dm_conn *conn);
/* Why the connection is lost, "" while it is not. */
const char *dm_adapt_lost_why(const struct dm_conn *conn);
/*
 * How a large message to this peer is offered, a value of DATUM_RNDV: what that says, or instead of
 * DM_RNDV_AUTO DM_RNDV_READ or, if a tuning file wants it, DM_RNDV_PIPE. Both are measured at the
 * first call on a rail (under a millisecond).
 */
int dm_adapt_rndv(struct dm_conn *conn);
struct dm_rndv_select;

/*
 * How len bytes that the peer offers to be read are to come: DM_RNDV_READ or DM_RNDV_PIPE,
 * whichever is faster now, or what dm_adapt_rndv says. When *select_p is set, dm_adapt_rndv_end has
 * to follow, with the protocol they came by and how many of them (0: it failed).
 */
int dm_adapt_rndv_begin(struct dm_conn *conn, size_t len, struct dm_rndv_select **select_p);
void dm_adapt_rndv_end(struct dm_rndv_select *select, int how, size_t len);

#endif
