/*
 * Requests that wait for the next round, so that others go with them. ia->lock is held in all
 * functions.
 */
#ifndef DM_PROVIDERS_TCP_TRANSPORT_HOLD_H
#define DM_PROVIDERS_TCP_TRANSPORT_HOLD_H

#include "providers/tcp/conn.h"

/* Is there a round soon, whatever the consumer does? */
bool dm_tcp_hold_is_safe(const struct dm_net *net);
/* A request has been posted, and is the last of the queue: may it wait? */
bool dm_tcp_hold_may(struct dm_tcp_conn *conn);
/* Something is held from now on, if it has not been before. */
void dm_tcp_hold(struct dm_tcp_conn *conn);
/* What was held has gone, or waits for the socket. */
void dm_tcp_hold_end(struct dm_tcp_conn *conn);

#endif
