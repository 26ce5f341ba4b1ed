/*
 * Atomic operations, which the target's processor carries out. ia->lock is held.
 */
#ifndef DM_PROVIDERS_TCP_EXT_H
#define DM_PROVIDERS_TCP_EXT_H

#include "providers/tcp/conn.h"

/* Carry out the one that has come (in.head, in.operands) and answer. False: the peer may not. */
bool dm_tcp_ext_atomic(struct dm_tcp_conn *conn);
/* The old value of ours has come, in.last. False: we have not asked. */
bool dm_tcp_ext_answered(struct dm_tcp_conn *conn);

#endif
