/*
 * What the kernel has got without a copy (transport/splice.h), and must not be changed by whoever
 * frees the memory of it: until the peer has it. Of requests the peer says so, of answers it is asked
 * when somebody wants to know. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_PINNED_H
#define DM_PROVIDERS_TCP_PINNED_H

#include "providers/tcp/conn.h"

/* An answer has been sent, and is in no list: it is freed when nobody reads its memory any more. */
void dm_tcp_pinned_answered(struct dm_tcp_conn *conn, struct dm_tcp_answer *answer);
/* May the peer still read memory of the region, in what it has been sent? If so it is asked. */
bool dm_tcp_pinned_uses(struct dm_tcp_conn *conn, uint32_t key);
/* The peer has all that it had been sent before this question. */
void dm_tcp_pinned_returned(struct dm_tcp_conn *conn, uint64_t question);
/* The connection is over. */
void dm_tcp_pinned_drop(struct dm_tcp_conn *conn);

#endif
