/*
 * Receives. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_RECV_H
#define DM_PROVIDERS_TCP_RECV_H

#include "providers/tcp/dto.h"

/* A message of so many bytes comes: take its receive, with its memory. NULL: the connection has
 * been ended for that. */
struct dm_tcp_op *dm_tcp_recv_take(struct dm_tcp_ep *ep, uint64_t len);
/* The message of this header is there, of len bytes; takes op, which may be NULL: a write with
 * immediate data takes its receive now. False: the connection ends. */
bool dm_tcp_recv_arrived(struct dm_tcp_ep *ep, struct dm_tcp_op *op, const struct dm_tcp_head *head,
                         uint64_t len);
/* The endpoint has more receives: grant them to the peer when it knows of too few. */
void dm_tcp_recv_credit(struct dm_tcp_conn *conn);

#endif
