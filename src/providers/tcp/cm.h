/*
 * Connection management, between the files that do it. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_CM_H
#define DM_PROVIDERS_TCP_CM_H

#include "providers/tcp/stream.h"

/* connect() has ended with this error, or 0. */
void dm_tcp_cm_connected(struct dm_tcp_conn *conn, int err);
/* The peer has closed, or the socket is broken. */
void dm_tcp_cm_shutdown(struct dm_tcp_conn *conn);
/* Somebody has connected to a listener. */
void dm_tcp_cm_incoming(struct dm_tcp_ia *ia, int fd);
/* A greeting has come; it is valid. */
void dm_tcp_cm_handshake(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting);
/* It is a request. */
void dm_tcp_cm_request(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting);
/* The deadline has come. */
void dm_tcp_cm_timeout(struct dm_tcp_conn *conn);
/* Connect those who are redirected; outside of a round. */
void dm_tcp_cm_redirect(struct dm_tcp_ia *ia);

#endif
