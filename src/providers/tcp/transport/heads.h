/*
 * Headers that go without a copy in front of data that do (splice.h): each is in memory of its own
 * until the peer has it. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_TRANSPORT_HEADS_H
#define DM_PROVIDERS_TCP_TRANSPORT_HEADS_H

#include "providers/tcp/conn.h"

/* Where the header of the frame under way is kept, the first of its request or answer; NULL: nowhere. */
struct dm_tcp_head *dm_tcp_heads_keep(struct dm_tcp_conn *conn);
/* The connection is over. */
void dm_tcp_heads_free(struct dm_tcp_out *out);

#endif
