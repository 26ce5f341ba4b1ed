/*
 * The congestion control of sockets.
 *
 * BBR paces what it sends by a timer, at a rate that it measures. Between hosts that is the administrator's
 * choice. Inside a host there is no bottleneck to measure, and the timers only delay: large messages take half
 * as long again. There a control without pacing is used instead.
 *
 * A socket that has once been paced stays so; that decides who chooses when.
 */
#ifndef DM_PROVIDERS_TCP_TRANSPORT_CONGESTION_H
#define DM_PROVIDERS_TCP_TRANSPORT_CONGESTION_H

#include <sys/socket.h>

#define DM_TCP_CONGESTION_LEN 16

/* Take pacing from a socket that listens or is not yet connected. `system` is what it had, for
 * dm_tcp_congestion_accepted(); empty if nothing was changed. */
void dm_tcp_congestion_unpaced(int fd, char system[DM_TCP_CONGESTION_LEN]);
/* The same for a socket that is about to connect from `own`, if `to` is in this host. */
void dm_tcp_congestion_connect(int fd, const struct sockaddr *own, const struct sockaddr *to);
/* A connection of a listener without pacing: if `peer` is another host it gets the system's control. */
void dm_tcp_congestion_accepted(int fd, const struct sockaddr *peer, const char *system);

#endif
